"""From a configuration to a transport: the environment a program gets, the headers a server gets."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio

from weft import __version__
from weft.errors import TransportError, UsageError
from weft.mcp.config import ServerConfig
from weft.mcp.expand import fill_inputs, read_env_file
from weft.mcp.options import AskInput
from weft.schema.content import Json

if TYPE_CHECKING:
    import httpx2

# fmt: off
INHERITED = (
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ",
    "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
    "XDG_DATA_HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy",
    "no_proxy", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "COMSPEC", "PATHEXT",
)
# fmt: on
"""What a server's program inherits. Everything else, keys above all, must be configured for it by name."""
USER_AGENT = f"weft/{__version__}"
HELPER_LIMIT = 10.0
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie|session", re.IGNORECASE)


def child_env(config: ServerConfig, env: Mapping[str, str], cwd: Path) -> dict[str, str]:
    """The environment of a stdio server: a few plain names of ours, its env file, its own entries; null unsets."""
    found = {name: env[name] for name in INHERITED if name in env}
    if config.env_file:
        found.update(read_env_file(cwd / config.env_file))
    for name, value in config.env.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def redactor(config: ServerConfig, env: Mapping[str, str]) -> Callable[[str], str]:
    """Masks the values of secret-looking variables in what a server writes to its log."""
    values = {value for name, value in {**env, **config.env}.items() if value and _SECRET_NAME.search(name)}
    values |= {value.removeprefix("Bearer ") for value in config.headers.values()}
    masked = sorted((value for value in values if len(value) >= 8), key=len, reverse=True)

    def redact(text: str) -> str:
        for value in masked:
            text = text.replace(value, "***")
        return text

    return redact


async def with_inputs(config: ServerConfig, ask: AskInput | None) -> ServerConfig:
    """Asks for the values that the entry leaves to the person.

    Raises:
        UsageError: nobody can be asked, or they would not say.
    """
    if not config.inputs:
        return config
    if ask is None:
        names = ", ".join(item.id for item in config.inputs)
        raise UsageError(f"the server {config.name!r} needs values that only a person can give: {names}")
    properties: Json = {}
    for item in config.inputs:
        field: Json = {"type": "string", "description": item.description or item.id}
        if item.default:
            field["default"] = item.default
        if item.options:
            field["enum"] = list(item.options)
        if item.password:
            field["format"] = "password"
        properties[item.id] = field
    schema: Json = {"type": "object", "properties": properties, "required": list(properties)}
    answer = await ask(config.name, f"The server {config.name!r} needs these values to start.", schema=schema)
    if answer.action != "accept":
        raise UsageError(f"the server {config.name!r} was not started: its values were not given")
    given = {name: str(value) for name, value in (answer.content or {}).items()}
    return fill_inputs(config, given)


async def with_helper_headers(config: ServerConfig, env: Mapping[str, str], cwd: Path) -> dict[str, str]:
    """The configured headers and those that the helper command prints as a JSON object. A project's helper does
    not see secret-looking variables.

    Raises:
        TransportError: the helper failed, was too slow, or did not print a JSON object of strings.
    """
    if not config.headers_helper:
        return dict(config.headers)
    from weft.transports.process import spawn

    shown = dict(env)
    if config.scope == "project":
        shown = {name: value for name, value in shown.items() if not _SECRET_NAME.search(name)}
    child = await spawn(
        ["/bin/sh", "-c", config.headers_helper],
        cwd=cwd,
        env={**shown, "MCP_SERVER_NAME": config.name, "MCP_SERVER_URL": config.url},
        stderr="null",
    )
    output = b""
    try:
        with anyio.fail_after(HELPER_LIMIT):
            assert child.stdout is not None
            async for data in child.stdout:
                output += data
                if len(output) > 65_536:
                    raise TransportError("the headers helper prints too much")
            code = await child.wait()
        value = json.loads(output) if code == 0 else None
    except TimeoutError as error:
        raise TransportError("the headers helper took longer than 10 seconds") from error
    except ValueError as error:
        raise TransportError("the headers helper did not print JSON") from error
    finally:
        await child.kill(0.2)
        child.close()
    if not isinstance(value, dict):
        raise TransportError("the headers helper did not print a JSON object")
    return {**config.headers, **{name: str(item) for name, item in cast("Json", value).items()}}


async def make_transport(
    config: ServerConfig,
    *,
    env: Mapping[str, str],
    cwd: Path,
    auth: "httpx2.Auth | None",
    on_stderr: Callable[[str], None],
) -> AbstractAsyncContextManager[Any]:
    """The transport of an entry whose inputs are filled in; nothing is opened yet."""
    if config.transport == "stdio":
        from weft.transports.mcp_stdio import StdioTransport

        folder = cwd / config.cwd if config.cwd else cwd
        return StdioTransport(argv_of(config), env=child_env(config, env, cwd), cwd=str(folder), on_stderr=on_stderr)
    headers = {"User-Agent": USER_AGENT, **await with_helper_headers(config, env, cwd)}
    if config.transport == "ws":
        from weft.transports.mcp_websocket import WebSocketTransport

        headers.pop("User-Agent")
        return WebSocketTransport(config.url, headers=headers, user_agent=USER_AGENT)
    from weft.transports.mcp_http import HttpTransport

    kind = "sse" if config.transport == "sse" else "http"
    return HttpTransport(config.url, kind=kind, headers=headers, auth=auth, uds=config.socket or None)


def argv_of(config: ServerConfig) -> list[str]:
    """The command line. On a system without bubblewrap a sandboxed server is not started at all.

    Raises:
        TransportError: a sandbox is asked for and there is none.
    """
    argv = [config.command, *config.args]
    if config.sandbox is None:
        return argv
    from weft.mcp.sandbox import wrapped

    return wrapped(argv, config.sandbox)
