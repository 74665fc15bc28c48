"""Bash and background tasks, with a real shell."""

import os
import subprocess
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from weft.errors import ToolError
from weft.schema.content import ToolUse
from weft.schema.display import ExitView
from weft.schema.events import TaskInfo
from weft.testing.tool_context import FakeSession, fake_tool_context
from weft.tools.bash import Bash
from weft.tools.port import Progress, Result, ToolContext
from weft.tools.shell import Capture, Trailer, plain
from weft.tools.task_output import TaskOutput
from weft.tools.task_stop import TaskStop
from weft.tools.tasks import BackgroundTasks
from weft.workspace.local import LocalWorkspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "project"
    (folder / "sub").mkdir(parents=True)
    return folder


@pytest.fixture
def context(root: Path, tmp_path: Path) -> ToolContext:
    return fake_tool_context(LocalWorkspace([root]), session=FakeSession(root, tmp_path / "spill"))


async def bash(context: ToolContext, command: str, **args: object) -> Result:
    tool = Bash()
    with anyio.fail_after(30):
        return await tool.run(tool.decode({"command": command, **args}), context)


def processes(mark: str) -> list[str]:
    """Commands that run now and have this in their line."""
    lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if mark in line]


async def test_output_and_errors_are_one_text(context: ToolContext) -> None:
    result = await bash(context, "echo out; echo err >&2; echo $CLAUDECODE$WEFT")
    assert result.content == "out\nerr\n11"
    assert not result.is_error
    assert cast("dict[str, Any]", result.data)["stdout"] == "out\nerr\n11"
    assert result.display[0] == ExitView("echo out; echo err >&2; echo $CLAUDECODE$WEFT", 0)


async def test_no_output_is_said(context: ToolContext) -> None:
    assert (await bash(context, "true")).content == "(Bash completed with no output)"


@pytest.mark.parametrize(("line", "code"), [("echo bad; exit 3", 3), ("echo bad; kill -9 $$", 137)])
async def test_a_failure_begins_with_its_exit_code(context: ToolContext, line: str, code: int) -> None:
    result = await bash(context, line)
    assert result.is_error and result.content == f"Exit code {code}\nbad"


async def test_the_folder_stays_and_variables_do_not(context: ToolContext, root: Path) -> None:
    await bash(context, "cd sub && export GONE=1")
    assert context.session.cwd == root / "sub"
    assert (await bash(context, "pwd; echo [$GONE]")).content == f"{root}/sub\n[]"
    await bash(context, "cd ..; exit 7")
    assert context.session.cwd == root


async def test_leaving_the_workspace_lasts_for_one_call(context: ToolContext, root: Path) -> None:
    sibling = root.parent / "project-evil"
    sibling.mkdir()
    result = await bash(context, "cd ../project-evil && pwd")
    assert context.session.cwd == root
    assert str(result.content).startswith(f"{sibling}\n(The working directory is {root} again")


async def test_a_folder_that_is_gone_is_left_for_the_root(context: ToolContext, root: Path) -> None:
    await bash(context, "cd sub")
    (root / "sub").rmdir()
    assert (await bash(context, "pwd")).content == f"{root}\n(The folder {root}/sub is gone: this ran in {root}.)"


async def test_a_command_that_takes_too_long_is_stopped_with_all_it_started(context: ToolContext) -> None:
    result = await bash(context, "echo begun; sleep 54321 & sleep 54321", timeout=100)
    assert result.content == "Exit code 143\nCommand timed out after 0.1s\nbegun"
    assert result.is_error
    assert processes("sleep 54321") == []


async def test_cancelling_leaves_no_process(context: ToolContext) -> None:
    started = anyio.Event()

    def heard(_progress: Progress) -> None:
        started.set()

    async with anyio.create_task_group() as group:
        patient = fake_tool_context(context.workspace, progress=heard)
        group.start_soon(bash, patient, "echo begun; sleep 65432 & sleep 65432")
        with anyio.fail_after(30):
            await started.wait()
        group.cancel_scope.cancel()
    assert processes("sleep 65432") == []


async def test_long_output_is_cut_in_the_middle_and_kept_whole(context: ToolContext, root: Path) -> None:
    result = await bash(context, "seq 1 20000")
    text = str(result.content)
    assert text.startswith("1\n2\n") and text.endswith("\n19999\n20000") and len(text) < 9000
    spilled = root.parent / "spill" / "toolu_test.txt"
    assert str(spilled) in text
    assert spilled.read_text().count("\n") == 20000


async def test_output_is_told_while_it_comes(root: Path) -> None:
    heard: list[str] = []
    context = fake_tool_context(LocalWorkspace([root]), progress=lambda progress: heard.append(progress.output))
    await bash(context, "printf 'grü'; printf 'ße\\n'")
    assert "".join(heard) == "grüße\n"


async def test_settings_set_the_environment_and_the_limits(root: Path) -> None:
    settings: dict[str, object] = {"env": {"COLOUR": "blue", "BASH_MAX_OUTPUT_LENGTH": "100"}}
    context = fake_tool_context(LocalWorkspace([root]), settings=settings)
    assert (await bash(context, "echo $COLOUR")).content == "blue"
    assert "left out" in str((await bash(context, "seq 1 100")).content)


async def test_what_makes_no_sense_is_refused(context: ToolContext) -> None:
    with pytest.raises(ToolError, match="empty"):
        await bash(context, "  ")
    with pytest.raises(ToolError, match="more than 0"):
        await bash(context, "true", timeout=-1)


