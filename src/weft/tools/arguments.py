"""A model's arguments: read leniently where the meaning is plain, refused with a sentence where it is not."""

import re
from functools import cache
from typing import TypeVar, cast

import msgspec

from weft.schema.content import Json
from weft.tools.port import AnyTool

A = TypeVar("A", bound=msgspec.Struct)

_AT = r" - at `\$\.?(.*)`$"
_MISSING = r"missing required field `(.+?)`"


def decode(args: type[A], value: Json, aliases: tuple[tuple[str, str], ...] = ()) -> A:
    """The struct. Numbers and booleans may come as strings, lists and objects as JSON in a string.

    `aliases` are other spellings of an argument's name, taken when the right one is absent.

    Raises:
        msgspec.ValidationError: something is missing, unknown or of the wrong type.
    """
    known = _names(args)
    for other, name in aliases:
        if other in value and name not in value:
            value = {(name if key == other else key): item for key, item in value.items()}
    value = {key: item for key, item in value.items() if item is not None or key in known}
    unknown = [key for key in value if key not in known]
    try:
        found = _convert(args, value)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(str(error) + _strangers(unknown, known)) from error
    if unknown:
        raise msgspec.ValidationError(_strangers(unknown, known).strip())
    return found


@cache
def _names(args: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(args)]


def _convert(args: type[A], value: Json) -> A:
    try:
        return msgspec.convert(value, args, strict=False)
    except msgspec.ValidationError as error:
        opened = {key: _opened(item) for key, item in value.items()}
        if opened == value:
            raise
        try:
            return msgspec.convert(opened, args, strict=False)
        except msgspec.ValidationError:
            raise error from None


def _opened(item: object) -> object:
    if isinstance(item, str) and item[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(item)
        except msgspec.DecodeError:
            return item
    return item


def _strangers(unknown: list[str], known: list[str]) -> str:
    if not unknown:
        return ""
    from difflib import get_close_matches

    words: list[str] = []
    for key in unknown:
        close = get_close_matches(key, known, 1, 0.5) or [name for name in known if key in name.split("_")]
        words.append(f"there is no argument `{key}`" + (f" (did you mean `{close[0]}`?)" if close else ""))
    return " " + "; ".join(words)


def explain(error: msgspec.ValidationError, tool: AnyTool) -> str:
    """One sentence that a model can act on: what is wrong with its call, and what the tool takes."""
    text = str(error)
    missing = re.search(_MISSING, text)
    where = re.search(_AT, text)
    if missing:
        inside = f" of `{where[1]}`" if where and where[1] else ""
        rest = text[missing.end() :] if not where else text[missing.end() : where.start()]
        problem = f"the argument `{missing[1]}`{inside} is missing{_joined(rest)}"
    elif where and where[1]:
        problem = f"the argument `{where[1]}` is wrong: {_lower(text[: where.start()])}"
    else:
        problem = _lower(text)
    return f"{tool.name} was not run: {problem}. It takes {_signature(tool.input_schema)}."


def _joined(rest: str) -> str:
    return f"; {rest.strip()}" if rest.strip() else ""


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _signature(schema: Json) -> str:
    properties = cast("dict[str, dict[str, object]]", schema.get("properties") or {})
    required = cast("list[str]", schema.get("required") or [])
    names = [f"{name} ({'required' if name in required else 'optional'})" for name in properties]
    return ", ".join(names) or "no arguments"
