"""Stream-json runs as shapes: which messages came in which order, and which fields each kind had.

`python -m tests.conformance.stream_json.shapes` records the shapes of the real command into `fixtures/`.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from weft.schema.content import Text, Thinking, ToolUse
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_server import Answer, Cue, fail

FIXTURES = Path(__file__).parent / "fixtures"
SOURCE = Path(__file__).resolve().parents[3] / "src"


class Case:
    """A scripted conversation: flags, prompts, and what the model says. `{cwd}` stands for the project's folder.

    A prompt may be a whole line. `opening` is a control request that is answered before the first prompt. Permissions
    are allowed when they are asked. `interrupt` comes with the first piece of a reply. `env` is added.
    """

    def __init__(
        self,
        flags: Sequence[str],
        prompts: Sequence[str | dict[str, Any]],
        cues: Sequence[Cue],
        *,
        opening: dict[str, Any] | None = None,
        interrupt: bool = False,
        env: dict[str, str] | None = None,
    ) -> None:
        self.flags = flags
        self.prompts = prompts
        self.cues = cues
        self.opening = opening
        self.interrupt = interrupt
        self.env = env or {}


def line(prompt: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": prompt}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", **more}


def read(name: str = "t1") -> ToolUse:
    return ToolUse(f"toolu_{name}", "Read", {"file_path": "{cwd}/a.txt"})


FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
WAITING = "while [ ! -e done ]; do sleep 0.1; done"
"""A command that ends after the first result: `play` makes the file then."""

CASES = {
    "text": Case((), ["hi"], ["hello"]),
    "two_turns": Case((), ["one", "two"], ["first", "second"]),
    "thinking": Case((), ["think"], [[Thinking("hm", "sig"), Text("done")]]),
    "tool": Case(("--allowedTools", "Read"), ["read"], [[Text("I look."), read()], "ok"]),
    "tool_error": Case((), ["read"], [ToolUse("toolu_1", "Read", {"file_path": "{cwd}/none.txt"}), "ok"]),
    "denied": Case((), ["write"], [ToolUse("toolu_1", "Write", {"file_path": "{cwd}/x", "content": "x"}), "ok"]),
    "partial": Case(("--include-partial-messages",), ["hi"], ["hello there, you"]),
    "max_turns": Case(("--max-turns", "1", "--allowedTools", "Read"), ["read"], [read(), "never"]),
    "refused_key": Case((), ["hi"], [fail(403, "authentication_failed", "no")]),
    "retry": Case((), ["hi"], [fail(529, "overloaded", "busy"), "ok"]),
    "clear": Case((), ["one", "/clear", "two"], ["first", "second"]),
    "cost": Case((), ["one", "/cost"], ["first"]),
    "structured": Case(
        ("--json-schema", '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'),
        ["count"],
        [ToolUse("toolu_1", "StructuredOutput", {"n": 7}), "x"],
    ),
    "asked": Case(
        ("--permission-prompt-tool", "stdio", "--replay-user-messages"),
        [line("go", uuid=FIRST, origin={"kind": "human"}), line("again", uuid=SECOND)],
        [ToolUse("toolu_1", "Write", {"file_path": "{cwd}/x", "content": "x"}), "ok", "second"],
        env={"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"},
    ),
    "interrupted": Case(
        ("--include-partial-messages",),
        ["go", "on"],
        [Answer(blocks=(Text("word " * 1000),), piece=5, delay=0.02), "after"],
        interrupt=True,
    ),
    "compacted": Case((), ["one", "/compact", "two"], ["one " * 50, "<summary>short</summary>", "two"]),
    "background": Case(
        ("--dangerously-skip-permissions",),
        ["go"],
        [ToolUse("toolu_1", "Bash", {"command": WAITING, "run_in_background": True}), "started", "seen"],
    ),
    "agent": Case(
        (),
        ["go"],
        [
            ToolUse(
                "toolu_1",
                "Agent",
                {"description": "ask", "prompt": "read it", "subagent_type": "helper", "run_in_background": False},
            ),
            ToolUse("toolu_2", "Read", {"file_path": "{cwd}/a.txt"}),
            "it says one",
            "done",
        ],
        opening={
            "subtype": "initialize",
            "agents": {"helper": {"description": "helps", "prompt": "You help.", "tools": ["Read"]}},
        },
    ),
}


async def play(command: Sequence[str], case: Case, folder: Path) -> list[dict[str, Any]]:
    """Runs one case; the messages in order."""
    project, home = folder / "project", folder / "home"
    project.mkdir(parents=True)
    home.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    cues = [_placed(cue, project) for cue in case.cues]
    waiting = [line(prompt) if isinstance(prompt, str) else prompt for prompt in case.prompts]
    if case.opening is not None:
        waiting.insert(0, {"type": "control_request", "request_id": "opening", "request": case.opening})
    async with FakeAnthropic(cues) as server:
        env = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "CLAUDE"))},
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "k",
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "ENABLE_TOOL_SEARCH": "0",
            "PYTHONPATH": str(SOURCE),
            **case.env,
        }
        base = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"]
        with anyio.fail_after(120):
            process = await anyio.open_process([*command, *base, *case.flags], cwd=project, env=env)
            async with process:
                assert process.stdin is not None and process.stdout is not None
                seen: list[dict[str, Any]] = []
                reacting = _Reactions(case, waiting, project)
                await process.stdin.send(_encoded(waiting.pop(0)))
                buffer = b""
                async for chunk in process.stdout:
                    *whole, buffer = (buffer + chunk).split(b"\n")
                    for text in whole:
                        seen.append(json.loads(text))
                        for answer in reacting.to(seen[-1]):
                            await process.stdin.send(_encoded(answer))
                        if reacting.over:
                            await process.stdin.aclose()
                return seen


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


class _Reactions:
    """What the host says to a message. `over` says that it has nothing more to say."""

    def __init__(self, case: Case, waiting: list[dict[str, Any]], project: Path) -> None:
        self._waiting = waiting
        self._project = project
        self._interrupt = case.interrupt
        self.over = False

    def to(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        kind = message["type"]
        if kind == "control_request" and message["request"]["subtype"] == "can_use_tool":
            allowed = {"behavior": "allow", "updatedInput": message["request"]["input"]}
            response = {"subtype": "success", "request_id": message["request_id"], "response": allowed}
            return [{"type": "control_response", "response": response}]
        if kind == "control_response" and message["response"]["request_id"] == "opening":
            return [self._waiting.pop(0)]
        if kind == "stream_event" and self._interrupt and message["event"]["type"] == "content_block_delta":
            self._interrupt = False
            return [{"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}}]
        if kind == "result":
            (self._project / "done").touch()
            if self._waiting:
                return [self._waiting.pop(0)]
            self.over = True
        return []


def _placed(cue: Cue, project: Path) -> Cue:
    def block(value: Any) -> Any:
        if isinstance(value, ToolUse):
            changed = {
                key: item.replace("{cwd}", str(project)) if isinstance(item, str) else item
                for key, item in value.input.items()
            }
            return ToolUse(value.id, value.name, changed)
        return value

    if isinstance(cue, list | tuple):
        return [block(item) for item in cue]
    return cue if isinstance(cue, Answer | str) else block(cue)


LOOSE = ("control_response", "system/task_progress")
"""Kinds whose place and number is chance: an answer to the host comes when it is ready, progress as often as there is
some."""


def name_of(message: dict[str, Any]) -> str:
    """The kind of a message, as far as the order of messages depends on it."""
    kind = message["type"]
    if kind == "system":
        return "/".join(("system", message["subtype"], *([message["state"]] if "state" in message else [])))
    if kind == "command_lifecycle":
        return f"{kind}/{message['state']}"
    if kind == "control_request":
        return f"{kind}/{message['request']['subtype']}"
    if kind == "result":
        return f"result/{message['subtype']}"
    if kind == "stream_event":
        return f"stream_event/{message['event']['type']}"
    content = message.get("message", {}).get("content", "")
    blocks = [content] if isinstance(content, str) else [block["type"] for block in content]
    return f"{kind}/{'text' if isinstance(content, str) else '+'.join(blocks)}"


def shape(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The order of kinds, and the fields that every message of a kind had."""
    order: list[str] = []
    fields: dict[str, list[str]] = {}
    for message in messages:
        name = name_of(message)
        if name.startswith(LOOSE):
            continue
        if not (name.startswith("stream_event/content_block_delta") and order and order[-1] == name):
            order.append(name)
        inner = message.get("message")
        present = set(message) | {f"message.{key}" for key in (inner if isinstance(inner, dict) else ())}
        fields[name] = sorted(present & set(fields[name])) if name in fields else sorted(present)
    return {"order": order, "fields": fields}


async def record(*names: str) -> None:
    """All cases, or those named."""
    import tempfile

    from tests.peers import peer_bin

    FIXTURES.mkdir(exist_ok=True)
    for name, case in CASES.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            messages = await play([str(peer_bin("claude"))], case, Path(folder))
        (FIXTURES / f"{name}.json").write_text(json.dumps(shape(messages), indent=1) + "\n")
        sys.stderr.write(f"{name}: {len(messages)} messages\n")


if __name__ == "__main__":
    anyio.run(record, *sys.argv[1:])
