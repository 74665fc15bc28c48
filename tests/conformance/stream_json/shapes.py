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
    """A scripted conversation: flags, prompts, and what the model says. `{cwd}` stands for the project's folder."""

    def __init__(self, flags: Sequence[str], prompts: Sequence[str], cues: Sequence[Cue], **control: Any) -> None:
        self.flags = flags
        self.prompts = prompts
        self.cues = cues


def read(name: str = "t1") -> ToolUse:
    return ToolUse(f"toolu_{name}", "Read", {"file_path": "{cwd}/a.txt"})


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
}


async def play(command: Sequence[str], case: Case, folder: Path) -> list[dict[str, Any]]:
    """Runs one case; the messages in order."""
    project, home = folder / "project", folder / "home"
    project.mkdir(parents=True)
    home.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    cues = [_placed(cue, project) for cue in case.cues]
    lines = [
        {"type": "user", "message": {"role": "user", "content": prompt}, "parent_tool_use_id": None, "session_id": ""}
        for prompt in case.prompts
    ]
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
        }
        base = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"]
        with anyio.fail_after(120):
            process = await anyio.open_process([*command, *base, *case.flags], cwd=project, env=env)
            async with process:
                assert process.stdin is not None and process.stdout is not None
                seen: list[dict[str, Any]] = []
                waiting = list(lines)
                await process.stdin.send(json.dumps(waiting.pop(0)).encode() + b"\n")
                buffer = b""
                async for chunk in process.stdout:
                    *whole, buffer = (buffer + chunk).split(b"\n")
                    for line in whole:
                        seen.append(json.loads(line))
                        if seen[-1]["type"] == "result":
                            if waiting:
                                await process.stdin.send(json.dumps(waiting.pop(0)).encode() + b"\n")
                            else:
                                await process.stdin.aclose()
                return seen


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


def name_of(message: dict[str, Any]) -> str:
    """The kind of a message, as far as the order of messages depends on it."""
    kind = message["type"]
    if kind == "system":
        return f"system/{message['subtype']}"
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
        if not (name.startswith("stream_event/content_block_delta") and order and order[-1] == name):
            order.append(name)
        inner = message.get("message")
        present = set(message) | {f"message.{key}" for key in (inner if isinstance(inner, dict) else ())}
        fields[name] = sorted(present & set(fields[name])) if name in fields else sorted(present)
    return {"order": order, "fields": fields}


async def record() -> None:
    import tempfile

    from tests.peers import peer_bin

    FIXTURES.mkdir(exist_ok=True)
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            messages = await play([str(peer_bin("claude"))], case, Path(folder))
        (FIXTURES / f"{name}.json").write_text(json.dumps(shape(messages), indent=1) + "\n")
        sys.stderr.write(f"{name}: {len(messages)} messages\n")


if __name__ == "__main__":
    anyio.run(record)
