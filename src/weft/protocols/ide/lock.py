"""The lock file: how an agent finds an editor. Its name is the port, its content is JSON with five fields or more."""

from typing import Any, cast

import msgspec

from weft.schema.content import Json


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """`pid` and `token` may be missing; then neither liveness nor identity can be told from the file.

    `transport` other than `ws` is an editor that only speaks HTTP with server-sent events.
    """

    port: int
    pid: int | None = None
    folders: tuple[str, ...] = ()
    ide_name: str = "IDE"
    transport: str = "ws"
    token: str | None = None
    windows: bool = False
    extra: Json = {}


_KNOWN = ("pid", "workspaceFolders", "ideName", "transport", "authToken", "runningInWindows")


def encode_lock(lock: Lock) -> bytes:
    value: Json = {
        "pid": lock.pid,
        "workspaceFolders": list(lock.folders),
        "ideName": lock.ide_name,
        "transport": lock.transport,
        "runningInWindows": lock.windows,
    }
    if lock.token is not None:
        value["authToken"] = lock.token
    return msgspec.json.encode({**value, **lock.extra})


def decode_lock(name: str, data: bytes) -> Lock | None:
    """The lock in a file called `name` (`12345.lock`); None when it is not one. Fields of a wrong type are left out."""
    stem, dot, _ = name.rpartition(".lock")
    if not dot or not (stem.isascii() and stem.isdigit()) or not 0 < int(stem[:6]) < 65536 or len(stem) > 5:
        return None
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    found = cast("dict[str, Any]", value)
    pid, folders = found.get("pid"), found.get("workspaceFolders")
    return Lock(
        port=int(stem),
        pid=pid if isinstance(pid, int) and not isinstance(pid, bool) and 0 < pid < 1 << 31 else None,
        folders=tuple(item for item in cast("list[object]", folders) if isinstance(item, str) and item)
        if isinstance(folders, list)
        else (),
        ide_name=_text(found.get("ideName")) or "IDE",
        transport=_text(found.get("transport")) or "sse",
        token=_text(found.get("authToken")),
        windows=found.get("runningInWindows") is True,
        extra={key: item for key, item in found.items() if key not in _KNOWN},
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
