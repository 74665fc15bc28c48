"""A child that has our terminal: its keys, its screen and its signals are its own."""

import contextlib
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.abc

from weft.errors import TransportError


async def run_foreground(command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> int:
    """Its exit code; 128 and more when a signal ended it. SIGTERM and SIGHUP to us are handed on to it.

    Ctrl-C goes to everyone at the terminal; we leave it to the child and go on until it ends.

    Raises:
        TransportError: it cannot be started.
    """
    code = 0
    try:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            process = await anyio.open_process(list(command), stdin=None, stdout=None, stderr=None, env=env, cwd=cwd)
            async with process, anyio.create_task_group() as group:
                group.start_soon(_hand_on, signals, process)
                code = await process.wait()
                group.cancel_scope.cancel()
    except OSError as error:
        raise TransportError(f"cannot start {command[0]!r}: {error.strerror or error}") from error
    return 128 - code if code < 0 else code


async def _hand_on(signals: AsyncIterator[signal.Signals], process: anyio.abc.Process) -> None:
    async for number in signals:
        if number != signal.SIGINT:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)
