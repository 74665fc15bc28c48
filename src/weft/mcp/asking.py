"""What a server may ask a person: forms and visits to an address, with the warnings that a person needs.

Pure: no wire, no surface. `elicit.py` speaks the protocol.
"""

import re
from typing import cast
from urllib.parse import SplitResult, urlsplit

from weft.mcp.catalogue import list_of, table_of
from weft.mcp.visible import visible
from weft.schema.content import Json

_SECRET = re.compile(
    r"pass.?(word|phrase|code)|secret|api.?key|access.?key|private.?key|token|credential|\bpin\b|\bssn\b|card.?number|cvv",
    re.IGNORECASE,
)
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def form_message(message: str, schema: Json) -> str:
    """The server's words, made visible, with a warning when the form wants a secret."""
    fields = {name: table_of(field) for name, field in table_of(schema.get("properties")).items()}
    secret = [
        name
        for name, field in fields.items()
        if _SECRET.search(f"{name} {field.get('title', '')} {field.get('description', '')}")
        or field.get("format") == "password"
    ]
    text = visible(message)
    if secret or _SECRET.search(message):
        names = f" ({', '.join(visible(name) for name in secret)})" if secret else ""
        text += f"\nWarning: this server asks for a secret{names}. Servers must not; what you type goes to the server."
    return text


def with_defaults(schema: Json, content: Json | None) -> Json:
    """The person's answers; a field that was left out gets the schema's default."""
    found: Json = {}
    given = content or {}
    for name, field in table_of(schema.get("properties")).items():
        if name in given:
            found[name] = given[name]
        elif "default" in table_of(field):
            found[name] = table_of(field)["default"]
    return {**given, **found}


def web_address(url: str) -> SplitResult | None:
    """The parsed address when it is one that a person may be sent to: https, or http on this machine; else None."""
    if any(ord(char) <= 32 or ord(char) == 127 for char in url) or len(url) > 8192:
        return None
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return None
    if not host:
        return None
    if parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK):
        return parts
    return None


def address_warnings(parts: SplitResult) -> tuple[str, ...]:
    """What is odd about an address, in words."""
    host = parts.hostname or ""
    found: list[str] = []
    if not host.isascii() or "xn--" in host:
        try:
            shown = host.encode("idna").decode() if not host.isascii() else host.encode().decode("idna")
        except UnicodeError:
            shown = "unreadable"
        found.append(f"the name is not plain ASCII: {visible(host)} is {visible(shown)}")
    if parts.username is not None or "@" in parts.netloc:
        found.append(f"what stands before the @ is not the site: you would go to {visible(host)}")
    if re.fullmatch(r"[0-9.]+|\[?[0-9a-f:]+\]?", host) and host not in LOOPBACK:
        found.append("the address is a number, not a name")
    return tuple(found)


def url_message(message: str, url: str) -> str | None:
    """What the person sees before they go anywhere: the whole address, its site by itself, the warnings. None when
    the address is of a kind that nobody is sent to."""
    parts = web_address(url)
    if parts is None:
        return None
    lines = [visible(message), f"Address: {visible(url)}", f"Site: {visible(parts.hostname or '')}"]
    lines += [f"Warning: {text}" for text in address_warnings(parts)]
    return "\n".join(lines)


def required_missing(schema: Json, content: Json) -> list[str]:
    return [cast("str", name) for name in list_of(schema.get("required")) if name not in content]
