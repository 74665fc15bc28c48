"""Which plug-ins are installed: one cheap look at each start.

Plug-ins announce themselves with an entry point of the group `weft.plugins`, whose value names the package that holds
`plugin.toml`. Reading every package's metadata is slow, so what was found is kept in Weft's home together with the
change times of the folders that packages are installed in; only when one of them changed is it read again. A look
that finds nothing new is a few `stat` calls and one small file.
"""

import os
import sys
from binascii import crc32
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from weft.schema.content import Json

GROUP: Final = "weft.plugins"
FORMAT: Final = 1


class Seen(msgspec.Struct, frozen=True):
    """A manifest that was found. `stamp` is (change time, size) of its file; `value` the decoded file, or None with
    the reason in `problem`."""

    name: str
    path: str
    stamp: tuple[int, int]
    value: Json | None = None
    problem: str = ""


class Scan(msgspec.Struct, frozen=True):
    """What was found, and in which state of which folders."""

    format: int
    folders: dict[str, int]
    plugins: tuple[Seen, ...] = ()


def look(home: Path, folders: Sequence[str] | None = None) -> tuple[Seen, ...]:
    """The plug-ins installed beside us, from the kept scan when it still holds. Never raises for what is on disk."""
    places = site_folders() if folders is None else tuple(folders)
    now = {place: _mtime(place) for place in places}
    kept = home / "cache" / f"plugins-{crc32(os.pathsep.join(places).encode()):08x}.json"
    try:
        scan = msgspec.json.decode(kept.read_bytes(), type=Scan)
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        scan = None
    if scan is not None and scan.format == FORMAT and scan.folders == now and all(map(_fresh, scan.plugins)):
        return scan.plugins
    found = tuple(_scan(places))
    _keep(kept, Scan(FORMAT, now, found))
    return found


def site_folders() -> tuple[str, ...]:
    """Where packages are installed. The working folder is not one of them, whatever the import path says: what lies
    in a repository is no plug-in before the person trusts it."""
    found = [entry for entry in sys.path if os.path.basename(entry.rstrip(os.sep)).endswith("-packages")]
    return tuple(dict.fromkeys(found))


def _mtime(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


def _fresh(plugin: Seen) -> bool:
    return _stamp(plugin.path) == plugin.stamp


def _keep(path: Path, scan: Scan) -> None:
    """A home that cannot be written costs time at the next start, nothing else."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(scan))
        os.replace(temporary, path)
    except OSError:
        return


def _scan(folders: Sequence[str]) -> Iterator[Seen]:
    names: set[str] = set()
    for folder in folders:
        try:
            entries = sorted(name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info")))
        except OSError:
            continue
        for entry in entries:
            for name, package in _points(Path(folder, entry, "entry_points.txt")):
                if name not in names:
                    names.add(name)
                    yield _seen(name, package, folder)


def _points(path: Path) -> Iterator[tuple[str, str]]:
    """The entry points of our group in one file: (name, package)."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if GROUP not in text:
        return
    section = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == GROUP and "=" in line:
            name, _, package = line.partition("=")
            yield name.strip(), package.partition(":")[0].strip()


def _seen(name: str, package: str, folder: str) -> Seen:
    import tomllib

    path = _locate(package, folder)
    if path is None:
        return Seen(name, os.path.join(folder, *package.split(".")), (0, 0), None, f"{package} has no plugin.toml")
    stamp = _stamp(path)
    try:
        value = tomllib.loads(Path(path).read_text("utf-8"))
        return Seen(name, path, stamp, msgspec.to_builtins(value))
    except (OSError, ValueError) as error:
        return Seen(name, path, stamp, None, f"{path} is not TOML: {error}")


def _locate(package: str, folder: str) -> str | None:
    """The manifest of a package, without importing it: beside its metadata, or where an editable install points."""
    inside = os.path.join(*package.split("."), "plugin.toml")
    here = os.path.realpath(os.getcwd())
    for place in (folder, *sys.path):
        path = os.path.join(place, inside)
        if place and os.path.realpath(place) != here and os.path.isfile(path):
            return path
    from importlib.util import find_spec

    top, _, rest = package.partition(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = os.path.join(place, *rest.split("."), "plugin.toml")
        if os.path.isfile(path):
            return path
    return None
