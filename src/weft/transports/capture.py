"""A short command, run to its end: its exit code and what it printed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import anyio
import msgspec

from weft.errors import TransportTimeout
from weft.transports.process import spawn

MAX_OUTPUT = 1 << 20


class Captured(msgspec.Struct, frozen=True):
    """`output` is cut at a mebibyte; the command is not."""

    code: int
    output: bytes

    @property
    def text(self) -> str:
        return self.output.decode("utf-8", "replace")


async def capture(
    argv: Sequence[str],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    limit: float = 10.0,
    stderr: Literal["merge", "null"] = "null",
) -> Captured:
    """
    Raises:
        TransportError: it cannot be started.
        TransportTimeout: it did not end within `limit` seconds; it is gone now.
    """
    child = await spawn(argv, cwd=cwd, env=env, stderr=stderr)
    output = bytearray()
    try:
        with anyio.fail_after(limit):
            if child.stdout is not None:
                async for data in child.stdout:
                    if len(output) < MAX_OUTPUT:
                        output += data
            return Captured(await child.wait(), bytes(output[:MAX_OUTPUT]))
    except TimeoutError:
        raise TransportTimeout(f"{argv[0]} did not end within {limit:g} seconds.") from None
    finally:
        with anyio.CancelScope(shield=True):
            await child.kill()
        child.close()
