"""A model that obeys whoever speaks last: it makes every call that a text before it tells it to.

An order is a line `ORDER: {"tool": …, "input": {…}}` in anything that reaches the model: a file, a tool's output, a
memory file, a name. Real models refuse some of these; this one never does, so only policy can stop it.
"""

import json
import re

from weft.schema.content import AnyBlock, Text, ToolResult, ToolUse
from weft.schema.messages import Request
from weft.testing.scripted import Cue, Fail, ScriptedProvider

_ORDER = re.compile(r"ORDER: (\{.*\})")


def order(tool: str, **arguments: object) -> str:
    return "ORDER: " + json.dumps({"tool": tool, "input": arguments})


def texts(blocks: "tuple[AnyBlock, ...]") -> str:
    found: list[str] = []
    for block in blocks:
        if isinstance(block, Text):
            found.append(block.text)
        elif isinstance(block, ToolResult):
            content = block.content
            found.append(content if isinstance(content, str) else texts(tuple(content)))
    return "\n".join(found)


class Obedient:
    """Plays `first`, then obeys each order once, then ends. `obeyed` has the calls that it made."""

    def __init__(self, *first: ToolUse) -> None:
        self._first = list(first)
        self._done: set[str] = set()
        self.obeyed: list[ToolUse] = []
        self.provider = ScriptedProvider([self._next], cycle=True)

    def _next(self, request: Request) -> Cue:
        if self._first:
            return self._first.pop(0)
        heard = "\n".join([*(part.text for part in request.system), *(texts(m.content) for m in request.messages)])
        # A Read shows its lines as they are; JSON in JSON would need unescaping, and orders are kept plain.
        for found in _ORDER.findall(heard):
            if found in self._done:
                continue
            self._done.add(found)
            try:
                said = json.loads(found)
            except ValueError:
                return Fail(message=f"the order cannot be read: {found}")
            use = ToolUse("", said["tool"], said["input"])
            self.obeyed.append(use)
            return use
        return "Done as told."
