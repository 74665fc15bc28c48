"""llama.cpp's grammar for the few schemas that we ask with: objects of constants, choices and strings.

The text that it allows is what `json.dumps` would write: one space after each comma and colon, nothing else. So the
model spends no tokens on white space, and an answer that is given back to it later is the same text.
"""

from collections.abc import Iterator
from typing import Final, cast

import msgspec

from weft.errors import LocalProtocolError
from weft.schema.content import Json

_STRING: Final = r'"\"" char* "\""'
_CHAR: Final = r"""[^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F])"""


def encode_grammar(schema: Json) -> str:
    """
    Raises:
        LocalProtocolError: the schema has something else.
    """
    rules = [f"root ::= {_value(schema)}", f"string ::= {_STRING}", f"char ::= {_CHAR}"]
    return "\n".join(rules) + "\n"


def _value(schema: Json) -> str:
    if "const" in schema:
        return _literal(schema["const"])
    choices = schema.get("enum")
    if isinstance(choices, list):
        return _choice(_literal(one) for one in cast(list[object], choices))
    several = schema.get("anyOf")
    if isinstance(several, list):
        return _choice(_value(cast(Json, one)) for one in cast(list[object], several))
    match schema.get("type"):
        case "object":
            return " ".join(_members(schema))
        case "string":
            return "string"
        case "integer":
            return '("-"? [0-9]+)'
        case "boolean":
            return '("true" | "false")'
        case other:
            raise LocalProtocolError(f"no grammar for a schema of type {other!r}")


def _members(schema: Json) -> Iterator[str]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        raise LocalProtocolError("no grammar for an object without properties")
    lead = "{"
    for name, one in cast(dict[str, Json], properties).items():
        yield _quoted(f"{lead}{_json(name)}: ")
        yield _value(one)
        lead = ", "
    yield _quoted("}" if properties else "{}")


def _choice(options: Iterator[str]) -> str:
    return "(" + " | ".join(options) + ")"


def _literal(value: object) -> str:
    return _quoted(_json(value))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
