"""The model behind `weft acp` in the acceptance scenarios: each prompt's first word picks what the model does.

It sees only what a model sees (messages and tool results) and acts only by text and tool calls, so everything between
it and the client is Weft. `python -m tests.conformance.acp.model` serves it for a person to try.
"""

import json
import re
import uuid
from collections.abc import Callable
from typing import Any, cast

from weft.schema.content import Json, Text, Thinking, ToolUse
from weft.testing.fake_anthropic import Answer, FakeAnthropic, fail

DIFF_FILE = "weft-acceptance-diff"
"""Written into the folder that the driver works in, which some of them fix to /tmp."""
PLAN_STEPS = ("read the code", "write the fix", "run the tests")
_WORD = re.compile(r"\b([A-Z]{4,10})\b(.*)")


class Seen:
    """The conversation since the newest prompt that a script knows: the prompt, its blocks and the results after it."""

    def __init__(self, body: Json) -> None:
        self.word = ""
        self.rest = ""
        self.kinds: list[str] = []
        self.results: list[tuple[str, bool]] = []
        for message in cast(list[dict[str, Any]], body.get("messages", [])):
            if message["role"] == "user":
                self._user(message["content"])

    def _user(self, content: Any) -> None:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_result":
                held = block.get("content", "")
                text = held if isinstance(held, str) else "\n".join(b.get("text", "") for b in held)
                self.results.append((text, bool(block.get("is_error"))))
            elif block["type"] == "text" and "<system-reminder>" not in block["text"]:
                found = _WORD.search(block["text"])
                if found and found.group(1) in SCRIPTS:
                    self.word, self.rest = found.group(1), found.group(2).strip()
                    self.kinds, self.results = [], []
                self.kinds.append("resource_link" if "a.py" in block["text"] else "text")
            elif block["type"] in ("image", "document"):
                self.kinds.append("image" if block["type"] == "image" else "resource_link")

    @property
    def last(self) -> str:
        return self.results[-1][0] if self.results else ""

    @property
    def failed(self) -> bool:
        return bool(self.results) and self.results[-1][1]


def use(name: str, **arguments: object) -> ToolUse:
    return ToolUse("", name, arguments)


def stream(seen: Seen) -> Answer:
    return Answer(blocks=(Thinking("Let me think.", "s"), Text("Hello from the scripted agent.")), piece=6)


def permission(seen: Seen) -> Answer:
    if not seen.results:
        return Answer(blocks=(use("Bash", command="python3 -c 'print(\"hi\")'", description="Say hi"),))
    return Answer(blocks=(Text("denied" if seen.failed else "allowed:proceed_once"),))


def diff(seen: Seen) -> Answer:
    if not seen.results:
        return Answer(blocks=(use("Write", file_path=f"{DIFF_FILE}-{uuid.uuid4().hex}.txt", content="b\n"),))
    return Answer(blocks=(Text("diff:failed" if seen.failed else "diff:proceed_once"),))


def plan(seen: Seen) -> Answer:
    done = len(seen.results)
    if done > len(PLAN_STEPS):
        return Answer(blocks=(Text("plan done"),))
    todos = [
        {
            "content": step,
            "activeForm": step,
            "status": "completed" if n < done else "in_progress" if n == done else "pending",
        }
        for n, step in enumerate(PLAN_STEPS)
    ]
    return Answer(blocks=(use("TodoWrite", todos=todos),))


def long(seen: Seen) -> Answer:
    return Answer(blocks=(Text("".join(f"tick {n:03} " for n in range(600))),), piece=9, delay=0.05)


def error(seen: Seen) -> Answer:
    return fail(400, "invalid_request", "model backend failed: scripted failure")


def fs_read(seen: Seen) -> Answer:
    if not seen.results:
        return Answer(blocks=(use("Read", file_path=seen.rest),))
    if seen.failed:
        return Answer(blocks=(Text(f"fs-error:{seen.last}"),))
    lines = [re.sub(r"^\s*\d+[→\t]", "", line) for line in seen.last.split("\n<system-reminder>")[0].splitlines()]
    return Answer(blocks=(Text("file:" + "\n".join(lines)),))


def fs_write(seen: Seen) -> Answer:
    if not seen.results:
        return Answer(blocks=(use("Write", file_path=seen.rest, content="written by agent\n"),))
    return Answer(blocks=(Text(f"wrote:{seen.last}"),))


def question(seen: Seen) -> Answer:
    if seen.results:
        return Answer(blocks=(Text(f"answers:{seen.last}"),))
    options = [{"label": "SQLite", "description": "one file"}, {"label": "Postgres", "description": "a server"}]
    asked = {"question": "Which database?", "header": "DB", "multiSelect": False, "options": options}
    return Answer(blocks=(use("AskUserQuestion", questions=[asked]),))


def plan_exit(seen: Seen) -> Answer:
    if seen.results:
        return Answer(blocks=(Text(f"plan-approved:{not seen.failed}"),))
    return Answer(blocks=(use("ExitPlanMode", plan="# Plan\n1. one\n2. two\n"),))


def burst(seen: Seen) -> Answer:
    return Answer(blocks=tuple(Text(f"{n},") for n in range(int(seen.rest or "200"))))


def overlap(seen: Seen) -> Answer:
    """A subagent talks while the main agent waits for a file of the client's."""
    if not seen.results:
        child = use(
            "Agent",
            description="Count",
            prompt="CHILDTICKS",
            subagent_type="general-purpose",
            run_in_background=True,
        )
        return Answer(blocks=(child, use("Read", file_path=seen.rest)))
    return Answer(blocks=(Text("x"),), delay=0.2)


def subagent(seen: Seen) -> Answer:
    if not seen.results:
        return Answer(blocks=(use("Agent", description="Greet", prompt="CHILDHI", subagent_type="general-purpose"),))
    return Answer(blocks=(Text("done"),))


def terminal(seen: Seen) -> Answer:
    if not seen.results:
        return Answer(blocks=(use("Bash", command="echo one; echo two", description="Count"),))
    return Answer(blocks=(Text(f"ran:{seen.last}"),))


SCRIPTS: dict[str, Callable[[Seen], Answer]] = {
    "STREAM": stream,
    "PERMISSION": permission,
    "DIFF": diff,
    "PLAN": plan,
    "LONG": long,
    "ERROR": error,
    "FSREAD": fs_read,
    "FSWRITE": fs_write,
    "QUESTION": question,
    "PLANEXIT": plan_exit,
    "BURST": burst,
    "OVERLAP": overlap,
    "SUBAGENT": subagent,
    "TERMINAL": terminal,
    "ECHO": lambda seen: Answer(blocks=(Text("blocks:" + ",".join(dict.fromkeys(seen.kinds))),)),
    "NEWKINDS": lambda seen: Answer(blocks=(Text("still alive"),)),
    "CHILDHI": lambda seen: Answer(blocks=(Text("child says hi"),)),
    "CHILDTICKS": lambda seen: Answer(blocks=tuple(Text(f"{n},") for n in range(99))),
}


def script(body: Json) -> Answer:
    seen = Seen(body)
    found = SCRIPTS.get(seen.word)
    return found(seen) if found else Answer(blocks=(Text("Hello from the scripted agent."),))


if __name__ == "__main__":
    import anyio

    async def serve() -> None:
        async with FakeAnthropic(script, models=("fake-1", "fake-2")) as server:
            print(json.dumps(server.env()), flush=True)  # noqa: T201 - a person reads it
            await anyio.sleep_forever()

    anyio.run(serve)
