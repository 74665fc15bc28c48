"""The minimal valid shapes that a server's lists and results are brought to; what came is kept beside them."""

from typing import cast

from weft.schema.content import Json

RAW = "weft/raw"
"""The key in `_meta` under which an item is kept as it came."""
MAX_ITEMS = 2000
"""Of one page; more is a flood."""

_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_RESULTS = {"tools/call": "content", "prompts/get": "messages", "resources/read": "contents"}
_KEPT = ("resultType", "ttlMs", "cacheScope", "nextCursor", "requestState", "inputRequests")

SCREENED = {*_LISTS, *_RESULTS, "initialize"}


def screened(method: str, result: Json) -> Json:
    """The minimal valid shape of a result, with what came kept under `RAW`."""
    if method == "initialize":
        return _initialized(result)
    if method in _RESULTS:
        if result.get("resultType", "complete") != "complete":
            return result
        return {**_kept(result), _RESULTS[method]: [], "_meta": {RAW: result}}
    key = _LISTS[method]
    items = result.get(key)
    found = cast("list[object]", items)[:MAX_ITEMS] if isinstance(items, list) else []
    shaped = [shape for shape in (_item(key, cast("Json", item)) for item in found if isinstance(item, dict)) if shape]
    return {**_kept(result), key: shaped}


def _kept(result: Json) -> Json:
    kept = {key: result[key] for key in _KEPT if result.get(key) is not None}
    if not isinstance(kept.get("nextCursor", ""), str):
        del kept["nextCursor"]
    return kept


def _item(key: str, raw: Json) -> Json | None:
    """One entry of a list, or None for one that cannot be used at all."""
    meta = {RAW: raw}
    name = raw.get("name")
    if key == "resources":
        return {"uri": raw["uri"], "name": _name(raw), "_meta": meta} if _is_uri(raw.get("uri")) else None
    if key == "resourceTemplates":
        template = raw.get("uriTemplate")
        ok = isinstance(template, str) and template
        return {"uriTemplate": template, "name": _name(raw), "_meta": meta} if ok else None
    if not isinstance(name, str) or not name or len(name) > 512:
        return None
    if key == "prompts":
        return {"name": name, "_meta": meta}
    return {"name": name, "inputSchema": object_schema(raw.get("inputSchema")), "_meta": meta}


def _name(raw: Json) -> str:
    name = raw.get("name")
    return name if isinstance(name, str) and name else "unnamed"


def _is_uri(value: object) -> bool:
    return isinstance(value, str) and ":" in value and len(value) < 8192


def object_schema(value: object) -> Json:
    """A schema with `type: object` at its root, whatever was sent. Alternatives at the root, which providers refuse,
    are flattened: all their properties, and as required what every one of them requires."""
    schema = dict(cast("Json", value)) if isinstance(value, dict) else {}
    for word in ("anyOf", "oneOf", "allOf"):
        parts = schema.pop(word, None)
        if not isinstance(parts, list):
            continue
        tables = [cast("Json", part) for part in cast("list[object]", parts) if isinstance(part, dict)]
        properties: Json = {}
        for table in tables:
            properties.update(_table(table.get("properties")))
        schema["properties"] = {**properties, **_table(schema.get("properties"))}
        required = [_names(table.get("required")) for table in tables]
        every = set[str]().union(*required)
        if word != "allOf":
            every = every.intersection(*required)
        if every:
            schema["required"] = sorted(every | _names(schema.get("required")))
    schema["type"] = "object"
    if not isinstance(schema.get("properties"), dict):
        schema["properties"] = {}
    if not isinstance(schema.get("required", []), list):
        del schema["required"]
    return schema


def _table(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _names(value: object) -> set[str]:
    return {item for item in cast("list[object]", value) if isinstance(item, str)} if isinstance(value, list) else set()


def _initialized(result: Json) -> Json:
    info = _table(result.get("serverInfo"))
    clean: Json = {
        "name": info.get("name") if isinstance(info.get("name"), str) else "unnamed",
        "version": info.get("version") if isinstance(info.get("version"), str) else "",
    }
    if isinstance(info.get("title"), str):
        clean["title"] = info["title"]
    found: Json = {
        "protocolVersion": result.get("protocolVersion"),
        "capabilities": {key: _table(value) for key, value in _table(result.get("capabilities")).items()},
        "serverInfo": clean,
    }
    if isinstance(result.get("instructions"), str):
        found["instructions"] = result["instructions"]
    return found
