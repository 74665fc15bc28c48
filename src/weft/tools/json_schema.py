"""A value against a JSON schema: every problem as a sentence. The part of the standard that people write for outputs.

Formats and remote references are not looked at.
"""

import re
from collections.abc import Iterator
from typing import cast

from weft.schema.content import Json

MAX_PROBLEMS = 10
MAX_DEPTH = 60


def problems(value: object, schema: Json) -> list[str]:
    """What is wrong, the first few; empty when the value fits."""
    found: list[str] = []
    for problem in _check(value, schema, "the value", schema, 0):
        found.append(problem)
        if len(found) >= MAX_PROBLEMS:
            break
    return found


def _check(value: object, schema: object, where: str, root: Json, depth: int) -> Iterator[str]:
    if schema is False:
        yield f"{where} is not allowed"
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    rules = cast("Json", schema)
    if isinstance(rules.get("$ref"), str):
        yield from _check(value, _target(str(rules["$ref"]), root), where, root, depth + 1)
    kinds = rules.get("type")
    if kinds is not None:
        names = [str(kind) for kind in cast("list[object]", kinds)] if isinstance(kinds, list) else [str(kinds)]
        if not any(_is(value, name) for name in names):
            yield f"{where} must be {' or '.join(names)}, not {_kind(value)}"
            return
    if "enum" in rules and not any(_same(value, each) for each in cast("list[object]", rules["enum"])):
        yield f"{where} must be one of {rules['enum']}"
    if "const" in rules and not _same(value, rules["const"]):
        yield f"{where} must be {rules['const']!r}"
    yield from _combined(value, rules, where, root, depth)
    if isinstance(value, str):
        yield from _text(value, rules, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, rules, where)
    elif isinstance(value, list):
        yield from _list(cast("list[object]", value), rules, where, root, depth)
    elif isinstance(value, dict):
        yield from _object(cast("Json", value), rules, where, root, depth)


def _target(ref: str, root: Json) -> object:
    node: object = root
    for part in ref.removeprefix("#").strip("/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if key and isinstance(node, dict):
            node = cast("Json", node).get(key, {})
    return node


def _combined(value: object, rules: Json, where: str, root: Json, depth: int) -> Iterator[str]:
    for each in _schemas(rules, "allOf"):
        yield from _check(value, each, where, root, depth + 1)
    for key, exactly in (("anyOf", False), ("oneOf", True)):
        choices = _schemas(rules, key)
        if not choices:
            continue
        results = [list(_check(value, each, where, root, depth + 1)) for each in choices]
        fitting = sum(not result for result in results)
        if fitting == 0:
            nearest = min(results, key=len)
            yield f"{where} fits none of the {len(choices)} allowed forms; the nearest: {nearest[0]}"
        elif exactly and fitting > 1:
            yield f"{where} fits {fitting} of the allowed forms, and must fit one"
    if "not" in rules and not list(_check(value, rules["not"], where, root, depth + 1)):
        yield f"{where} has a form that is ruled out"


def _schemas(rules: Json, key: str) -> list[object]:
    found = rules.get(key)
    return cast("list[object]", found) if isinstance(found, list) else []


def _text(value: str, rules: Json, where: str) -> Iterator[str]:
    if len(value) < _limit(rules, "minLength", 0):
        yield f"{where} must have at least {rules['minLength']} characters"
    if len(value) > _limit(rules, "maxLength", float("inf")):
        yield f"{where} must have at most {rules['maxLength']} characters"
    pattern = rules.get("pattern")
    try:
        if isinstance(pattern, str) and not re.search(pattern, value):
            yield f"{where} must match {pattern}"
    except re.error:
        return


def _number(value: float, rules: Json, where: str) -> Iterator[str]:
    if value < _limit(rules, "minimum", float("-inf")):
        yield f"{where} must be at least {rules['minimum']}"
    if value > _limit(rules, "maximum", float("inf")):
        yield f"{where} must be at most {rules['maximum']}"
    if value <= _limit(rules, "exclusiveMinimum", float("-inf")):
        yield f"{where} must be more than {rules['exclusiveMinimum']}"
    if value >= _limit(rules, "exclusiveMaximum", float("inf")):
        yield f"{where} must be less than {rules['exclusiveMaximum']}"
    step = _limit(rules, "multipleOf", 0)
    if step > 0 and abs(value / step - round(value / step)) > 1e-9:
        yield f"{where} must be a multiple of {rules['multipleOf']}"


def _limit(rules: Json, key: str, default: float) -> float:
    found = rules.get(key)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else default


def _list(value: list[object], rules: Json, where: str, root: Json, depth: int) -> Iterator[str]:
    if len(value) < _limit(rules, "minItems", 0):
        yield f"{where} must have at least {rules['minItems']} items"
    if len(value) > _limit(rules, "maxItems", float("inf")):
        yield f"{where} must have at most {rules['maxItems']} items"
    if rules.get("uniqueItems") is True and any(
        _same(one, other) for index, one in enumerate(value[:1000]) for other in value[index + 1 : 1000]
    ):
        yield f"{where} must not have the same item twice"
    first = _schemas(rules, "prefixItems")
    for index, item in enumerate(value):
        inner = first[index] if index < len(first) else rules.get("items", {})
        yield from _check(item, inner, f"{where}[{index}]", root, depth + 1)


def _object(value: Json, rules: Json, where: str, root: Json, depth: int) -> Iterator[str]:
    found = rules.get("properties")
    properties = cast("Json", found) if isinstance(found, dict) else {}
    for name in _schemas(rules, "required"):
        if name not in value:
            yield f"{where} lacks {name!r}"
    found = rules.get("patternProperties")
    patterns = cast("Json", found) if isinstance(found, dict) else {}
    for name, item in value.items():
        below = name if where == "the value" else f"{where}.{name}"
        matching = [inner for pattern, inner in patterns.items() if re.search(pattern, name)]
        for inner in matching:
            yield from _check(item, inner, below, root, depth + 1)
        if name in properties:
            yield from _check(item, properties[name], below, root, depth + 1)
        elif not matching and rules.get("additionalProperties") is False:
            yield f"{where} must not have {name!r}"
        elif not matching:
            yield from _check(item, rules.get("additionalProperties", {}), below, root, depth + 1)
    if len(value) < _limit(rules, "minProperties", 0):
        yield f"{where} must have at least {rules['minProperties']} properties"
    if len(value) > _limit(rules, "maxProperties", float("inf")):
        yield f"{where} must have at most {rules['maxProperties']} properties"


def _is(value: object, kind: str) -> bool:
    match kind:
        case "integer":
            whole = isinstance(value, float) and value.is_integer()
            return (isinstance(value, int) or whole) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return _kind(value) == kind


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _same(one: object, other: object) -> bool:
    """JSON's equality: 1 and true differ."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
