"""A request read as a turn: the task, what was done for it, and the files as they are now.

Everything comes from the conversation itself, so a resumed session is read the same way, and nothing is kept between
requests.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Final

import msgspec

from weft.schema.content import Text, ToolResult, ToolUse, text_of
from weft.schema.messages import Message, Request

LOOK: Final = "toolu_look_"
"""How the ids of calls begin that the profile makes by itself."""
_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_NUMBERED: Final = re.compile(r"^\s*(\d+)\t(.*)$")


class Step(msgspec.Struct, frozen=True):
    """A call and what came of it."""

    use: ToolUse
    text: str
    failed: bool

    @property
    def looked(self) -> bool:
        """The profile made this call, not the model."""
        return self.use.id.startswith(LOOK)


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """`earlier` has the prompts before this one with what was answered to them."""

    task: str
    steps: tuple[Step, ...] = ()
    earlier: tuple[tuple[str, str], ...] = ()
    tools: frozenset[str] = frozenset()

    @property
    def acts(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if not step.looked)

    @property
    def looks(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.looked)


def read_turn(request: Request) -> Turn:
    tools = frozenset(tool.name for tool in request.tools)
    begins = [at for at, message in enumerate(request.messages) if _is_prompt(message)]
    if not begins:
        return Turn(task="", tools=tools)
    turns = [
        request.messages[start:end] for start, end in zip(begins, [*begins[1:], len(request.messages)], strict=True)
    ]
    return Turn(
        task=_prompt(turns[-1][0]),
        steps=_steps(turns[-1]),
        earlier=tuple((_prompt(turn[0]), _answer(turn)) for turn in turns[:-1]),
        tools=tools,
    )


def _is_prompt(message: Message) -> bool:
    if message.role != "user" or any(isinstance(block, ToolResult) for block in message.content):
        return False
    return bool(_prompt(message))


def _prompt(message: Message) -> str:
    return _REMINDER.sub("", message.text).strip()


def _answer(turn: Sequence[Message]) -> str:
    return next((m.text.strip() for m in reversed(turn) if m.role == "assistant" and m.text.strip()), "")


def _steps(turn: Sequence[Message]) -> tuple[Step, ...]:
    results = {
        block.tool_use_id: block for message in turn for block in message.content if isinstance(block, ToolResult)
    }
    steps: list[Step] = []
    for message in turn:
        for use in message.tool_uses:
            result = results.get(use.id)
            if result is not None:
                text = _REMINDER.sub("", text_of(result.content)).strip("\n")
                steps.append(Step(use, text, result.is_error))
    return tuple(steps)


class Files:
    """The files of the project as far as the conversation tells: their paths, and the text of those that were read,
    with the changes made since."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.paths: list[str] = []
        self.texts: dict[str, str] = {}
        self.whole: set[str] = set()
        """Those of which every line is known."""
        self.cwd = ""
        for step in steps:
            if not step.failed:
                self._follow(step)

    def _follow(self, step: Step) -> None:
        given = step.use.input
        path = self.short(_text(given.get("file_path")))
        match step.use.name:
            case "Glob":
                self._add(*(line for line in step.text.split("\n") if line and not line.startswith(("(", "No files"))))
            case "Read":
                self._add(path)
                self._read(path, step.text)
            case "Edit":
                every = given.get("replace_all") is True
                now = self.texts.get(path, "")
                old, new = _text(given.get("old_string")), _text(given.get("new_string"))
                self.texts[path] = now.replace(old, new, -1 if every else 1) if old else new
                self._add(path)
            case "Write":
                self._add(path)
                self.texts[path] = _text(given.get("content"))
                self.whole.add(path)
            case "Bash":
                self._command(_text(given.get("command")))
            case _:
                pass

    def _read(self, path: str, text: str) -> None:
        lines = [found[2] for line in text.split("\n") if (found := _NUMBERED.match(line))]
        self.texts[path] = "\n".join(lines)
        self.whole.discard(path)
        if not text.endswith(")") or "(Lines " not in text[-300:]:
            self.whole.add(path)

    def _command(self, command: str) -> None:
        """The two commands that the profile writes itself: see `actions`."""
        try:
            words = shlex.split(command)
        except ValueError:
            return
        if words[:2] == ["rm", "--"]:
            for path in words[2:]:
                self._drop(path)
        if words[:2] == ["mv", "--"] and len(words) == 4:
            text = self.texts.get(words[2])
            self._drop(words[2])
            self._add(words[3])
            if text is not None:
                self.texts[words[3]] = text

    def _add(self, *paths: str) -> None:
        self.paths += [path for path in paths if path and path not in self.paths]

    def _drop(self, path: str) -> None:
        self.paths = [one for one in self.paths if one != path]
        self.texts.pop(path, None)

    def short(self, path: str) -> str:
        """As the list of files has it, where the model gave it in a longer form."""
        if path in self.paths:
            return path
        return next((one for one in self.paths if path.endswith(f"/{one}")), path)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def user_message(text: str) -> Message:
    return Message("user", (Text(text),))


def assistant_message(text: str) -> Message:
    return Message("assistant", (Text(text),))
