"""MCP Apps: a tool's own page, shown in a frame that can do nothing by itself.

Pure rules for whoever shows the page. The frame gets a document with a policy of its own (only what the server's
resource asked for and we allow), no cookies, no storage of ours and no way to navigate us. What the app asks for
comes as JSON-RPC messages; a tool call of the app goes to its own server only, to tools that the server marked for
apps, and through the same permission gate as the model's calls.
"""

import html
import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

from weft.errors import ToolError
from weft.mcp.catalogue import ResourceText, ToolInfo, list_of, table_of
from weft.schema.content import Json

if TYPE_CHECKING:
    from weft.mcp.host import Host

MIME = "text/html;profile=mcp-app"
SANDBOX = "allow-scripts allow-forms"
"""Never `allow-same-origin`: the app has an origin of its own, and it is nobody's."""
MAX_PAGE = 4 << 20
_HOST = re.compile(r"^(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$")


class AppPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page to show: `document` goes into a frame's `srcdoc` with `sandbox`; `policy` is also sent as a header."""

    server: str
    tool: str
    uri: str
    document: str
    policy: str
    sandbox: str = SANDBOX


def origins(value: object) -> list[str]:
    """The https origins of a list, each checked; anything else is left out."""
    found: list[str] = []
    for item in list_of(value)[:50]:
        if not isinstance(item, str):
            continue
        try:
            parts = urlsplit(item if "://" in item else f"https://{item}")
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            continue
        if parts.scheme in ("https", "wss") and _HOST.match(parts.hostname or "") and not parts.username:
            found.append(f"{parts.scheme}://{parts.hostname}{port}")
    return found


def policy_of(meta: Json) -> str:
    """The content security policy of a page, from its resource's `_meta.ui.csp` and nothing else."""
    csp = table_of(table_of(meta.get("ui")).get("csp"))
    connect, resource = origins(csp.get("connectDomains")), origins(csp.get("resourceDomains"))
    files = " ".join(origin for origin in resource if origin.startswith("https"))
    rows = [
        "default-src 'none'",
        f"script-src 'unsafe-inline' {files}",
        f"style-src 'unsafe-inline' {files}",
        f"img-src data: blob: {files}",
        f"font-src data: {files}",
        f"media-src data: blob: {files}",
        f"connect-src {' '.join(connect) or chr(39) + 'none' + chr(39)}",
        "form-action 'none'",
        "base-uri 'none'",
        f"frame-src {' '.join(origins(csp.get('frameDomains'))) or chr(39) + 'none' + chr(39)}",
        "object-src 'none'",
    ]
    return "; ".join(" ".join(row.split()) for row in rows)


async def open_app(host: "Host", tool: ToolInfo) -> AppPage:
    """Fetches the page of a tool, when it is to be shown.

    Raises:
        ToolError: there is none, or it is not an app's page.
    """
    if tool.app is None:
        raise ToolError(f"{tool.name!r} has no page")
    parts = await host.read(tool.server, tool.app)
    part = next((item for item in parts if item.text is not None), None)
    if part is None or part.mime.replace(" ", "") != MIME:
        raise ToolError(f"{tool.app!r} is not the page of an app")
    return AppPage(
        server=tool.server, tool=tool.name, uri=tool.app, document=_document(part), policy=policy_of(part.meta)
    )


def _document(part: ResourceText) -> str:
    text = part.text or ""
    if len(text) > MAX_PAGE:
        raise ToolError(f"{part.uri!r} is too large to show")
    policy = html.escape(policy_of(part.meta), quote=True)
    return f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{policy}">{text}'


class AppRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an app asks for, checked: `call` goes through the gate, `message` becomes a prompt only when the person
    says so, `open` is shown as an address first; `size` and `ready` are the frame's own."""

    kind: Literal["ready", "call", "read", "message", "open", "size", "log", "unknown"]
    id: str | int | None = None
    server: str = ""
    tool: str = ""
    arguments: Json = {}
    uri: str = ""
    text: str = ""
    height: int = 0


def read_request(page: AppPage, tools: tuple[ToolInfo, ...], message: Json) -> AppRequest:
    """A message of the frame as a request that may be made.

    Raises:
        ToolError: the app asks for what it may not have; the sentence goes back to it.
    """
    number = message.get("id")
    found = number if isinstance(number, str | int) else None
    params = table_of(message.get("params"))
    match message.get("method"):
        case "ui/initialize" | "ui/notifications/initialized":
            return AppRequest(kind="ready", id=found)
        case "tools/call":
            name = str(params.get("name", ""))
            allowed = next((tool for tool in tools if tool.server == page.server and tool.name == name), None)
            if allowed is None or not for_apps(allowed):
                raise ToolError(f"this app may not call {name!r}")
            given = table_of(params.get("arguments"))
            return AppRequest(kind="call", id=found, server=page.server, tool=name, arguments=given)
        case "resources/read":
            return AppRequest(kind="read", id=found, server=page.server, uri=str(params.get("uri", "")))
        case "ui/message":
            content = table_of(params.get("content"))
            return AppRequest(kind="message", id=found, text=str(content.get("text", ""))[:20_000])
        case "ui/open-link":
            from weft.mcp.asking import web_address

            url = str(params.get("url", ""))
            if web_address(url) is None:
                raise ToolError("only https addresses can be opened")
            return AppRequest(kind="open", id=found, uri=url)
        case "ui/notifications/size-changed":
            height = params.get("height")
            return AppRequest(kind="size", height=min(max(height, 0), 4000) if isinstance(height, int) else 0)
        case "notifications/message":
            return AppRequest(kind="log", text=str(params.get("data", ""))[:4000])
        case _:
            return AppRequest(kind="unknown", id=found)


def for_apps(tool: ToolInfo) -> bool:
    """Whether the server offers this tool to its apps; without a word about it, it does."""
    ui = table_of(table_of(tool.definition.get("_meta")).get("ui"))
    visibility = list_of(ui.get("visibility"))
    return not visibility or "app" in visibility
