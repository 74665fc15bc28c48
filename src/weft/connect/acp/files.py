"""Files that an agent asks its host for: inside the workspace folders only, after every link is resolved."""

import os
from pathlib import Path

import anyio.to_thread

from weft.protocols.acp.frames import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RpcError

MAX_FILE = 32 * 2**20


class HostFiles:
    """`empty_for_missing` answers an empty text for a file that is not there: one agent cannot create it otherwise."""

    def __init__(self, roots: tuple[Path, ...], *, empty_for_missing: bool = False) -> None:
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)
        self.empty_for_missing = empty_for_missing

    def confined(self, path: str) -> Path:
        """
        Raises:
            RpcError: the path is relative, or its real place is outside.
        """
        if not os.path.isabs(path):
            raise RpcError(INVALID_PARAMS, f"the path must be absolute: {path}")
        real = Path(os.path.realpath(path))
        if not any(real.is_relative_to(root) for root in self._roots):
            raise RpcError(INVALID_PARAMS, f"outside the workspace: {path}")
        return real

    async def read(self, path: str, line: int | None, limit: int | None) -> str:
        """The text, or `limit` lines of it from `line` on (the first is 1)."""
        real = self.confined(path)
        try:
            text = await anyio.to_thread.run_sync(_read, real)
        except FileNotFoundError:
            if self.empty_for_missing:
                return ""
            raise RpcError(NOT_FOUND, f"there is no file {path}") from None
        except UnicodeDecodeError:
            raise RpcError(INVALID_PARAMS, f"not a text file: {path}") from None
        except OSError as error:
            raise RpcError(INTERNAL_ERROR, f"cannot read {path}: {error.strerror}") from error
        if line is None and limit is None:
            return text
        lines = text.splitlines(keepends=True)
        start = max(0, (line or 1) - 1)
        return "".join(lines[start : None if limit is None else start + limit])

    async def write(self, path: str, content: str) -> None:
        real = self.confined(path)
        try:
            await anyio.to_thread.run_sync(_write, real, content)
        except OSError as error:
            raise RpcError(INTERNAL_ERROR, f"cannot write {path}: {error.strerror}") from error


def _read(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise RpcError(INVALID_PARAMS, f"{path} is larger than {MAX_FILE} bytes")
    return data.decode()


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.weft-{os.getpid()}")
    try:
        temporary.write_text(content, encoding="utf-8", newline="")
        if path.exists():
            os.chmod(temporary, path.stat().st_mode)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
