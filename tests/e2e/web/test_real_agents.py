"""`weft web` as a process, with the real agent and a server that speaks a real model's wire."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.peers import peer_bin
from weft.schema.content import Text, ToolUse
from weft.testing.fake_anthropic import FakeAnthropic

Start = Callable[..., "Command"]
SOURCE = Path(__file__).resolve().parents[3] / "src"


class Command:
    """`weft web` in a folder. `link` is what it printed."""

    def __init__(self, folder: Path, env: dict[str, str], *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "weft", "web", "--no-open", *arguments],
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert "http://127.0.0.1:" in line, line + self._process.stdout.read()
        self._link = line.split()[-1]

    def link(self) -> str:
        return self._link

    def stop(self) -> int:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        code = self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code


@pytest.fixture
def command() -> Iterator[Callable[..., Command]]:
    """Starts commands; whatever still runs when the test is over is stopped."""
    started: list[Command] = []

    def start(folder: Path, env: dict[str, str], *arguments: str) -> Command:
        started.append(Command(folder, env, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal("asyncio") as portal:
        yield portal


@pytest.fixture
def model(portal: BlockingPortal) -> Iterator[Callable[..., FakeAnthropic]]:
    opened: list[Any] = []

    def start(replies: list[Any]) -> FakeAnthropic:
        context = portal.wrap_async_context_manager(FakeAnthropic(replies))
        server = context.__enter__()
        opened.append(context)
        return server

    yield start
    for context in opened:
        context.__exit__(None, None, None)


def environment(server: FakeAnthropic, home: Path) -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "OPENAI", "CLAUDE"))}
    return env | {"HOME": str(home), "PYTHONPATH": str(SOURCE), "WEFT_MAX_RETRIES": "0", **server.env()}


def test_the_real_agent_edits_a_file_after_it_was_allowed(
    model: Callable[..., FakeAnthropic], visit: Callable[..., Any], command: Start, project: Path, fresh_home: Path
) -> None:
    server = model(
        [
            (Text("I'll look."), ToolUse("", "Read", {"file_path": str(project / "src" / "shelf.py")})),
            (
                ToolUse(
                    "",
                    "Edit",
                    {
                        "file_path": str(project / "src" / "shelf.py"),
                        "old_string": "line.split()[0]",
                        "new_string": '(line.split() or [""])[0]',
                    },
                ),
            ),
            "The shelf is **mended**.",
        ]
    )
    env = environment(server, fresh_home)
    running = command(project, env)
    here = visit(running)
    here.say("Mend the shelf")
    here.page.wait_for_selector(".ask.permission", timeout=60_000)
    assert "shelf.py" in here.page.inner_text(".ask.permission")
    here.page.keyboard.press("1")
    here.page.wait_for_selector("text=The shelf is mended.")
    assert '(line.split() or [""])[0]' in (project / "src" / "shelf.py").read_text()
    here.page.get_by_role("button", name="Menu", exact=True).click()
    here.page.get_by_role("menuitem", name="Usage").click()
    here.page.wait_for_selector("dialog .chart")
    here.shot("usage")
    here.page.keyboard.press("Escape")
    here.leave()
    assert running.stop() in (0, 130)

    # The conversation is on disk: another process shows it, and goes on with it.
    again = command(project, environment(model(["Still here."]), fresh_home))
    there = visit(again)
    there.page.click(".row-title >> text=Mend the shelf")
    there.page.wait_for_selector("text=The shelf is mended.")
    assert there.page.locator(".tool-name >> text=Edit").count() == 1
    there.say("Are you there?")
    there.page.wait_for_selector("text=Still here.", timeout=60_000)
    assert there.page.locator(".log >> text=The shelf is mended.").count() == 1
    there.page.get_by_role("button", name="Menu", exact=True).click()
    there.page.get_by_role("menuitem", name="Settings").click()
    there.page.wait_for_selector("dialog .setting")
    there.shot("settings")
    there.page.keyboard.press("Escape")
    there.leave()


def test_a_part_of_a_change_is_written_and_the_conversation_goes_back(
    model: Callable[..., FakeAnthropic], visit: Callable[..., Any], command: Start, project: Path, fresh_home: Path
) -> None:
    path = project / "src" / "long.py"
    before = "".join(f"line_{n} = {n}\n" for n in range(40))
    path.write_text(before)
    after = before.replace("line_3 = 3\n", "line_3 = 33\n").replace("line_30 = 30\n", "line_30 = 300\n")
    read = ToolUse("", "Read", {"file_path": str(path)})
    write = ToolUse("", "Write", {"file_path": str(path), "content": after})
    server = model([(read,), (write,), "One line is written.", "Another answer."])
    here = visit(command(project, environment(server, fresh_home)))
    here.say("Change two lines")
    here.page.wait_for_selector(".ask.permission .diff-hunk-bar", timeout=60_000)
    here.page.locator(".diff-hunk-bar").nth(0).get_by_role("button", name="Reject").click()
    here.page.click(".ask .primary")
    here.page.wait_for_selector("text=One line is written.")
    assert path.read_text() == before.replace("line_30 = 30\n", "line_30 = 300\n")
    here.say("And now?")
    here.page.wait_for_selector("text=Another answer.")
    here.page.locator(".user").nth(1).hover()
    here.page.locator(".user").nth(1).get_by_role("button", name="Go back to here").click()
    here.page.click("text=Conversation only")
    here.page.wait_for_selector(".log >> text=Another answer.", state="detached")
    assert here.page.input_value(".composer textarea") == "And now?"
    here.leave()


def test_always_here_writes_the_rule_that_the_permissions_view_shows(
    model: Callable[..., FakeAnthropic], visit: Callable[..., Any], command: Start, project: Path, fresh_home: Path
) -> None:
    write = ToolUse("", "Write", {"file_path": str(project / "made.txt"), "content": "made\n"})
    server = model([(write,), "All is made."])
    running = command(project, environment(server, fresh_home))
    here = visit(running)
    here.say("Make a file")
    here.page.wait_for_selector(".ask.permission", timeout=60_000)
    here.page.focus(".ask [data-key='3']")
    rule = here.page.inner_text(".ask-rule code")
    here.page.keyboard.press("3")
    here.page.wait_for_selector("text=All is made.")
    assert (project / "made.txt").exists()
    assert rule in (project / ".claude" / "settings.local.json").read_text()
    here.page.get_by_role("button", name="Menu", exact=True).click()
    here.page.get_by_role("menuitem", name="Permissions").click()
    here.page.wait_for_selector(".rule")
    assert rule in here.page.inner_text(".rules")
    assert "settings.local.json" in here.page.inner_text(".rules")
    here.shot("permissions")
    here.leave()


def test_the_page_drives_an_acp_agent(
    model: Callable[..., FakeAnthropic], visit: Callable[..., Any], command: Start, project: Path, fresh_home: Path
) -> None:
    run = ToolUse("", "Bash", {"command": "touch acp.txt", "description": "Make a file"})
    server = model([(run,), "Made over **ACP**."])
    spec = f"{sys.executable} -m weft acp"
    running = command(project, environment(server, fresh_home), "--agent", spec)
    here = visit(running)
    here.say("Make a file")
    here.page.wait_for_selector(".ask.permission", timeout=60_000)
    here.page.keyboard.press("1")
    here.page.wait_for_selector("text=Made over ACP.", timeout=30_000)
    assert (project / "acp.txt").exists()
    here.leave()
    running.stop()

    again = model(["Still the same talk."])
    there = visit(command(project, environment(again, fresh_home)))
    goes_on(there, again, "Make a file", "Made over ACP.", "Still the same talk.")
    assert there.page.locator(".row").count() == 1
    there.leave()


def goes_on(there: Any, server: FakeAnthropic, title: str, before: str, after: str) -> None:
    """The conversation is in the list of another process, shows what was said, and its agent still knows it."""
    there.page.click(f".row-title >> text={title}")
    there.page.wait_for_selector(f"text={before}")
    assert there.page.locator(".tool").count() == 1
    there.say("Are you there?")
    there.page.wait_for_selector(f"text={after}", timeout=60_000)
    assert there.page.locator(f".log >> text={before}").count() == 1
    asked = [str(request.body) for request in server.requests if "Are you there?" in str(request.body)]
    assert asked and title in asked[0] and "**" in asked[0]


CLAUDE = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1"}


def test_the_page_drives_claude_code_over_stream_json(
    model: Callable[..., FakeAnthropic], visit: Callable[..., Any], command: Start, project: Path, fresh_home: Path
) -> None:
    write = ToolUse("", "Write", {"file_path": str(project / "claude.txt"), "content": "made\n"})
    server = model([(write,), "Written by **Claude Code**.", *["title"] * 4])
    env = environment(server, fresh_home) | CLAUDE
    env["PATH"] = f"{peer_bin('claude').parent}{os.pathsep}{env['PATH']}"
    running = command(project, env, "--agent", "claude-code")
    here = visit(running)
    here.say("Write a file")
    here.page.wait_for_selector(".ask.permission", timeout=60_000)
    assert "claude.txt" in here.page.inner_text(".ask.permission")
    here.page.keyboard.press("1")
    here.page.wait_for_selector("text=Written by Claude Code.", timeout=60_000)
    assert (project / "claude.txt").read_text() == "made\n"
    here.leave()
    running.stop()

    again = model(["Claude Code goes on."] * 8)
    there = visit(command(project, env | again.env()))
    goes_on(there, again, "Write a file", "Written by Claude Code.", "Claude Code goes on.")
    assert there.page.locator(".row").count() == 1
    there.leave()


def test_the_page_drives_claude_code_through_its_acp_adapter(
    model: Callable[..., FakeAnthropic], visit: Callable[..., Any], command: Start, project: Path, fresh_home: Path
) -> None:
    server = model(["Hello from **Claude Code**."] * 8)
    env = environment(server, fresh_home) | CLAUDE
    env["PATH"] = f"{peer_bin('claude-agent-acp').parent}{os.pathsep}{env['PATH']}"
    running = command(project, env, "--agent", "claude")
    here = visit(running)
    here.say("Say hello")
    here.page.wait_for_selector("text=Hello from Claude Code.", timeout=60_000)
    here.leave()
