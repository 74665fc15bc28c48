"""`weft mcp`: entries go into the right file, and errors say what to do next."""

import json
import stat
import sys
from pathlib import Path

import pytest

from weft.cli.mcp import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_home: Path) -> Path:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    return project


def kept(home: Path) -> dict[str, object]:
    return json.loads((home / ".weft/mcp.json").read_text())


def test_a_server_is_added_listed_shown_and_removed(folder: Path, fresh_home: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["add", "--env", "A=1=2", "files", "--", "server-files", "--root", "."]) == 0
    entry = kept(fresh_home)["projects"][str(folder)]["mcpServers"]["files"]  # type: ignore[index]
    assert entry == {
        "type": "stdio",
        "command": "server-files",
        "args": ["--root", "."],
        "env": {"A": "1=2"},
    }
    assert stat.S_IMODE((fresh_home / ".weft/mcp.json").stat().st_mode) == 0o600
    assert main(["list"]) == 0 and main(["get", "files"]) == 0
    text = capsys.readouterr().out
    assert "files: server-files --root . (stdio) - approved" in text and "starts the program" in text
    assert main(["remove", "files"]) == 0
    assert main(["remove", "files"]) == 2
    assert "not in a file of ours" in capsys.readouterr().err


def test_a_remote_server_has_its_headers_and_client(folder: Path, fresh_home: Path):
    address = "https://docs.example/mcp"
    arguments = ["--scope", "user", "--header", "X-Key: k", "--client-id", "c", "--callback-port", "3118"]
    assert main(["add", *arguments, "docs", address]) == 0
    assert kept(fresh_home)["mcpServers"] == {
        "docs": {
            "type": "http",
            "url": address,
            "headers": {"X-Key": "k"},
            "oauth": {"clientId": "c", "callbackPort": 3118},
        }
    }


def test_a_projects_server_that_the_person_wrote_is_approved_and_one_that_came_is_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["add", "--scope", "project", "mine", "--", "server"]) == 0
    whole = json.loads((folder / ".mcp.json").read_text())
    whole["mcpServers"]["theirs"] = {"command": "curl", "args": ["evil.example"]}
    (folder / ".mcp.json").write_text(json.dumps(whole))
    main(["list"])
    text = capsys.readouterr().out
    assert "mine: server (stdio) - approved" in text
    assert "theirs: curl evil.example (stdio) - pending" in text
    assert main(["test", "theirs"]) == 2
    assert "weft mcp approve theirs" in capsys.readouterr().err
    assert main(["approve", "theirs"]) == 2
    shown = capsys.readouterr()
    assert "curl evil.example" in shown.out and "--yes" in shown.err
    assert main(["approve", "--yes", "theirs"]) == 0
    assert main(["deny", "theirs"]) == 0
    main(["list"])
    assert "theirs: curl evil.example (stdio) - denied" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "bad name", "--", "x"], "cannot be a server's name"),
        (["add-json", "x", "{"], "not JSON"),
        (["add-json", "x", '{"url": "https://e.example"}'], '"type"'),
        (["add", "--env", "nope", "x", "--", "y"], "NAME=VALUE"),
        (["get", "nobody"], "there is no server"),
        (["import", "/nowhere.json"], "nothing to import"),
    ],
)
def test_what_cannot_be_done_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
):
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_servers_are_imported_by_choice(folder: Path, fresh_home: Path, capsys: pytest.CaptureFixture[str]):
    source = fresh_home / ".config/Claude/claude_desktop_config.json"
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps({"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}, "c": {}}}))
    assert main(["import", "desktop", "--dry-run"]) == 0
    assert "starts the program: a" in capsys.readouterr().out
    assert main(["import", "desktop", "--only", "b"]) == 0
    assert kept(fresh_home)["mcpServers"] == {"b": {"type": "stdio", "command": "b"}}


def test_a_broken_file_is_never_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / ".mcp.json").write_text("{ this is mine")
    assert main(["add", "--scope", "project", "x", "--", "y"]) == 2
    assert (folder / ".mcp.json").read_text() == "{ this is mine"


def test_a_server_is_tried_and_its_tools_listed(folder: Path, capsys: pytest.CaptureFixture[str]):
    spec = json.dumps({"tools": ["echo", {"name": "odd", "description": "x\u200b", "inputSchema": {}}]})
    main(["add", "--protocol", "legacy", "t", "--", sys.executable, "-m", "weft.testing.mcp_server", spec])
    assert main(["test", "t"]) == 0
    text = capsys.readouterr().out
    assert "t: ready" in text and "tool echo" in text and "! hidden characters" in text
    main(["add", "gone", "--", "/no/such/program"])
    assert main(["test", "gone"]) == 1
    assert "there is no such program" in capsys.readouterr().out
    assert main(["login", "t"]) == 2


def test_help_has_examples(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "weft mcp add files --" in capsys.readouterr().out
