"""`@weft.tool`: a Python function becomes a tool.

Its arguments come from its annotations, its manual from its docstring.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeGuard, cast, get_type_hints, overload

import msgspec

from weft.errors import ToolError
from weft.schema.content import Block, Content, Json, Text, Unknown
from weft.schema.events import ToolKind
from weft.schema.wire import encode
from weft.tools.port import Result, Tool, ToolContext

Function = Callable[..., Awaitable[Any]]


class FunctionTool(Tool[Any]):
    """A tool whose `run` is somebody's function. It is still called like the function."""

    def __init__(self, function: Function, name: str, manual: str) -> None:
        self.args = _arguments(function, name)
        self._manual = manual
        self._function = function
        self.wants_context = "context" in inspect.signature(function).parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        return self._function(*args, **kwargs)

    @property
    def manual(self) -> str:
        return self._manual

    async def call(self, value: Json) -> Any:
        """The function with arguments from JSON, checked; for callers that have no context to give."""
        args = self.decode(value)
        return await self._function(**{field: getattr(args, field) for field in self.args.__struct_fields__})

    async def run(self, args: Any, context: ToolContext) -> Result:
        given = {field: getattr(args, field) for field in self.args.__struct_fields__}
        if self.wants_context:
            given["context"] = context
        return to_result(await self._function(**given))


def _arguments(function: Function, name: str) -> type[msgspec.Struct]:
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "context":
            continue
        if parameter.name not in hints:
            raise TypeError(f"@tool {name}: the argument {parameter.name!r} has no annotation")
        if parameter.default is inspect.Parameter.empty:
            fields.append((parameter.name, hints[parameter.name]))
        else:
            fields.append((parameter.name, hints[parameter.name], parameter.default))
    return msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)


def to_result(value: Any) -> Result:
    """What a function may return: a `Result`, text, content blocks, or anything that JSON can hold."""
    if isinstance(value, Result):
        return value
    if value is None:
        return Result(content="(done)")
    if isinstance(value, str):
        return Result(content=value)
    if _is_content(value):
        return Result(content=value)
    try:
        return Result(content=(Text(encode(value).decode()),), data=value)
    except TypeError as error:
        raise ToolError(f"The tool returned something that cannot be told to a model: {error}") from None


def _is_content(value: object) -> TypeGuard[Content]:
    if not isinstance(value, tuple) or not value:
        return False
    return all(isinstance(item, Block | Unknown) for item in cast("tuple[object, ...]", value))


@overload
def tool(function: Function, /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    manual: str | None = None,
    read_only: bool = False,
    kind: ToolKind = "other",
    group: str = "other",
) -> Callable[[Function], FunctionTool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    manual: str | None = None,
    read_only: bool = False,
    kind: ToolKind = "other",
    group: str = "other",
) -> FunctionTool | Callable[[Function], FunctionTool]:
    """Makes a tool of an async function, with or without arguments to the decorator.

    `read_only` says that it changes nothing: it may run beside others, and passes in every mode.
    """

    def make(target: Function) -> FunctionTool:
        chosen = name or target.__name__
        words = manual or inspect.getdoc(target) or ""
        if not words:
            raise TypeError(f"@tool {chosen}: a docstring (or manual=) must say what it does; the model reads it")
        variables = {"name": chosen, "read_only": read_only, "kind": kind, "group": group}
        return type(chosen, (FunctionTool,), variables)(target, chosen, words)

    return make(function) if function is not None else make
