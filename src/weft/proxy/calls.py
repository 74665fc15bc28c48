"""The log of calls: one line of JSON for each, in a file for each month under Weft's home."""

import os
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from weft.errors import SettingsError
from weft.paths import weft_home

_FOLDER: Final = "proxy"
MAX_BODY: Final = 1 << 20


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call. `dollars` is None where the price is not known; `estimated` says that the server did not count.
    `request` and `response` are there only where bodies were asked for, cut at a megabyte, secrets masked."""

    time: str
    who: str
    nonce: str
    dialect: str
    upstream: str
    path: str
    model: str
    asked: str = ""
    status: int
    error: str = ""
    stream: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    dollars: float | None = None
    estimated: bool = False
    first_byte: float = 0.0
    duration: float = 0.0
    retries: int = 0
    request_id: str = ""
    request: str = ""
    response: str = ""


_call: Final = msgspec.json.Decoder(Call)


class CallLog:
    """Appends; several proxies may write at once, since each line is one write."""

    def __init__(self, home: Path | None = None) -> None:
        self._folder = (home or weft_home()) / _FOLDER

    def write(self, call: Call) -> None:
        """
        Raises:
            SettingsError: the folder cannot be used.
        """
        path = self._folder / f"calls-{call.time[:7]}.jsonl"
        try:
            _make_private(self._folder)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise SettingsError(f"{path}: the log of calls cannot be written: {error.strerror or error}") from None
        try:
            os.write(fd, msgspec.json.encode(call) + b"\n")
        finally:
            os.close(fd)

    def read(self, since: str = "") -> Iterator[Call]:
        """In the order of the files; `since` is the beginning of an ISO time. A damaged line is passed over."""
        for path in sorted(self._folder.glob("calls-*.jsonl")):
            if path.stem.removeprefix("calls-") < since[:7]:
                continue
            with path.open("rb") as lines:
                for line in lines:
                    try:
                        call = _call.decode(line)
                    except (msgspec.DecodeError, UnicodeError):
                        continue
                    if call.time >= since:
                        yield call


def _make_private(folder: Path) -> None:
    """A folder that is a link may lead to somebody else's."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise NotADirectoryError(f"{folder} is not a folder of ours")
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def now(clock: float | None = None) -> str:
    moment = datetime.fromtimestamp(time.time() if clock is None else clock, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
