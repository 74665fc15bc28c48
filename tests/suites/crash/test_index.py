"""The indexer killed while it writes: the next one completes the index, and replaces one that is damaged."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suites.processes import SOURCE
from weft.extend.editor_tools.index.search import search
from weft.extend.editor_tools.index.service import INDEXER
from weft.extend.editor_tools.index.store import open_readable

FILES = 600


def project(folder: Path) -> Path:
    for number in range(FILES):
        place = folder / f"part{number % 30}"
        place.mkdir(parents=True, exist_ok=True)
        words = "\n".join(f"def step_{number}_{line}():\n    return 'marmalade{number}'\n" for line in range(8))
        (place / f"file{number}.py").write_text(words)
    return folder


def indexer(root: Path, file: Path) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-P", "-m", INDEXER, str(root), str(file)]
    return subprocess.Popen(argv, cwd="/", stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SOURCE)})


def finds_everything(root: Path, file: Path) -> None:
    done = indexer(root, file)
    said, _ = done.communicate(timeout=120)
    assert done.returncode == 0 and b'"ready":true' in said, said
    db = open_readable(file)
    assert db is not None
    try:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM files").fetchone() == (FILES,)
        for number in (0, FILES // 2, FILES - 1):
            (first, *_) = search(db, f"marmalade{number}")
            assert first.path == f"part{number % 30}/file{number}.py"
    finally:
        db.close()


def test_kills_while_it_builds_leave_an_index_that_the_next_one_completes(tmp_path: Path):
    root, file = project(tmp_path / "tree"), tmp_path / "index.db"
    chance = random.Random(11)
    for _ in range(5):
        child = indexer(root, file)
        assert child.stdout is not None
        for _ in range(chance.randrange(1, 4)):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        changed = root / "part0" / "file0.py"
        changed.write_text(changed.read_text() + "\n# changed\n")
    finds_everything(root, file)


@pytest.mark.parametrize("damage", ["cut", "garbage", "middle", "empty", "no log"])
def test_a_damaged_index_is_built_anew(damage: str, tmp_path: Path):
    root, file = project(tmp_path / "tree"), tmp_path / "index.db"
    finds_everything(root, file)
    whole = file.read_bytes()
    match damage:
        case "cut":
            file.write_bytes(whole[: len(whole) // 2])
        case "garbage":
            file.write_bytes(whole[:4096] + random.Random(3).randbytes(len(whole) - 4096))
        case "middle":
            begin = 4096 * (len(whole) // 8192)
            file.write_bytes(whole[:begin] + random.Random(5).randbytes(4096 * 30) + whole[begin + 4096 * 30 :])
            for path in root.rglob("*.py"):
                path.write_text(path.read_text() + "\n# changed\n")
        case "empty":
            file.write_bytes(b"")
        case _:
            for ending in ("-wal", "-shm"):
                file.with_name(file.name + ending).unlink(missing_ok=True)
    finds_everything(root, file)
