"""Which hosts a model may reach: those of the open internet, looked up once and connected to as they were found.

A name that leads to this machine or its network is refused after it was resolved, and the address that was judged is
the address that is used: a name cannot change in between.
"""

import ipaddress
import socket

import anyio

from weft.errors import TransportError

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


def is_public(address: str) -> bool:
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if ip in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and not ip.is_unspecified


async def public_address(host: str, port: int) -> str:
    """
    Raises:
        TransportError: there is no such host, or one of its addresses is not public.
    """
    try:
        with anyio.fail_after(10):
            found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise TransportError(f"the name {host} could not be looked up in time") from None
    except OSError as error:
        raise TransportError(f"there is no host {host}: {error.strerror or error}") from None
    addresses = [str(entry[4][0]) for entry in found]
    if not addresses or not all(is_public(address) for address in addresses):
        raise TransportError(f"{host} is on this machine or a private network, which cannot be fetched from here")
    return addresses[0]
