"""A short command whose output is wanted: a key helper, a version."""

import subprocess

import anyio

from weft.errors import TransportError, TransportTimeout

_MAX_SHOWN = 200


async def output_of(command: str, *, limit: float = 30.0) -> str:
    """What a shell line prints.

    Raises:
        TransportTimeout: it took longer than `limit` seconds; it is gone.
        TransportError: it failed; the message has the end of its standard error.
    """
    try:
        with anyio.fail_after(limit):
            done = await anyio.run_process(command, stdin=subprocess.DEVNULL, check=False, start_new_session=True)
    except TimeoutError:
        raise TransportTimeout(f"a command took longer than {limit:g} s: {command[:_MAX_SHOWN]}") from None
    except OSError as error:
        raise TransportError(f"a command cannot be run: {error}") from None
    if done.returncode:
        tail = done.stderr.decode("utf-8", "replace").strip()[-_MAX_SHOWN:]
        raise TransportError(f"a command failed with {done.returncode}: {command[:_MAX_SHOWN]}: {tail}")
    return done.stdout.decode("utf-8", "replace")
