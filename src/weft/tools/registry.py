"""The built-in tools. Their names, manuals and schemas come from one table; a tool's module is imported when the
tool is first used, so that a start costs one small file and not thirty imports.

The table (`table.json`) is written by `python -m weft.tools.registry`, and a test holds it to the modules.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import msgspec

from weft.schema.content import Json
from weft.schema.display import Display
from weft.schema.events import ToolKind
from weft.tools.port import AnyTool, Result, Tool, ToolContext

MODULES: Mapping[str, str] = {
    "ApplyPatch": "apply_patch",
    "AskUserQuestion": "ask_user_question",
    "Bash": "bash",
    "Edit": "edit",
    "EnterPlanMode": "enter_plan_mode",
    "ExitPlanMode": "exit_plan_mode",
    "Glob": "glob",
    "Grep": "grep",
    "LS": "ls",
    "MultiEdit": "multi_edit",
    "NotebookEdit": "notebook_edit",
    "Read": "read",
    "Task": "task",
    "TaskOutput": "task_output",
    "TaskStop": "task_stop",
    "TodoWrite": "todo_write",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Write": "write",
}
"""Tools that need nothing but their context, by name. Their class has the tool's name. Skill, StructuredOutput and
ToolSearch are made for a session, by who composes it."""

BY_NAME_ONLY = frozenset({"ApplyPatch", "LS", "MultiEdit"})
"""Offered when they are asked for: what they do can be done with the others, and each manual costs tokens."""

_TABLE = Path(__file__).with_name("table.json")


class Entry(msgspec.Struct, frozen=True):
    """What is known of a tool without its module."""

    name: str
    manual: str
    input_schema: Json
    aliases: tuple[str, ...] = ()
    kind: ToolKind = "other"
    group: str = "other"
    read_only: bool = False
    deferred: bool = False


class LazyTool(Tool[Any]):
    """Stands for a built-in tool until it is used."""

    args = msgspec.Struct
    entry: Entry

    @property
    def manual(self) -> str:
        return self.entry.manual

    @property
    def input_schema(self) -> Json:
        return self.entry.input_schema

    @property
    def real(self) -> AnyTool:
        return load(self.entry.name)

    def decode(self, value: Json) -> Any:
        return self.real.decode(value)

    def is_read_only(self, args: Any) -> bool:
        return self.real.is_read_only(args)

    def title(self, args: Any) -> str:
        return self.real.title(args)

    def paths(self, args: Any) -> tuple[str, ...]:
        return self.real.paths(args)

    async def preview(self, args: Any, context: ToolContext) -> tuple[Display, ...]:
        return await self.real.preview(args, context)

    async def run(self, args: Any, context: ToolContext) -> Result:
        return await self.real.run(args, context)


@cache
def load(name: str) -> AnyTool:
    """The tool itself."""
    module = import_module(f"weft.tools.{MODULES[name]}")
    return cast("AnyTool", getattr(module, name)())


def _lazy(entry: Entry) -> AnyTool:
    attributes = {
        "entry": entry,
        "name": entry.name,
        "aliases": entry.aliases,
        "kind": entry.kind,
        "group": entry.group,
        "read_only": entry.read_only,
        "deferred": entry.deferred,
        "__module__": __name__,
    }
    return type(entry.name, (LazyTool,), attributes)()


@cache
def builtin_tools() -> tuple[AnyTool, ...]:
    """Every tool of `MODULES`, in the order of their names."""
    entries = msgspec.json.decode(_TABLE.read_bytes(), type=tuple[Entry, ...])
    return tuple(_lazy(entry) for entry in entries)


@cache
def _usual() -> tuple[AnyTool, ...]:
    return tuple(tool for tool in builtin_tools() if tool.name not in BY_NAME_ONLY)


def built_in(names: Sequence[str] | None = None) -> tuple[AnyTool, ...]:
    """These tools, by name or alias; the usual set when None. A name that is not ours is somebody else's."""
    if names is None:
        return _usual()
    wanted = set(names)
    return tuple(tool for tool in builtin_tools() if wanted & {tool.name, *tool.aliases})


def find(tools: Sequence[AnyTool], name: str) -> AnyTool | None:
    """By name, else by alias."""
    by_name = next((tool for tool in tools if tool.name == name), None)
    return by_name or next((tool for tool in tools if name in tool.aliases), None)


def describe(tool: AnyTool) -> Entry:
    return Entry(
        tool.name,
        tool.manual,
        tool.input_schema,
        tool.aliases,
        tool.kind,
        tool.group,
        tool.read_only,
        tool.deferred,
    )


def encode_table() -> bytes:
    entries = [describe(load(name)) for name in sorted(MODULES)]
    return msgspec.json.format(msgspec.json.encode(entries), indent=1) + b"\n"


if __name__ == "__main__":
    _TABLE.write_bytes(encode_table())
