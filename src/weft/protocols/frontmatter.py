"""Front matter: the YAML between two `---` lines at the top of a Markdown file, as people really write it.

Words such as on, off, yes and no stay strings. A block that is not YAML (most often for a colon in an unquoted
value) is read line by line as `key: value`, so that a file is never lost for one careless line.
"""

import re
from importlib import import_module
from typing import Any, Final, cast

from weft.schema.content import Json

_FENCE: Final = r"(?sm)\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)"
_LINE: Final = r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$"
_ITEM: Final = r"[ \t]*-[ \t]+(.*)$"
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0", ""})
_BOOL: Final = "tag:yaml.org,2002:bool"
_LEFT_OUT: Final = (_BOOL, "tag:yaml.org,2002:timestamp")
MAX_SIZE: Final = 64 * 1024


def split(text: str) -> tuple[Json, str]:
    """The fields and the body. Without front matter: no fields, and the text as it is. Never raises."""
    found = re.match(_FENCE, text)
    if found is None:
        return {}, text.removeprefix("\ufeff")
    body = text[found.end() :]
    block = found[1]
    if not block.strip():
        return {}, body
    return _fields(block), body


def _fields(block: str) -> Json:
    if len(block) <= MAX_SIZE and "&" not in block and "*" not in block:
        simple = _plain(block)
        if simple is not None:
            return simple
    if len(block) <= MAX_SIZE:
        try:
            value = _load_yaml(block)
        except ValueError:
            value = None
        if isinstance(value, dict):
            return {str(key): item for key, item in cast(dict[Any, object], value).items()}
    return _by_line(block)


def _plain(block: str) -> Json | None:
    """The common case, `key: word words`, read without loading a YAML parser; None when there is more to it."""
    fields: Json = {}
    for line in block.splitlines():
        found = re.match(_LINE, line)
        if found is None or found[2] is None or not found[2].strip():
            return None
        value = found[2].strip()
        if value[0] in "\"'[{|>!&*%@`#-?" or ": " in value or " #" in value or value.endswith(":"):
            return None
        fields[found[1]] = _scalar(value)
    return fields


def _scalar(value: str) -> object:
    if value in ("true", "True"):
        return True
    if value in ("false", "False"):
        return False
    if value in ("null", "~"):
        return None
    if re.fullmatch(r"-?(?:0|[1-9][0-9]{0,15})", value):
        return int(value)
    return value


def _load_yaml(block: str) -> object:
    """Safe, without aliases (a small file can be a large value) and without the words that YAML 1.1 turns into
    truth values or dates.

    Raises:
        ValueError: not YAML, or more of it than front matter needs.
    """
    yaml: Any = import_module("yaml")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, yaml.SafeLoader)):
            raise ValueError("aliases are not read")
        loader = yaml.SafeLoader(block)
        loader.yaml_implicit_resolvers = _resolvers(loader.yaml_implicit_resolvers)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except (yaml.YAMLError, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from error


def _resolvers(known: dict[str, list[tuple[str, Any]]]) -> dict[str, list[tuple[str, Any]]]:
    kept = {first: [pair for pair in pairs if pair[0] not in _LEFT_OUT] for first, pairs in known.items()}
    for first in "tTfF":
        kept[first] = [(_BOOL, re.compile(r"(?:true|True|false|False)$")), *kept.get(first, [])]
    return kept


def _by_line(block: str) -> Json:
    """`key: value` lines, and `- item` lines under a key without a value. What is neither is left out."""
    fields: Json = {}
    items: list[object] | None = None
    for line in block.splitlines():
        item = re.match(_ITEM, line)
        if item is not None and items is not None:
            items.append(_unquoted(item[1]))
            continue
        found = re.match(_LINE, line)
        if found is None:
            continue
        value = (found[2] or "").strip()
        if value:
            fields[found[1]], items = _scalar(_unquoted(value)), None
        else:
            items = []
            fields[found[1]] = items
    return fields


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


# --- reading a field ----------------------------------------------------------------------------------------


def text(fields: Json, *names: str) -> str:
    """The first of the named fields that is there, as text; empty otherwise."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str):
            return value.strip()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return ""


def words(fields: Json, *names: str) -> tuple[str, ...] | None:
    """A list, or a text of items with commas between them (not those in brackets); None when it is not there."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, list | tuple):
            return tuple(str(item).strip() for item in cast(list[object], value) if isinstance(item, str | int))
        if isinstance(value, str):
            inner = value.strip()
            if inner.startswith("[") and inner.endswith("]"):
                inner = inner[1:-1]
            return tuple(_unquoted(part) for part in _commas(inner) if part.strip())
    return None


def _commas(value: str) -> list[str]:
    parts, depth, start = list[str](), 0, 0
    for index, letter in enumerate(value):
        if letter in "({":
            depth += 1
        elif letter in ")}" and depth:
            depth -= 1
        elif letter == "," and not depth:
            parts.append(value[start:index])
            start = index + 1
    return [*parts, value[start:]]


def flag(fields: Json, *names: str, default: bool = False) -> bool:
    """A truth value in any of the spellings that people use."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, bool):
            return value
        if isinstance(value, str | int):
            word = str(value).strip().lower()
            if word in _TRUE:
                return True
            if word in _FALSE:
                return False
    return default
