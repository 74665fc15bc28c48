"""Messages of both real editors and of the older description: read alike."""

import json
from pathlib import Path

import pytest

from weft.protocols.ide import choose_revision
from weft.protocols.ide.answers import decode_decision, decode_diagnostics, decode_outputs
from weft.protocols.ide.catalogue import SPECS, encode_spec
from weft.protocols.ide.notices import decode_mention, decode_selection, encode_mention, encode_selection
from weft.protocols.ide.results import decided, diagnostics, outputs, text
from weft.protocols.ide.uris import to_path, to_uri
from weft.protocols.ide.values import (
    Accepted,
    Diagnostic,
    FileDiagnostics,
    Mention,
    Output,
    Position,
    Rejected,
    Selection,
    Undecided,
)
from weft.workspace.ide.notes import mention_text, selection_note
from weft.workspace.ide.paths import PathMap, is_below
from weft.workspace.ide.retouch import retouch, with_newlines_of


@pytest.mark.parametrize(
    ("result", "decision"),
    [
        (text("FILE_SAVED", "new"), Accepted("new")),
        (text("FILE_SAVED"), Accepted("proposed")),
        (text("DIFF_REJECTED"), Rejected()),
        (text("DIFF_REJECTED", "tab"), Rejected()),
        (text("TAB_CLOSED"), Rejected()),
        (text("whatever"), Undecided("the editor answered 'whatever'")),
        ({**text("boom"), "isError": True}, Undecided("boom")),
        ({}, Undecided("the editor answered ''")),
        ({"content": "odd"}, Undecided("the editor answered ''")),
    ],
)
def test_the_answer_to_a_diff(result, decision) -> None:
    assert decode_decision(result, "proposed") == decision


def test_our_own_answers_are_never_tab_closed() -> None:
    assert decode_decision(decided(Accepted("x"), "t"), "p") == Accepted("x")
    assert decided(Rejected(), "t")["content"][1]["text"] == "t"
    assert decode_decision(decided(Rejected(), "t"), "p") == Rejected()


def test_diagnostics_of_every_editor_are_read() -> None:
    seed = (
        '[{"uri": "file:///a.py", "diagnostics": [{"message": "m", "severity": "Error",'
        ' "range": {"start": {"line": 1, "character": 2}}, "source": "ts"}]}]'
    )
    nvim = seed.replace("/", "\\/")
    where = Position(1, 2)
    expected = (FileDiagnostics("/a.py", (Diagnostic(message="m", start=where, end=where, source="ts"),)),)
    assert decode_diagnostics(text(seed)) == decode_diagnostics(text(nvim)) == expected
    item = Diagnostic(message="m", severity="Hint", start=where, end=Position(1, 9), code="7", source="s")
    ours = (FileDiagnostics("/with space/ü.py", (item,)),)
    assert decode_diagnostics(diagnostics(ours)) == ours
    right = text('[{"uri": "_claude_fs_right:/a.py", "diagnostics": [{"message": "m", "severity": 2, "code": 3}]}]')
    assert decode_diagnostics(right)[0].diagnostics[0].severity == "Warning"
    assert decode_diagnostics(text("nonsense")) == () == decode_diagnostics(text('[{"uri": "untitled:x"}]'))


def test_a_selection_crosses_and_null_clears_it() -> None:
    selection = Selection(path="/a b.py", text="x", start=Position(1, 2), end=Position(1, 3))
    assert decode_selection(encode_selection(selection)) == selection
    assert decode_selection(encode_selection(None)) is None
    assert decode_selection({"text": "", "filePath": "/a", "selection": None}) == Selection(path="/a")
    assert decode_selection({"fileUrl": "file:///a%20b"}) == Selection(path="/a b")


@pytest.mark.parametrize(
    ("params", "mention"),
    [
        ({"filePath": "/a.py", "lineStart": 1, "lineEnd": 2}, Mention(path="/a.py", first_line=1, last_line=2)),
        ({"filePath": "src/a.py"}, Mention(path="/ws/src/a.py")),
        ({"filePath": "/a.py", "lineStart": 0, "lineEnd": None}, Mention(path="/a.py", first_line=0, last_line=0)),
        ({"filePath": "/a.py", "lineStart": -1, "lineEnd": "x"}, Mention(path="/a.py")),
        ({"filePath": ""}, None),
    ],
)
def test_mentions_of_every_editor_are_read(params, mention: Mention | None) -> None:
    assert decode_mention(params, "/ws") == mention


