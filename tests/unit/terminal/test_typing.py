"""What a person types: completions, what was typed before, attachments, the keys of vi, forms."""

import base64
from pathlib import Path

import pytest

from weft.schema.content import Document, Image, Text
from weft.schema.events import CommandInfo, SessionInfo
from weft.surfaces.terminal.asks.fields import problem, read_fields, to_content, turn
from weft.surfaces.terminal.attachments import Attachments, image_path, is_long
from weft.surfaces.terminal.completion import Sources, Trigger, candidates, find_trigger
from weft.surfaces.terminal.history import History
from weft.surfaces.terminal.vim import Location, VimKeys

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
INFO = SessionInfo(
    "s", "/", "m", commands=(CommandInfo("compact", "shorter", "[what]"), CommandInfo("cost")), agents=("review",)
)
FILES = ["src/app.py", "src/parse.py", "README.md"]
SOURCES = Sources(
    info=INFO, files=lambda query, _: [path for path in FILES if query in path], shell=["git status", "git log"]
)


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("/co", Trigger("/", "co", 0)),
        ("/compact now", None),
        ("look at @src/p", Trigger("@", "src/p", 8)),
        ("mail me@home", None),
        ("#", Trigger("#", "", 0)),
        ("# note", None),
        ("!git", Trigger("!", "git", 0)),
        ("plain words", None),
        ("say\n@READ", Trigger("@", "READ", 4)),
    ],
)
def test_what_is_being_typed(before: str, wanted: Trigger | None) -> None:
    assert find_trigger(before) == wanted


def test_candidates_fit_what_is_typed() -> None:
    assert [item.label for item in candidates(Trigger("/", "cmp", 0), SOURCES)] == ["/compact [what]"]
    assert [item.insert for item in candidates(Trigger("@", "parse", 0), SOURCES)] == ["@src/parse.py "]
    assert [item.insert for item in candidates(Trigger("@", "rev", 0), SOURCES)] == ["@agent-review "]
    assert [item.insert for item in candidates(Trigger("!", "git s", 0), SOURCES)] == ["!git status"]
    assert "#user: " in [item.insert for item in candidates(Trigger("#", "", 0), SOURCES)]


def test_what_was_typed_is_found_again_in_another_process(tmp_path: Path) -> None:
    first = History(tmp_path / "h.jsonl", "/a")
    for text in ("one", "two", "one", "!ls"):
        first.add(text)
    again = History(tmp_path / "h.jsonl", "/a")
    again.load()
    assert [again.older("draft"), again.older(""), again.older(""), again.older("")] == ["!ls", "one", "two", None]
    assert [again.newer(), again.newer(), again.newer(), again.newer()] == ["one", "!ls", "draft", None]
    assert again.search("tw") == ["two"]
    assert again.shell() == ["ls"]


def test_what_was_typed_in_this_folder_comes_first(tmp_path: Path) -> None:
    History(tmp_path / "h.jsonl", "/a").add("here")
    History(tmp_path / "h.jsonl", "/b").add("elsewhere")
    here = History(tmp_path / "h.jsonl", "/a")
    here.load()
    assert here.older("") == "here"


def test_long_text_and_pictures_go_along_as_blocks() -> None:
    items = Attachments()
    pasted = items.add_text("x\n" * 50)
    picture = items.add_image(PNG, "dot.png")
    assert picture is not None
    assert items.to_content("plain") == "plain"
    content = items.to_content(f"see {pasted.mark} and {picture.mark}")
    assert [type(block) for block in content] == [Document, Image, Text]
    assert items.to_content(f"only {picture.mark}")[0] == content[1]


def test_what_is_no_picture_is_not_attached(tmp_path: Path) -> None:
    assert Attachments().add_image(b"not a picture") is None
    path = tmp_path / "a b.png"
    path.write_bytes(PNG)
    assert image_path(f"'{path}'") == path
    assert image_path(str(path).replace(" ", "\\ ")) == path
    assert image_path(f"file://{str(path).replace(' ', '%20')}") == path
    assert image_path("just words") is None


def test_only_long_pastes_become_attachments() -> None:
    assert not is_long("a\nb\nc")
    assert is_long("a\n" * 30)
    assert is_long("a" * 5000)


class Area:
    """A text with a cursor."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cursor_location: Location = (0, 0)
        self.undone = 0

    def move_cursor(self, location: Location) -> None:
        self.cursor_location = location

    def replace(self, insert: str, start: Location, end: Location) -> None:
        lines = self.text.split("\n")

        def offset(place: Location) -> int:
            return sum(len(line) + 1 for line in lines[: place[0]]) + place[1]

        self.text = self.text[: offset(start)] + insert + self.text[offset(end) :]

    def undo(self) -> None:
        self.undone += 1

    def redo(self) -> None:
        self.undone -= 1


@pytest.mark.parametrize(
    ("keys", "text", "wanted", "mode"),
    [
        ("x", "abc", "bc", "normal"),
        ("dw", "one two", "two", "normal"),
        ("wD", "one two", "one ", "normal"),
        ("dd", "one\ntwo", "two", "normal"),
        ("jdd", "one\ntwo", "one", "normal"),
        ("yyp", "one\ntwo", "one\none\ntwo", "normal"),
        ("cw", "one two", " two", "insert"),
        ("3x", "abcdef", "def", "normal"),
        ("$x", "abc", "abc", "normal"),
        ("A", "abc", "abc", "insert"),
        ("o", "abc", "abc\n", "insert"),
        ("wwb", "one two three", "one two three", "normal"),
        ("d$", "abc", "", "normal"),
    ],
)
def test_the_keys_of_vi(keys: str, text: str, wanted: str, mode: str) -> None:
    area, vim = Area(text), VimKeys()
    vim.press("escape", None, area)
    area.move_cursor((0, 0))
    for key in keys:
        assert vim.press(key, key, area)
    assert (area.text, vim.mode) == (wanted, mode)


def test_in_insert_mode_only_escape_is_taken() -> None:
    area, vim = Area("a"), VimKeys()
    assert not vim.press("x", "x", area)
    assert vim.press("escape", None, area)


def test_a_form_reads_its_fields_and_gives_typed_values() -> None:
    fields = read_fields(
        {
            "properties": {
                "name": {"type": "string", "title": "Name"},
                "age": {"type": "integer"},
                "ok": {"type": "boolean", "default": True},
                "size": {"enum": ["s", "m"], "enumNames": ["small", "middle"]},
                "junk": "not a schema",
            },
            "required": ["name"],
        }
    )
    assert [(field.name, field.kind) for field in fields] == [
        ("name", "text"),
        ("age", "integer"),
        ("ok", "boolean"),
        ("size", "choice"),
    ]
    name, age, ok, size = fields
    assert problem(name) and not problem(age)
    name.value, age.value = "Ada", "x"
    assert not problem(name) and problem(age)
    age.value = "36"
    turn(ok)
    turn(size)
    turn(size)
    assert to_content(fields) == {"name": "Ada", "age": 36, "ok": False, "size": "m"}


def test_several_choices_of_a_form_are_named_with_commas() -> None:
    colours = {"anyOf": [{"const": "r", "title": "red"}, {"const": "g", "title": "green"}]}
    (field,) = read_fields({"properties": {"c": {"type": "array", "items": colours, "default": ["r"]}}})
    assert (field.kind, field.value) == ("several", "r") and "r, g" in field.description
    assert to_content([field]) == {"c": ["r"]}
    field.value = "r, blue"
    assert "r, g" in problem(field)
    field.value = "g ,r"
    assert not problem(field) and to_content([field]) == {"c": ["g", "r"]}
