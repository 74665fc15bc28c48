"""What servers offer, as data: tools, prompts, resources, templates, skills, results."""

from collections.abc import Callable
from typing import Literal, TypeAlias, cast

import msgspec

from weft.mcp.shapes import object_schema
from weft.mcp.visible import plain
from weft.schema.content import Content, Json

LONGEST_TEXT = 2048
"""Descriptions and instructions are cut here before a model reads them."""


class ToolInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of a server. `name` is the server's own; `full_name` is what the model uses. `definition` is all that
    the server said about it, untrusted. Annotations are hints of the server and prove nothing."""

    server: str
    name: str
    full_name: str = ""
    title: str = ""
    description: str = ""
    input_schema: Json = {}
    output_schema: Json | None = None
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    always_load: bool = False
    needs_person: bool = False
    max_result: int | None = None
    app: str | None = None
    app_only: bool = False
    task: Literal["", "optional", "required"] = ""
    definition: Json = {}
    warnings: tuple[str, ...] = ()


class PromptArgument(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    required: bool = False


class PromptInfo(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()
    definition: Json = {}


class ResourceInfo(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    mime: str = ""
    size: int | None = None


class TemplateInfo(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    template: str
    name: str = ""
    title: str = ""
    description: str = ""
    mime: str = ""


class McpResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool answered: `content` as blocks for a model, `structured` as it came, `links` that were not fetched."""

    content: Content = ()
    structured: object = None
    has_structured: bool = False
    is_error: bool = False
    links: tuple[tuple[str, str], ...] = ()
    meta: Json = {}


class ResourceText(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a resource that was read; one of `text` and `data` (base64) is set."""

    uri: str
    mime: str = ""
    text: str | None = None
    data: str | None = None
    meta: Json = {}


class PromptMessage(msgspec.Struct, frozen=True):
    role: Literal["user", "assistant"]
    content: Content


ProgressCallback: TypeAlias = Callable[[float | None, str], None]
"""Called with the fraction done (None when unknown) and what the server says it is doing."""


def text_of(value: object, limit: int = LONGEST_TEXT) -> str:
    """A server's text without hidden characters, cut."""
    text = plain(value) if isinstance(value, str) else ""
    return text if len(text) <= limit else text[:limit] + " …"


def table_of(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def list_of(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def decode_tool(server: str, raw: Json) -> ToolInfo:
    hints = table_of(raw.get("annotations"))
    meta = table_of(raw.get("_meta"))
    ui = table_of(meta.get("ui"))
    app = ui.get("resourceUri") or meta.get("ui/resourceUri")
    visibility = list_of(ui.get("visibility"))
    task = table_of(raw.get("execution")).get("taskSupport")
    output = raw.get("outputSchema")
    size = meta.get("anthropic/maxResultSizeChars")
    return ToolInfo(
        server=server,
        name=str(raw["name"]),
        title=text_of(raw.get("title") or hints.get("title"), 200),
        description=text_of(raw.get("description")),
        input_schema=object_schema(raw.get("inputSchema")),
        output_schema=cast("Json", output) if isinstance(output, dict) else None,
        read_only=hints.get("readOnlyHint") is True,
        destructive=hints.get("destructiveHint") is not False,
        idempotent=hints.get("idempotentHint") is True,
        open_world=hints.get("openWorldHint") is not False,
        always_load=meta.get("anthropic/alwaysLoad") is True,
        needs_person=meta.get("anthropic/requiresUserInteraction") is True,
        max_result=min(size, 500_000) if isinstance(size, int) and size > 0 else None,
        app=app if isinstance(app, str) and app.startswith("ui://") else None,
        app_only=bool(visibility) and "model" not in visibility,
        task=task if task in ("optional", "required") else "",
        definition=raw,
    )


def decode_prompt(server: str, raw: Json) -> PromptInfo:
    arguments = [table_of(item) for item in list_of(raw.get("arguments"))]
    return PromptInfo(
        server=server,
        name=str(raw["name"]),
        title=text_of(raw.get("title"), 200),
        description=text_of(raw.get("description")),
        arguments=tuple(
            PromptArgument(str(item["name"]), text_of(item.get("description"), 500), item.get("required") is True)
            for item in arguments
            if isinstance(item.get("name"), str)
        ),
        definition=raw,
    )


def decode_resource(server: str, raw: Json) -> ResourceInfo:
    size = raw.get("size")
    return ResourceInfo(
        server=server,
        uri=str(raw["uri"]),
        name=text_of(raw.get("name"), 200),
        title=text_of(raw.get("title"), 200),
        description=text_of(raw.get("description")),
        mime=text_of(raw.get("mimeType"), 100),
        size=size if isinstance(size, int) else None,
    )


def decode_template(server: str, raw: Json) -> TemplateInfo:
    return TemplateInfo(
        server=server,
        template=str(raw["uriTemplate"]),
        name=text_of(raw.get("name"), 200),
        title=text_of(raw.get("title"), 200),
        description=text_of(raw.get("description")),
        mime=text_of(raw.get("mimeType"), 100),
    )
