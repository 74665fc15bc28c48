"""Conversations as a session would have them, for the tests of the profile."""

from weft.schema.content import Json, Text, ToolResult, ToolUse
from weft.schema.messages import Message, Request, ToolSpec

TOOLS = ("Bash", "Edit", "Glob", "Grep", "Read", "Write")


def prompt(text: str) -> Message:
    return Message("user", (Text(text),))


def called(name: str, result: str, *, id: str, failed: bool = False, **given: object) -> tuple[Message, Message]:
    input: Json = dict(given)
    return (
        Message("assistant", (ToolUse(id, name, input),)),
        Message("user", (ToolResult(id, result, failed),)),
    )


def listed(*paths: str) -> tuple[Message, Message]:
    return called("Glob", "\n".join(paths) or "No files found", id="toolu_look_0", pattern="**/*")


def shown(path: str, text: str, id: str = "toolu_look_1") -> tuple[Message, Message]:
    lines = "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), 1))
    return called("Read", lines, id=id, file_path=path)


def request(*messages: Message, tools: tuple[str, ...] = TOOLS) -> Request:
    return Request("tiny", messages, tools=tuple(ToolSpec(name, "", {}) for name in tools), max_tokens=4000)
