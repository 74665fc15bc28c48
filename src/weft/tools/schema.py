"""JSON schemas for models, derived from argument structs.

msgspec writes `$ref` and `$defs`, which some providers refuse: references are put in place, titles dropped. An
argument that may be left out is shown as its plain type: no union with null, no default of null.
"""

from functools import cache
from typing import Any, cast

import msgspec

from weft.schema.content import Json


def _inline(node: Any, defs: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, defs) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    found = cast("dict[str, Any]", node)
    if "$ref" in found:
        target = defs[str(found["$ref"]).rsplit("/", 1)[-1]]
        return _inline({**target, **{key: value for key, value in found.items() if key != "$ref"}}, defs)
    kept = {key: _inline(value, defs) for key, value in found.items() if key not in ("title", "$defs")}
    # Inside "properties" the keys are names of arguments, whatever they are called.
    if isinstance(found.get("properties"), dict):
        properties = cast("dict[str, Any]", found["properties"])
        kept["properties"] = {name: _plain(_inline(value, defs)) for name, value in properties.items()}
    return kept


def _plain(node: dict[str, Any]) -> dict[str, Any]:
    choices = cast("list[dict[str, Any]]", node.get("anyOf") or [])
    real = [choice for choice in choices if choice.get("type") != "null"]
    rest = {key: value for key, value in node.items() if key != "default" or value is not None}
    if len(real) == 1 and len(real) < len(choices):
        rest.pop("anyOf")
        rest = {**real[0], **rest}
    if all(isinstance(value, str) for value in rest.get("enum", [None])):
        rest["type"] = "string"
    return rest


def inlined(whole: Json) -> Json:
    """A schema without references, with everything in its place."""
    return _inline(whole, cast("dict[str, Any]", whole.get("$defs", {})))


@cache
def schema_of(args: type[msgspec.Struct]) -> Json:
    """An object schema without references. Unknown properties are refused."""
    whole = msgspec.json.schema(args, schema_hook=lambda _kind: {"description": "any JSON value"})
    schema = inlined(whole)
    schema.pop("description", None)
    schema["additionalProperties"] = False
    # Defaults become what JSON makes of them.
    return msgspec.json.decode(msgspec.json.encode(schema), type=dict[str, object])
