"""The process that builds an index and keeps it fresh: `python -m weft.extend.editor_tools.index.indexer ROOT FILE`.

It runs beside the session at low priority and says on standard output, a JSON object a line, how far it is:
`{"done", "total"}` while it works, `{"ready", "files"}` when all is in, `{"updated"}` after each change on disk. With
`--watch` it stays until its standard input closes.
"""

import contextlib
import os
import re
import sqlite3
import sys
import threading
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Final

import msgspec

from weft.extend.editor_tools.index.chunks import cut
from weft.extend.editor_tools.index.store import Store, discard, open_readable
from weft.tools.ripgrep import find_ripgrep
from weft.transports.listing import list_files

BATCH: Final = 200
ENDINGS: Final = frozenset(
    re.findall(
        r"\S+",
        ".py .pyi .js .jsx .mjs .cjs .ts .mts .cts .tsx .go .rs .java .kt .kts .scala .c .h .cc .cpp .cxx .hpp .hh "
        ".cs .rb .php .swift .m .mm .lua .pl .pm .r .jl .ex .exs .erl .hs .ml .clj .dart .vue .svelte .sh .bash "
        ".zsh .sql .proto .graphql .md .rst .txt .toml .yaml .yml .ini .cfg .html .css .scss .tf .cmake .gradle .nix",
    )
)
NAMES: Final = frozenset({"Makefile", "Dockerfile", "CMakeLists.txt", "Rakefile", "Gemfile", "Justfile"})


def wanted(path: str) -> bool:
    name = os.path.basename(path)
    return name in NAMES or os.path.splitext(name)[1].lower() in ENDINGS


def say(**words: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(words) + b"\n")
    sys.stdout.buffer.flush()


def stamp_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def build(root: Path, store: Store) -> int:
    """Brings the index to what is on disk; returns how many files it has."""
    known = store.stamps()
    files = [path for path in list_files(root, find_ripgrep()) if wanted(path)]
    stamps = {path: stamp for path in files if (stamp := stamp_of(root / path)) is not None}
    gone = [path for path in known if path not in stamps]
    changed = [path for path, stamp in stamps.items() if known.get(path) != stamp]
    for path in gone:
        store.remove(path)
    say(done=0, total=len(changed))
    for count, path in enumerate(changed, 1):
        put(root, path, stamps[path], store)
        if count % BATCH == 0:
            store.commit()
            say(done=count, total=len(changed))
    if changed or gone:
        store.finish()
    return len(stamps)


def put(root: Path, path: str, stamp: tuple[int, int], store: Store) -> None:
    try:
        data = (root / path).read_bytes() if stamp[1] <= 2_000_000 else b"\0"
    except OSError:
        store.remove(path)
        return
    store.put(path, stamp, cut(data, path))


def update(root: Path, paths: Iterable[str], store: Store) -> int:
    """These files changed, came or went. Those that the listing leaves out stay out."""
    known = store.stamps()
    count = 0
    listed: set[str] | None = None
    for path in paths:
        stamp = stamp_of(root / path)
        if stamp is None or not (root / path).is_file():
            inside = [one for one in known if one == path or one.startswith(path + os.sep)]
            for one in inside:
                store.remove(one)
            count += len(inside)
        elif wanted(path) and known.get(path) != stamp:
            if path not in known:
                listed = set(list_files(root, find_ripgrep())) if listed is None else listed
                if path not in listed:
                    continue
            put(root, path, stamp, store)
            count += 1
    store.commit()
    return count


def watch(root: Path, store: Store, stop: threading.Event) -> None:
    import watchfiles

    first = True
    for changes in watchfiles.watch(root, stop_event=stop, rust_timeout=500, yield_on_timeout=True, step=100):
        if first:  # What changed between the build and the first watch.
            first = False
            build(root, store)
        paths = sorted({os.path.relpath(path, root) for _, path in changes})
        kept = [path for path in paths if not any(part == ".git" for part in Path(path).parts)]
        if kept and (count := update(root, kept, store)):
            say(updated=count)


def main(argv: list[str]) -> int:
    stay = "--watch" in argv
    root, file = (Path(each) for each in argv if each != "--watch")
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    stop = threading.Event()
    if stay:
        threading.Thread(target=_until_closed, args=(stop,), daemon=True).start()
    with _alone(file, stop) as first:
        return _work(root, file, stop, stay=stay) if first else 0


@contextlib.contextmanager
def _alone(file: Path, stop: threading.Event) -> Generator[bool]:
    """One process writes an index. Others wait until it goes; what it has written is there for their sessions too.
    False when our session ended first."""
    import fcntl

    file.parent.mkdir(parents=True, exist_ok=True)
    told = False
    with open(file.with_suffix(".lock"), "w") as lock:
        while not stop.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                told = told or _tell_of(file)
                stop.wait(1.0)
                continue
            yield True
            return
    yield False


def _tell_of(file: Path) -> bool:
    """Says that the index is ready when another process has built it."""
    db = open_readable(file)
    if db is None:
        return False
    try:
        ready = db.execute("SELECT value FROM meta WHERE key = 'ready'").fetchone() is not None
        (count,) = db.execute("SELECT count(*) FROM files").fetchone()
    finally:
        db.close()
    if ready:
        say(ready=True, files=count)
    return ready


def _work(root: Path, file: Path, stop: threading.Event, *, stay: bool) -> int:
    try:
        store, count = _filled(root, file)
    except sqlite3.DatabaseError:  # A damaged index: all that is in it is in the tree, too.
        discard(file)
        store, count = _filled(root, file)
    say(ready=True, files=count)
    if stay:
        watch(root, store, stop)
    store.close()
    return 0


def _filled(root: Path, file: Path) -> tuple[Store, int]:
    store = Store(file)
    if store.stale:
        store.close()
        discard(file)
        store = Store(file)
    return store, build(root, store)


def _until_closed(stop: threading.Event) -> None:
    """The session holds our standard input; when it goes, so do we."""
    with contextlib.suppress(OSError):
        sys.stdin.buffer.read()
    stop.set()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
