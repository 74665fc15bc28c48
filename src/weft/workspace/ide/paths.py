"""Paths as the editor knows them and as we do: the same on one machine, not so in containers and under WSL."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from weft.protocols.ide.uris import to_uri

_DRIVE = re.compile(r"^/?([A-Za-z]):[\\/](.*)$", re.DOTALL)
_SHARE = re.compile(r"^[\\/]{2}wsl(?:\.localhost|\$)[\\/]([^\\/]+)[\\/](.*)$", re.DOTALL | re.IGNORECASE)


class PathMap(msgspec.Struct, frozen=True):
    """`pairs` are (theirs, ours) folders, the longest match wins. `windows` is set for an editor outside WSL,
    with the name of our distribution."""

    pairs: tuple[tuple[str, str], ...] = ()
    windows: str | None = None

    def to_ours(self, path: str) -> str:
        if self.windows is not None:
            path = _from_windows(path)
        return _swap(path, [(theirs, ours) for theirs, ours in self.pairs])

    def to_theirs(self, path: str) -> str:
        path = _swap(path, [(ours, theirs) for theirs, ours in self.pairs])
        return _to_windows(path, self.windows) if self.windows is not None else path

    def to_their_uri(self, path: str) -> str:
        theirs = self.to_theirs(path).replace("\\", "/")
        return to_uri(theirs if theirs.startswith("/") else f"/{theirs}")


def _swap(path: str, pairs: Sequence[tuple[str, str]]) -> str:
    for source, target in sorted(pairs, key=lambda pair: -len(pair[0])):
        if is_below(path, source):
            rest = PurePosixPath(path).relative_to(source)
            return str(PurePosixPath(target) / rest)
    return path


def _from_windows(path: str) -> str:
    share = _SHARE.match(path)
    if share:
        return "/" + share[2].replace("\\", "/")
    drive = _DRIVE.match(path)
    if drive:
        return f"/mnt/{drive[1].lower()}/" + drive[2].replace("\\", "/")
    return path


def _to_windows(path: str, distribution: str) -> str:
    parts = PurePosixPath(path).parts
    if len(parts) >= 3 and parts[:2] == ("/", "mnt") and len(parts[2]) == 1:
        return f"{parts[2].upper()}:\\" + "\\".join(parts[3:])
    return f"\\\\wsl.localhost\\{distribution}\\" + "\\".join(parts[1:])


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or inside it; `/x/ws` is not inside `/x/w`."""
    whole, start = PurePosixPath(path).parts, PurePosixPath(folder).parts
    return len(start) > 0 and whole[: len(start)] == start and ".." not in whole


def read_path_map(env: Mapping[str, str], *, windows: bool) -> PathMap:
    """From `WEFT_IDE_PATH_MAP` (`/host/project=/workspace`, several with commas), and WSL's own variable."""
    pairs: list[tuple[str, str]] = []
    for item in env.get("WEFT_IDE_PATH_MAP", "").split(","):
        theirs, equals, ours = item.strip().partition("=")
        if equals and theirs and ours:
            pairs.append((theirs, ours))
    return PathMap(tuple(pairs), env.get("WSL_DISTRO_NAME") if windows else None)
