"""JSON schemas for models, derived from argument structs.

msgspec writes `$ref` and `$defs`, which some providers refuse: references are put in place, titles dropped.
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
    return {key: _inline(value, defs) for key, value in found.items() if key not in ("title", "$defs")}


@cache
def schema_of(args: type[msgspec.Struct]) -> Json:
    """An object schema without references. Unknown properties are refused."""
    whole = msgspec.json.schema(args, schema_hook=lambda _kind: {})
    schema = _inline(whole, whole.get("$defs", {}))
    schema.pop("description", None)
    schema["additionalProperties"] = False
    return schema
