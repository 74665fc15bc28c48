"""HTTP for MCP servers: limits on what comes back, and a guard on where requests go.

A server can name addresses (metadata, authorization servers, redirects). Only the configured host is taken as it
is; any other is resolved, checked and then connected to by the checked address, so that a name cannot change its
meaning in between. A loopback or private address is reached only when the configured server is of that kind too.
"""

import ipaddress
import socket
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Literal
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2

from weft.errors import TransportError
from weft.exits import ExitStack

MAX_BODY = 64 << 20
MAX_EVENT = 32 << 20
CONNECT_LIMIT = 30.0
READ_LIMIT = 300.0

NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
AddressKind = Literal["public", "private", "loopback", "forbidden"]


def address_kind(address: str) -> AddressKind:
    """What kind of machine an address means. Link-local and the like (a cloud's metadata service) are forbidden."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        translated = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in NAT64 else None
        ip = ip.ipv4_mapped or ip.sixtofour or translated or (ip.teredo[1] if ip.teredo else ip)
    if ip.is_loopback:
        return "loopback"
    if ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip.is_reserved:
        return "forbidden"
    return "public" if ip.is_global else "private"


async def resolve(host: str, port: int) -> list[str]:
    """
    Raises:
        httpx2.ConnectError: the name means nothing.
    """
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpx2.ConnectError(f"cannot resolve {host}") from error
    return list(dict.fromkeys(str(item[4][0]) for item in found))


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """`home` is the host that the person configured. Response bodies other than event streams end at `max_body`."""

    def __init__(self, home: str, *, uds: str | None = None, proxy: str | None = None, max_body: int = MAX_BODY):
        super().__init__(uds=uds, proxy=proxy)
        self._home = home.casefold()
        self._pinned = uds is None and proxy is None
        self._max_body = max_body

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host.casefold() != self._home:
            if self._pinned:
                request = await self._pin(request)
            else:
                await self._check(request.url)
        response = await super().handle_async_request(request)
        if "text/event-stream" in response.headers.get("content-type", ""):
            return response
        stream = response.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            return response
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Capped(stream, self._max_body),
            extensions=response.extensions,
        )

    async def _check(self, url: httpx2.URL) -> str:
        """The address to connect to.

        Raises:
            httpx2.ConnectError: it may not be reached from here.
        """
        port = url.port or (443 if url.scheme == "https" else 80)
        home = {address_kind(item) for item in await resolve(self._home, port)}
        addresses = await resolve(url.host, port)
        for address in addresses:
            kind = address_kind(address)
            if kind != "public" and (kind == "forbidden" or kind not in home):
                raise httpx2.ConnectError(
                    f"{url.host} is a {kind} address ({address}): a server may not send us there", request=None
                )
        if url.scheme != "https" and any(address_kind(item) != "loopback" for item in addresses):
            raise httpx2.ConnectError(f"{url.host} must be reached over https")
        return addresses[0]

    async def _pin(self, request: httpx2.Request) -> httpx2.Request:
        address = await self._check(request.url)
        return httpx2.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": request.url.host},
        )


class _Capped(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._left -= len(part)
            if self._left < 0:
                raise httpx2.ReadError("the answer is larger than allowed")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


def make_client(
    url: str,
    *,
    headers: Mapping[str, str],
    auth: httpx2.Auth | None = None,
    uds: str | None = None,
    read_limit: float = READ_LIMIT,
) -> httpx2.AsyncClient:
    """A client for one server; redirects are the caller's to follow."""
    parsed = httpx2.URL(url)
    proxies = {} if uds or proxy_bypass(parsed.host) else getproxies()
    proxy = proxies.get(parsed.scheme) or proxies.get("all")
    return httpx2.AsyncClient(
        headers=dict(headers),
        auth=auth,
        timeout=httpx2.Timeout(CONNECT_LIMIT, read=read_limit),
        transport=GuardedTransport(parsed.host, uds=uds, proxy=proxy),
        follow_redirects=False,
    )


class HttpTransport:
    """Streamable HTTP, or the older HTTP with server-sent events, by the package's transports over our client.

    `uds` is the path of a unix socket that the requests go through.
    """

    def __init__(
        self,
        url: str,
        *,
        kind: Literal["http", "sse"],
        headers: Mapping[str, str],
        auth: httpx2.Auth | None = None,
        uds: str | None = None,
    ) -> None:
        self._url = url
        self._kind = kind
        self._headers = headers
        self._auth = auth
        self._uds = uds
        self._stack = ExitStack()

    async def __aenter__(self) -> Any:
        from mcp.client.sse import sse_client
        from mcp.client.streamable_http import streamable_http_client

        if not self._url.startswith(("http://", "https://")):
            raise TransportError(f"{self._url!r} is not an http address")
        if self._kind == "sse":
            return await self._stack.enter_async_context(
                sse_client(self._url, httpx_client_factory=self._factory, auth=self._auth, timeout=CONNECT_LIMIT)
            )
        client = await self._stack.enter_async_context(
            make_client(self._url, headers=self._headers, auth=self._auth, uds=self._uds)
        )
        return await self._stack.enter_async_context(
            streamable_http_client(self._url, http_client=client, max_sse_event_size=MAX_EVENT)
        )

    def _factory(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return make_client(self._url, headers={**self._headers, **(headers or {})}, auth=auth, uds=self._uds)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)
