"""llama.cpp in a process of its own, shared by every conversation that wants the same file.

Run as `python -m weft.transports.llama_child FILE STATE`. It listens on a free port of 127.0.0.1, wants the token that
it wrote to the state file (readable by its user alone), and ends when nobody touched that file for a while. Those who
use it touch it: with each request, and while an answer arrives.
"""

import hashlib
import importlib
import importlib.util
import os
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

import msgspec

from weft.errors import TransportError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen

IDLE: Final = 300.0
START: Final = 180.0
CONTEXT: Final = 8192
_ours: "dict[int, Popen[bytes]]" = {}
"""Children that this process started: one that ended must be asked for its end, or it seems to live."""
HINT: Final = "pip install 'weft[local]' brings it."


class Running(msgspec.Struct, frozen=True):
    """A child that listens."""

    url: str
    token: str
    pid: int
    model: str


class _Named(Protocol):
    path: str


class _Threads(Protocol):
    n_threads: int


class _Params(Protocol):
    """What we set of xllamacpp's parameters."""

    model: _Named
    cpuparams: _Threads
    hostnames: list[str]
    port: int
    api_keys: list[str]
    cors_origins: str
    ui: bool
    n_parallel: int
    n_ctx: int
    endpoint_slots: bool
    warmup: bool
    model_alias: set[str]


class _Server(Protocol):
    listening_address: str


class _Llama(Protocol):
    def CommonParams(self) -> _Params: ...

    def Server(self, params: _Params) -> _Server: ...


def has_llama() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None


def state_file(model: Path, folder: Path) -> Path:
    name = hashlib.sha256(str(model.resolve()).encode()).hexdigest()[:16]
    return folder / f"llama-{name}.json"


def read_state(place: Path) -> Running | None:
    """The child that the file tells of, if it still lives."""
    try:
        state = msgspec.json.decode(place.read_bytes(), type=Running)
        if (ours := _ours.get(state.pid)) is not None and ours.poll() is not None:
            return None
        os.kill(state.pid, 0)
    except (OSError, msgspec.MsgspecError, UnicodeError, OverflowError):
        return None
    return state


def touch(place: Path) -> None:
    """Says that somebody still needs the child."""
    try:
        os.utime(place)
    except OSError:
        return


async def running(model: Path, folder: Path, env: "Mapping[str, str]") -> Running:
    """The child for this file, started if need be. Two who ask at once get the same one.

    Raises:
        TransportError: llama.cpp is not installed, or it cannot use the file; the message says why.
    """
    import anyio
    import anyio.to_thread

    if not has_llama():
        raise TransportError(f"llama.cpp is not installed. {HINT}")
    place = state_file(model, folder)
    lock = await anyio.to_thread.run_sync(_lock, place.with_suffix(".lock"), abandon_on_cancel=True)
    try:
        found = read_state(place)
        if found is not None:
            touch(place)
            return found
        return await _start(model, place, env)
    finally:
        os.close(lock)


def _lock(path: Path) -> int:
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    limit = time.monotonic() + START
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > limit:
                os.close(handle)
                raise TransportError("another start of llama.cpp does not come to an end") from None
            time.sleep(0.05)
        else:
            return handle


async def _start(model: Path, place: Path, env: "Mapping[str, str]") -> Running:
    import anyio

    log = place.with_suffix(".log")
    child = _spawn(model, place, log, env)
    try:
        with anyio.fail_after(START):
            while (found := read_state(place)) is None:
                if child.poll() is not None:
                    raise TransportError(f"llama.cpp could not use {model}: {_last_lines(log)}")
                await anyio.sleep(0.05)
    except TimeoutError:
        child.kill()
        raise TransportError(f"llama.cpp did not start within {START:g} seconds; see {log}") from None
    except BaseException:
        if child.poll() is None and read_state(place) is None:
            child.kill()
        raise
    return found


def _spawn(model: Path, place: Path, log: Path, env: "Mapping[str, str]") -> "Popen[bytes]":
    """It outlives the conversation that started it, so it belongs to no task group: it ends by itself."""
    import subprocess

    place.unlink(missing_ok=True)
    with open(os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as output:
        child = subprocess.Popen(
            (sys.executable, "-m", "weft.transports.llama_child", str(model), str(place)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**env, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,
        )
    _ours[child.pid] = child
    return child


def _last_lines(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").strip().splitlines()
    wanted = [line for line in lines if "error" in line.lower() or "failed" in line.lower()] or lines
    return "; ".join(line.strip() for line in wanted[-2:]) or "it said nothing"


def stop(place: Path) -> bool:
    """Ends the child that the file tells of."""
    import signal

    found = read_state(place)
    if found is None:
        return False
    place.unlink(missing_ok=True)
    os.kill(found.pid, signal.SIGTERM)
    return True


def serve(model: str, place: Path) -> int:
    """The child's own life."""
    llama = cast(_Llama, importlib.import_module("xllamacpp"))
    token = secrets.token_urlsafe(32)
    params = llama.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [token]
    params.cors_origins = "http://127.0.0.1"
    params.ui = False
    params.n_parallel = 1
    params.n_ctx = int(os.environ.get("WEFT_LOCAL_CONTEXT") or CONTEXT)
    params.cpuparams.n_threads = int(os.environ.get("WEFT_LOCAL_THREADS") or os.cpu_count() or 2)
    params.endpoint_slots = True
    params.warmup = False
    params.model_alias = {Path(model).stem}
    server = llama.Server(params)
    state = Running(server.listening_address, token, os.getpid(), model)
    fresh = place.with_suffix(".new")
    with open(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(state))
    fresh.replace(place)
    idle = float(os.environ.get("WEFT_LOCAL_IDLE") or IDLE)
    while True:
        time.sleep(min(idle / 4, 5.0))
        try:
            if time.time() - place.stat().st_mtime > idle:
                place.unlink(missing_ok=True)
                break
        except FileNotFoundError:
            break
    # The library's own end waits for its threads; nothing is left to keep.
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
