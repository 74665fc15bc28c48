"""What reaches beyond the window: a copy of a conversation on disk, notes of the terminal, the desktop's clipboard."""

import base64
from pathlib import Path

import pytest
from textual.events import AppBlur, AppFocus

from tests.e2e.terminal.stage import on_stage
from tests.e2e.terminal.tmux import Terminal, terminal
from weft.schema.commands import Prompt
from weft.schema.content import Image
from weft.surfaces.terminal.clipboard import read_image
from weft.testing.connection import said

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_fork_goes_on_in_a_tab_of_its_own_and_leaves_the_first_as_it_was(tmp_path: Path) -> None:
    with terminal(tmp_path) as window:
        window.start(size=(100, 40))
        window.shows("ask first")
        window.type("words before the fork")
        window.press("Enter")
        window.shows("You said: words before the fork", "? for help")
        window.type("/fork")
        window.shows("go on in a copy of this conversation")
        window.press("Enter")
        window.shows(
            "1 words before the fork", "2 words before the fork", "You said: words before the fork", "ask first"
        )
        window.type("only in the copy")
        window.press("Enter")
        window.shows("You said: only in the copy", "? for help")
        window.press("M-1")
        _until_without(window, "only in the copy")
        kept = list((tmp_path / "home" / ".weft" / "projects").rglob("*.jsonl"))
        texts = [path.read_text("utf-8") for path in kept]
    assert sorted("only in the copy" in text for text in texts) == [False, True]
    assert all("words before the fork" in text for text in texts)


def _until_without(window: Terminal, text: str) -> None:
    """The first conversation is shown again."""
    for _ in range(600):
        if text not in window.shows("You said: words before the fork"):
            return
    raise AssertionError(window.screen())


async def test_who_looks_elsewhere_is_told_once_that_the_turn_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_stage([said("first"), said("second")], folder=tmp_path) as stage:
        notes: list[str] = []
        driver = stage.app._driver
        assert driver is not None
        monkeypatch.setattr(driver, "write", notes.append)
        bells: list[bool] = []
        monkeypatch.setattr(stage.app, "bell", lambda: bells.append(True))
        await stage.type("hello\n")
        await stage.shows("first", "? for help")
        await stage.until(lambda: stage.app._told != "")
        assert not any("\x1b]9;" in note for note in notes), "whoever looks at the window needs no note"
        stage.app.post_message(AppBlur())
        await stage.until(lambda: not stage.app.focused_window)
        stage.app.conversation.send(Prompt("more"))
        await stage.shows("second", "? for help")
        await stage.until(lambda: any("\x1b]9;" in note for note in notes))
        stage.app.post_message(AppFocus())
        await stage.until(lambda: stage.app.focused_window)
    assert bells == [True]
    assert [note for note in notes if "\x1b]9;" in note] == ["\x1b]9;Weft is done\x07"]


def _reader(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    script = folder / name
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)


async def test_a_picture_of_the_clipboard_goes_along_with_the_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "picture.png").write_bytes(PNG)
    _reader(tmp_path / "bin", "wl-paste", f'test "$*" = "--no-newline --type image/png" && cat {tmp_path}/picture.png')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    async with on_stage([said("seen")], folder=tmp_path, env={"WAYLAND_DISPLAY": "wayland-0"}) as stage:
        await stage.pilot.press("ctrl+v")
        await stage.until(lambda: "[" in stage.app.composer.text)
        await stage.type("what is it?\n")
        await stage.shows("seen")
        (prompt,) = [command for command in stage.commands if isinstance(command, Prompt)]
    images = [block for block in prompt.content if isinstance(block, Image)]
    assert len(images) == 1 and "what is it?" in str(prompt.content)


async def test_the_next_reader_is_asked_when_one_has_no_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "picture.png").write_bytes(PNG)
    _reader(tmp_path / "bin", "wl-paste", "exit 1")
    _reader(tmp_path / "bin", "xclip", f"cat {tmp_path}/picture.png")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    both = {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}
    assert await read_image(both) == PNG
    assert await read_image({"WAYLAND_DISPLAY": "wayland-0"}) == b""
    assert await read_image({}) == b"", "without a desktop nobody is asked"