def test_a_whole_file_is_mentioned_without_lines() -> None:
    assert encode_mention(Mention(path="/a")) == {"filePath": "/a"}
    assert encode_mention(Mention(path="/a", first_line=0)) == {"filePath": "/a", "lineStart": 0, "lineEnd": 0}


def test_outputs_keep_text_and_images_in_order() -> None:
    found = (Output("hi"), Output("aGk=", "image/png"))
    assert decode_outputs(outputs(found)) == found


def test_the_twelve_tools_have_the_names_and_arguments_of_the_seed() -> None:
    listed = {spec["name"]: spec["inputSchema"] for spec in map(encode_spec, SPECS)}
    assert sorted(listed) == sorted(
        [
            "openFile",
            "openDiff",
            "getCurrentSelection",
            "getLatestSelection",
            "getOpenEditors",
            "getWorkspaceFolders",
            "getDiagnostics",
            "checkDocumentDirty",
            "saveDocument",
            "close_tab",
            "closeAllDiffTabs",
            "executeCode",
        ]
    )
    assert listed["openFile"]["required"] == ["filePath"]
    assert {"preview", "startText", "endText", "selectToEndOfLine", "makeFrontmost"} < set(
        listed["openFile"]["properties"]
    )
    assert set(listed["openDiff"]["properties"]) == {"old_file_path", "new_file_path", "new_file_contents", "tab_name"}
    assert listed["getDiagnostics"].get("required") is None


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
def test_the_revision_is_the_agents_when_we_speak_it(asked: object, answered: str) -> None:
    assert choose_revision(asked) == answered


@pytest.mark.parametrize("path", ["/a/b.py", "/with space/ü#?.py", "/100%/x"])
def test_paths_and_addresses_are_each_other(path: str) -> None:
    assert to_path(to_uri(path)) == path


def test_addresses_that_are_not_files_are_nobody() -> None:
    assert to_path("http://x/y") is None and to_path("file://host/x") is None and to_path("untitled:1") is None


def test_the_selections_note_counts_lines_from_one_and_cuts_long_text() -> None:
    note = selection_note(Selection(path="/a", text="x" * 5000, start=Position(1, 0), end=Position(3, 0)))
    assert "lines 2 to 3 of /a" in note and "x" * 2000 in note and "x" * 2001 not in note
    assert mention_text(Mention(path="/other/a", first_line=3, last_line=3), Path("/ws")) == "@/other/a#L4"


def test_paths_map_between_machines() -> None:
    pairs = PathMap((("/host/p", "/w"), ("/host/p/deep", "/d")))
    assert pairs.to_ours("/host/p/x") == "/w/x" and pairs.to_theirs("/w/x") == "/host/p/x"
    assert pairs.to_ours("/host/p/deep/x") == "/d/x" and pairs.to_ours("/host/px") == "/host/px"
    windows = PathMap((), "Debian")
    assert windows.to_ours("c:\\Users\\Ann\\a.py") == "/mnt/c/Users/Ann/a.py"
    assert windows.to_ours("\\\\wsl.localhost\\Debian\\home\\ann\\a.py") == "/home/ann/a.py"
    assert windows.to_ours("/c:/x.py") == "/mnt/c/x.py"
    assert windows.to_theirs("/home/ann/a.py") == "\\\\wsl.localhost\\Debian\\home\\ann\\a.py"
    assert windows.to_their_uri("/mnt/c/a b.py") == "file:///C%3A/a%20b.py"
    assert is_below("/x/ws", "/x/ws") and not is_below("/x/ws/../other", "/x/ws")


def test_a_retouched_text_keeps_the_files_encoding_and_line_ends() -> None:
    assert with_newlines_of("a\r\nb\r\n", "a\nB\n") == "a\r\nB\r\n"
    assert with_newlines_of("a\nb\n", "a\nB\n") == "a\nB\n"
    utf16 = b"\xff\xfe" + "a".encode("utf-16-le")
    assert retouch(utf16, "a", "ü") == b"\xff\xfe" + "ü".encode("utf-16-le")
    assert retouch(b"other", "a", "b") == b"other" and retouch(b"\xff", "a", "b") == b"\xff"


def test_json_inside_text_is_json() -> None:
    assert json.loads(diagnostics([])["content"][0]["text"]) == []
