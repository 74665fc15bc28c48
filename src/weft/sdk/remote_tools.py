"""Functions of the host's process as tools and hooks of a session in a child."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, Union, cast

import msgspec

from weft.protocols.session_lines import HookCall, OwnTool, ToolCall
from weft.schema.content import Json
from weft.schema.display import DiffView, Display
from weft.schema.events import ToolKind
from weft.schema.wire import content_from
from weft.sdk.options import HookFunction
from weft.serve.session_lines import AskHost
from weft.settings.layers import is_object
from weft.tools.port import Result, Tool, ToolContext


class _Answer(msgspec.Struct):
    """A `Result` without its content."""

    is_error: bool = False
    display: tuple[Display, ...] = ()
    data: object = None
    edits: tuple[DiffView, ...] = ()
    ends_turn: bool = False
    structured: object = None
    final: bool = False
    interrupt: bool = False


class RemoteTool(Tool[Any]):
    """A tool whose function runs in the host's process. Wrong arguments are refused here already."""

    def __init__(self, told: OwnTool, ask: AskHost) -> None:
        self.args = arguments_of(told.name, told.input_schema)
        self._told = told
        self._ask = ask

    @property
    def manual(self) -> str:
        return self._told.manual

    @property
    def input_schema(self) -> Json:
        return self._told.input_schema

    async def run(self, args: Any, context: ToolContext) -> Result:
        given = context.use.input
        value = await self._ask(lambda number: ToolCall(number, self.name, given))
        found = value if is_object(value) else {}
        rest = msgspec.convert({key: item for key, item in found.items() if key != "content"}, _Answer)
        return Result(content=content_from(found.get("content", "")), **msgspec.structs.asdict(rest))


def remote_tool(told: OwnTool, ask: AskHost) -> RemoteTool:
    variables = {"name": told.name, "read_only": told.read_only, "kind": _kind(told.kind), "group": told.group}
    return type(told.name, (RemoteTool,), variables)(told, ask)


def _kind(name: str) -> ToolKind:
    return msgspec.convert(name, ToolKind)


def remote_hooks(hooks: Mapping[str, tuple[str, ...]], ask: AskHost) -> dict[str, list[HookFunction]]:
    return {
        event: [_hook(event, index, name, ask) for index, name in enumerate(names)] for event, names in hooks.items()
    }


def _hook(event: str, index: int, name: str, ask: AskHost) -> HookFunction:
    async def function(given: Json, tool_use_id: str | None) -> Json | None:
        value = await ask(lambda number: HookCall(number, event, index, given, tool_use_id))
        return value if is_object(value) else None

    function.__name__ = name
    return cast("Callable[[Json, str | None], Awaitable[Json | None]]", function)


_PLAIN: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}
_LIMITS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minItems": "min_length",
    "maxItems": "max_length",
}


def arguments_of(name: str, schema: Json) -> type[msgspec.Struct]:
    """The struct that has this schema, as far as a schema tells. What it cannot tell, the function's own types check
    in the host's process."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = cast("list[object]", required) if isinstance(required, list) else []
    fields: list[Any] = []
    for field, value in properties.items() if is_object(properties) else ():
        kind = _type_of(f"{name}_{field}", value)
        # Whether an argument that may be left out may also be null is not told: the host knows.
        fields.append((field, kind) if field in needed else (field, Union[kind, None], None))  # noqa: UP007
    return msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)


def _type_of(name: str, schema: object) -> Any:
    if not is_object(schema):
        return Any
    choices = schema.get("enum")
    if isinstance(choices, list):
        return Literal[tuple(cast("list[str]", choices))]
    several = schema.get("anyOf")
    if isinstance(several, list):
        return Union[tuple(_type_of(name, one) for one in cast("list[object]", several))]  # noqa: UP007
    limits: Any = {_LIMITS[key]: value for key, value in schema.items() if key in _LIMITS}
    match schema.get("type"):
        case "array":
            kind = list[_type_of(name, schema.get("items"))]
        case "object" if "properties" in schema:
            return arguments_of(name, schema)
        case "object":
            return dict[str, _type_of(name, schema.get("additionalProperties"))]
        case str(word) if word in _PLAIN:
            kind = _PLAIN[word]
        case _:
            return Any
    return Annotated[kind, msgspec.Meta(**limits)] if limits else kind