def test_colours_and_redrawn_lines_are_left_out() -> None:
    raw = b"\x1b[31mred\x1b[0m\r\n10%\r50%\r100%\ndone\r"
    assert plain(raw) == "red\n100%\ndone"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_the_folder_s_mark_is_never_shown_however_it_is_chunked(size: int) -> None:
    trailer = Trailer()
    mark = trailer.wrap("").split('"')[1].replace("\\036", "\x1e")
    whole = f"text \x1e more{mark}/tmp/a b\n\x1elate".encode()
    shown = b"".join(trailer.feed(whole[at : at + size]) for at in range(0, len(whole), size)) + trailer.finish()
    assert shown == b"text \x1e morelate"
    assert trailer.folder == Path("/tmp/a b")


def test_capture_keeps_the_beginning_and_the_end() -> None:
    capture = Capture(max_head=10, max_tail=5)
    for _ in range(100):
        capture.add(b"abc")
    assert capture.whole() == b"abcabcabca\n... [285 bytes were not kept] ...\nbcabc"


class Noted:
    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []

    def __call__(self, info: TaskInfo) -> None:
        self.states.append((info.id, info.state))


async def test_a_background_task_is_read_piece_by_piece(root: Path, tmp_path: Path) -> None:
    noted = Noted()
    workspace = LocalWorkspace([root])
    async with BackgroundTasks(workspace, tmp_path / "tasks", on_change=noted) as tasks:
        context = fake_tool_context(workspace, tasks=tasks)
        result = await bash(
            context, "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two", run_in_background=True
        )
        task_id = cast("dict[str, Any]", result.data)["backgroundTaskId"]
        assert task_id in str(result.content)
        look = TaskOutput()
        text = ""
        with anyio.fail_after(30):
            while "one" not in text:
                text = str((await look.run(look.decode({"task_id": task_id, "block": False}), context)).content)
        assert "running" in text
        (root / "go").touch()
        with anyio.fail_after(30):
            done = await look.run(look.decode({"task_id": task_id}), context)
        assert "exit code 0" in str(done.content) and str(done.content).endswith("\ntwo")
        assert cast("dict[str, Any]", done.data)["task"]["status"] == "completed"
        again = await look.run(look.decode({"task_id": task_id}), context)
        assert "Nothing new" in str(again.content)
        assert (tmp_path / "tasks" / f"{task_id}.output").read_text() == "one\ntwo\n"
    assert [state for _, state in noted.states] == ["running", "completed"]


async def test_a_stopped_task_is_gone_and_says_so(root: Path, tmp_path: Path) -> None:
    noted = Noted()
    workspace = LocalWorkspace([root])
    async with BackgroundTasks(workspace, tmp_path / "tasks", on_change=noted) as tasks:
        context = fake_tool_context(workspace, tasks=tasks)
        info = await tasks.start_shell("t", "sleep 43210", "Wait", root)
        stop = TaskStop()
        with anyio.fail_after(30):
            result = await stop.run(stop.decode({"shell_id": info.id}), context)
        assert "was stopped" in str(result.content)
        assert processes("sleep 43210") == []
        again = await stop.run(stop.decode({"task_id": info.id}), context)
        assert cast("dict[str, Any]", again.data)["task_id"] == info.id
        with pytest.raises(ToolError, match="no task 'nope'"):
            await stop.run(stop.decode({"task_id": "nope"}), context)
    assert [state for _, state in noted.states] == ["running", "stopped"]


async def test_leaving_the_session_ends_its_tasks(root: Path, tmp_path: Path) -> None:
    noted = Noted()
    with anyio.fail_after(30):
        async with BackgroundTasks(LocalWorkspace([root]), tmp_path / "tasks", on_change=noted) as tasks:
            await tasks.start_shell("t", "sleep 32109", "Wait", root)
    assert processes("sleep 32109") == []
    assert [state for _, state in noted.states] == ["running", "stopped"]


async def test_a_filter_keeps_matching_lines_and_the_shell_s_name_does_not_wait(root: Path, tmp_path: Path) -> None:
    workspace = LocalWorkspace([root])
    async with BackgroundTasks(workspace, tmp_path / "tasks", on_change=lambda _info: None) as tasks:
        info = await tasks.start_shell("t", "seq 1 12; sleep 21098", "Count", root)
        context = fake_tool_context(workspace, tasks=tasks, use=ToolUse("t", "BashOutput", {}))
        look = TaskOutput()
        text = ""
        with anyio.fail_after(30):
            while "Nothing new" in text or not text:
                text = str((await look.run(look.decode({"bash_id": info.id, "filter": "^1"}), context)).content)
        assert text.endswith("\n1\n10\n11\n12")
        with pytest.raises(ToolError, match="not a regular expression"):
            await look.run(look.decode({"bash_id": info.id, "filter": "("}), context)


async def test_a_long_task_s_output_is_bounded(root: Path, tmp_path: Path) -> None:
    async with BackgroundTasks(
        LocalWorkspace([root]), tmp_path / "tasks", on_change=lambda _info: None, max_file=500_000
    ) as tasks:
        info = await tasks.start_shell("t", "seq 1 200000", "Count", root)
        with anyio.fail_after(30):
            _, text = await tasks.read(info.id, wait=5)
        assert len(text) < 10_000 and "All of it is in" in text
        assert os.stat(info.output_file).st_size < 501_000
