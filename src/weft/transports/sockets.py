"""Byte streams to programs on this machine: a Unix socket by its path, or `127.0.0.1:port`."""

import anyio
import anyio.abc

from weft.errors import TransportError

_LOCAL = ("127.0.0.1", "localhost", "::1")


async def connect_local(address: str, *, limit: float = 5.0) -> anyio.abc.ByteStream:
    """
    Raises:
        TransportError: nobody listens there, or it is not on this machine.
    """
    host, colon, port = address.rpartition(":")
    try:
        with anyio.fail_after(limit):
            if colon and port.isdigit() and "/" not in address:
                if host not in _LOCAL:
                    raise TransportError(f"{address} is not on this machine")
                return await anyio.connect_tcp(host, int(port))
            return await anyio.connect_unix(address)
    except TimeoutError as error:
        raise TransportError(f"nobody answers at {address}") from error
    except OSError as error:
        raise TransportError(f"cannot connect to {address}: {error.strerror or error}") from error
