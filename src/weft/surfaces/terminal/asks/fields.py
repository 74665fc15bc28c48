"""The fields of an MCP form: text, number, yes or no, one choice or several. What a server sends is untrusted."""

from typing import Literal, cast

import msgspec

from weft.schema.content import Json
from weft.surfaces.terminal.words import t

MOST_FIELDS = 40


class Field(msgspec.Struct, kw_only=True):
    """`value` is what the person has said so far, as text; `options` are value and label."""

    name: str
    title: str
    kind: Literal["text", "number", "integer", "boolean", "choice", "several"] = "text"
    description: str = ""
    required: bool = False
    options: tuple[tuple[str, str], ...] = ()
    value: str = ""


def read_fields(schema: Json) -> list[Field]:
    properties = schema.get("properties")
    wanted = schema.get("required")
    required = cast("list[object]", wanted) if isinstance(wanted, list) else []
    if not isinstance(properties, dict):
        return []
    items = list(cast(Json, properties).items())[:MOST_FIELDS]
    return [_field(name, cast(Json, value), name in required) for name, value in items if isinstance(value, dict)]


def _field(name: str, schema: Json, required: bool) -> Field:
    kind = schema.get("type")
    field = Field(
        name=name,
        title=str(schema.get("title") or name),
        description=str(schema.get("description") or ""),
        required=required,
    )
    field.options = _options(schema)
    if kind == "array":
        field.kind = "several"
        items = schema.get("items")
        field.options = _options(cast(Json, items)) if isinstance(items, dict) else ()
        named = ", ".join(value for value, _ in field.options)
        field.description = t("Several, with commas between them: {values}", values=named or "…")
    elif field.options:
        field.kind = "choice"
    elif kind == "boolean":
        field.kind = "boolean"
    elif kind == "integer":
        field.kind = "integer"
    elif kind == "number":
        field.kind = "number"
    default = schema.get("default")
    if isinstance(default, list):
        field.value = ", ".join(str(item) for item in cast("list[object]", default))
    elif default is not None:
        field.value = ("yes" if default else "no") if isinstance(default, bool) else str(default)
    elif field.kind == "boolean":
        field.value = "no"
    return field


def _options(schema: Json) -> tuple[tuple[str, str], ...]:
    values = schema.get("enum")
    if isinstance(values, list):
        names = schema.get("enumNames")
        labels = cast("list[object]", names) if isinstance(names, list) else []
        found = cast("list[object]", values)
        return tuple((str(v), str(labels[i]) if i < len(labels) else str(v)) for i, v in enumerate(found))
    several = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(several, list):
        rows = [cast(Json, row) for row in cast("list[object]", several) if isinstance(row, dict)]
        return tuple((str(row["const"]), str(row.get("title") or row["const"])) for row in rows if "const" in row)
    return ()


def problem(field: Field) -> str:
    """Why the value cannot be sent, or an empty string."""
    if not field.value:
        return t("This is needed.") if field.required else ""
    try:
        if field.kind == "integer":
            int(field.value)
        elif field.kind == "number":
            float(field.value)
    except ValueError:
        return t("This must be a number.")
    known = {value for value, _ in field.options}
    if field.kind == "several" and known and not known.issuperset(_parts(field.value)):
        return t("Choose from: {values}", values=", ".join(value for value, _ in field.options))
    return ""


def _parts(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def to_content(fields: list[Field]) -> Json:
    out: Json = {}
    for field in fields:
        if field.kind == "boolean":
            out[field.name] = field.value == "yes"
        elif field.value and field.kind == "several":
            out[field.name] = _parts(field.value)
        elif field.value and field.kind == "integer":
            out[field.name] = int(field.value)
        elif field.value and field.kind == "number":
            out[field.name] = float(field.value)
        elif field.value:
            out[field.name] = field.value
    return out


def turn(field: Field, by: int = 1) -> None:
    """The next value of a choice or of a yes or no."""
    if field.kind == "boolean":
        field.value = "no" if field.value == "yes" else "yes"
    elif field.options:
        values = [value for value, _ in field.options]
        at = values.index(field.value) + by if field.value in values else 0
        field.value = values[at % len(values)]
