"""Checks values against a server's JSON schemas, within limits: a schema is input too.

Nothing is fetched, regular expressions are left out (one can run for years), and a schema whose references multiply
beyond a bound is not evaluated at all.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

from weft.schema.content import Json

MAX_DEPTH = 64
MAX_COST = 20_000
_SKIPPED = ("pattern", "patternProperties", "format")


class TooComplex(Exception):
    """The schema costs more to evaluate than it is worth."""


class _Error(Protocol):
    message: str
    absolute_path: Iterable[str | int]


def problem(schema: Json, value: object) -> str | None:
    """A sentence about what is wrong with the value, or None. A schema that cannot be used finds nothing wrong."""
    from jsonschema import SchemaError, exceptions
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    best = cast("Callable[[Iterable[Any]], _Error | None]", getattr(exceptions, "best_match"))  # noqa: B009
    try:
        plain = cast("Any", _bounded(schema, 0))
        _cost(plain)
        kind = validator_for(plain, default=Draft202012Validator)
        kind.check_schema(plain)
        found = best(kind(plain, registry=Registry()).iter_errors(cast("Any", value)))
    except (TooComplex, SchemaError, Unresolvable, RecursionError):
        return None
    if found is None:
        return None
    where = "/".join(str(part) for part in found.absolute_path)
    return f"{where or 'the value'}: {found.message[:300]}"


def _bounded(node: object, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise TooComplex
    if isinstance(node, dict):
        table = cast("Json", node)
        return {key: _bounded(item, depth + 1) for key, item in table.items() if key not in _SKIPPED}
    if isinstance(node, list):
        return [_bounded(item, depth + 1) for item in cast("list[object]", node)]
    return node


def _cost(schema: Json) -> None:
    """Counts nodes with references followed; shared ones count each time, as a validator would visit them."""
    known: dict[str, int] = {}
    open_refs: set[str] = set()

    def count(node: object) -> int:
        total = 1
        if isinstance(node, list):
            total += sum(count(item) for item in cast("list[object]", node))
        elif isinstance(node, dict):
            table = cast("Json", node)
            for key, item in table.items():
                if key in ("$ref", "$dynamicRef") and isinstance(item, str):
                    total += follow(item)
                elif key not in ("$defs", "definitions"):
                    total += count(item)
        if total > MAX_COST:
            raise TooComplex
        return total

    def follow(ref: str) -> int:
        if not ref.startswith("#") or ref in open_refs:
            return 1
        if ref not in known:
            open_refs.add(ref)
            known[ref] = count(_target(schema, ref))
            open_refs.discard(ref)
        return known[ref]

    count(schema)


def _target(schema: Json, ref: str) -> object:
    node: object = schema
    for part in ref.lstrip("#").strip("/").split("/"):
        if not part:
            continue
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = cast("Json", node).get(name)
        elif isinstance(node, list) and name.isdigit() and int(name) < len(cast("list[object]", node)):
            node = cast("list[object]", node)[int(name)]
        else:
            return None
    return node
