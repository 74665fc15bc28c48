"""Proxies from the environment: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in either case.

This machine itself is never reached through a proxy.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec

from weft.errors import RemoteProtocolError, TransportError
from weft.protocols.http_head import HeadDecoder, encode_head

if TYPE_CHECKING:
    from anyio.abc import ByteStream

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Proxy(msgspec.Struct, frozen=True):
    host: str
    port: int
    authorization: str | None = None

    async def open_tunnel(self, stream: "ByteStream", host: str, port: int) -> None:
        """CONNECT: afterwards the stream ends at `host`. The caller limits the time.

        Raises:
            TransportError: the proxy refuses.
        """
        name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        headers = {"host": name}
        if self.authorization:
            headers["proxy-authorization"] = self.authorization
        await stream.send(encode_head("CONNECT", name, headers))
        decoder = HeadDecoder(max_size=65536)
        try:
            while (head := decoder.feed(await stream.receive())) is None:
                pass
        except RemoteProtocolError as error:
            raise TransportError(f"the proxy {self.host}:{self.port} does not speak HTTP: {error}") from None
        if not 200 <= head.status < 300:
            raise TransportError(
                f"the proxy {self.host}:{self.port} refused to connect to {name}: {head.status}",
                hint="Check HTTPS_PROXY and NO_PROXY.",
            )


def proxy_for(scheme: str, host: str, env: Mapping[str, str]) -> Proxy | None:
    """The proxy that requests to `host` go through, if any.

    Raises:
        TransportError: the variable is not an address.
    """
    url = _variable(f"{scheme}_proxy", env) or _variable("all_proxy", env)
    if not url or _is_exempt(host, _variable("no_proxy", env)):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or 8080
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme != "http" or not parts.hostname:
        raise TransportError(
            f"the proxy of {scheme} requests is not an http:// address", hint=f"Check {scheme.upper()}_PROXY."
        )
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + b64encode(pair.encode()).decode()
    return Proxy(parts.hostname, port, authorization)


def _variable(name: str, env: Mapping[str, str]) -> str:
    return env.get(name) or env.get(name.upper()) or ""


def _is_exempt(host: str, listed: str) -> bool:
    if host.lower() in _LOOPBACK:
        return True
    for entry in listed.lower().split(","):
        name = entry.strip().lstrip(".").removeprefix("*.").partition(":")[0]
        if name == "*" or (name and (host.lower() == name or host.lower().endswith("." + name))):
            return True
    return False
