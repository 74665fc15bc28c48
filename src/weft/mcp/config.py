"""One MCP server as a person configured it, whichever file it stands in.

Nothing here imports the `mcp` package: this is what start-up reads to learn whether there is any server at all.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

import msgspec

from weft.mcp.places import Dialect, Scope
from weft.schema.content import Json

TransportKind: TypeAlias = Literal["stdio", "http", "sse", "ws", "sdk"]
Standing: TypeAlias = Literal["approved", "pending", "changed", "denied", "disabled", "invalid"]


class OAuthSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to log in where the server's own metadata is not enough. `grant` other than `code` needs no person."""

    client_id: str = ""
    client_secret: str = ""
    callback_port: int | None = None
    metadata_url: str = ""
    client_metadata_url: str = ""
    scopes: str = ""
    issuer: str = ""
    grant: Literal["code", "client_credentials", "private_key_jwt", "jwt_bearer", "id_jag"] = "code"
    private_key: str = ""
    algorithm: str = "ES256"
    assertion_file: str = ""
    assertion: str = ""
    idp_token_endpoint: str = ""
    idp_client_id: str = ""
    auth_method: Literal["", "client_secret_basic", "client_secret_post", "none"] = ""
    dpop: bool = False


class InputSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A VS Code `inputs` entry: a value that the person gives when the server starts."""

    id: str
    kind: Literal["promptString", "pickString", "command"] = "promptString"
    description: str = ""
    default: str = ""
    password: bool = False
    options: tuple[str, ...] = ()


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A server, expanded. `raw` is the entry as it is written; `variables` are the environment's names that went
    into it; `standing` says whether it may start, `problem` why it may not."""

    name: str
    transport: TransportKind = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str | None] = {}
    env_file: str = ""
    cwd: str = ""
    url: str = ""
    socket: str = ""
    headers: Mapping[str, str] = {}
    headers_helper: str = ""
    timeout: float | None = None
    always_load: bool = False
    oauth: OAuthSettings = OAuthSettings()
    protocol: str = "auto"
    inputs: tuple[InputSpec, ...] = ()
    sandbox: Json | None = None
    scope: Scope = "user"
    source: str = ""
    dialect: Dialect = "claude"
    raw: Json = {}
    variables: tuple[str, ...] = ()
    standing: Standing = "approved"
    problem: str = ""

    @property
    def remote(self) -> bool:
        return self.transport in ("http", "sse", "ws") and not self.socket

    @property
    def endpoint(self) -> str:
        """What the server is, without its name: the command line, or the address."""
        return self.url if self.transport != "stdio" else "\0".join((self.command, *self.args))


_HTTP_NAMES = {"http", "streamable-http", "streamable_http", "streamableHttp"}


def decode_entry(name: str, raw: Json, *, dialect: Dialect, scope: Scope, source: str) -> ServerConfig:
    """An entry without any expansion. One that makes no sense comes back with standing `invalid` and a reason."""
    kind = str(raw.get("type") or raw.get("transport") or "")
    url = _text(raw.get("url") or raw.get("serverUrl"))
    command = _text(raw.get("command"))
    base = ServerConfig(name=name, scope=scope, source=source, dialect=dialect, raw=raw)
    if not kind:
        if url and not command:
            if dialect == "claude":
                return _invalid(base, 'an entry with a "url" needs "type": "http", "sse" or "ws"')
            kind = "http"
        else:
            kind = "stdio"
    if kind in _HTTP_NAMES:
        kind = "http"
    if kind == "local":
        kind = "stdio"
    if kind not in ("stdio", "http", "sse", "ws", "sdk"):
        return _invalid(base, f"unknown type {kind!r}")
    if kind == "stdio" and not command:
        return _invalid(base, 'a stdio server needs a "command"')
    if kind in ("http", "sse", "ws") and not url:
        return _invalid(base, f'a server of type {kind!r} needs a "url"')
    socket = ""
    if url.startswith(("unix://", "pipe://")):
        path, _, route = url.split("://", 1)[1].partition("#")
        socket, url = path, f"http://localhost{route or '/'}"
    timeout = raw.get("timeout")
    protocol = raw.get("protocol")
    return msgspec.structs.replace(
        base,
        transport=kind,
        command=command,
        args=tuple(_text(item) for item in _items(raw.get("args"))),
        env=_env(raw.get("env")),
        env_file=_text(raw.get("envFile")),
        cwd=_text(raw.get("cwd")),
        url=url,
        socket=socket,
        headers={key: _text(value) for key, value in _table(raw.get("headers")).items()},
        headers_helper=_text(raw.get("headersHelper")),
        timeout=float(timeout) / 1000 if isinstance(timeout, int | float) and timeout > 0 else None,
        always_load=raw.get("alwaysLoad") is True,
        oauth=_oauth(_table(raw.get("oauth")), _table(raw.get("auth"))),
        protocol=protocol if isinstance(protocol, str) else "auto",
        standing="disabled" if raw.get("disabled") is True or raw.get("enabled") is False else "approved",
    )


def decode_inputs(value: object) -> tuple[InputSpec, ...]:
    """A VS Code file's `inputs`; entries that make no sense are left out."""
    found: list[InputSpec] = []
    for item in _items(value):
        table = _table(item)
        kind = table.get("type")
        if not isinstance(table.get("id"), str) or kind not in ("promptString", "pickString", "command"):
            continue
        options = [_table(option).get("value", option) for option in _items(table.get("options"))]
        found.append(
            InputSpec(
                id=_text(table["id"]),
                kind=kind,
                description=_text(table.get("description")),
                default=_text(table.get("default")),
                password=table.get("password") is True,
                options=tuple(_text(option) for option in options),
            )
        )
    return tuple(found)


def _oauth(table: Json, cursor: Json) -> OAuthSettings:
    port = table.get("callbackPort")
    scopes: object = table.get("scopes") or cursor.get("scopes")
    grant = table.get("grant")
    method = table.get("tokenEndpointAuthMethod")
    return OAuthSettings(
        client_id=_text(table.get("clientId") or cursor.get("CLIENT_ID")),
        client_secret=_text(table.get("clientSecret") or cursor.get("CLIENT_SECRET")),
        callback_port=port if isinstance(port, int) and 0 < port < 65536 else None,
        metadata_url=_text(table.get("authServerMetadataUrl")),
        client_metadata_url=_text(table.get("clientMetadataUrl")),
        scopes=_text(scopes) or " ".join(_text(item) for item in _items(scopes)),
        issuer=_text(table.get("issuer")),
        grant=grant if grant in ("client_credentials", "private_key_jwt", "jwt_bearer", "id_jag") else "code",
        private_key=_text(table.get("privateKey")),
        algorithm=_text(table.get("signingAlgorithm")) or "ES256",
        assertion_file=_text(table.get("assertionFile")),
        idp_token_endpoint=_text(table.get("idpTokenEndpoint")),
        idp_client_id=_text(table.get("idpClientId")),
        auth_method=method if method in ("client_secret_basic", "client_secret_post", "none") else "",
        dpop=table.get("dpop") is True,
    )


def _invalid(config: ServerConfig, problem: str) -> ServerConfig:
    return msgspec.structs.replace(config, standing="invalid", problem=problem)


def _env(value: object) -> dict[str, str | None]:
    return {key: None if item is None else _text(item) for key, item in _table(value).items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _table(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}
