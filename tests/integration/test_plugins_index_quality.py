"""The promise of the code index, on the labelled questions in `bench/`, over five of their packages."""

import json
import sysconfig
from pathlib import Path
from typing import Any

from weft.extend.editor_tools.index.chunks import cut
from weft.extend.editor_tools.index.search import search
from weft.extend.editor_tools.index.store import Store, open_readable

BENCH = Path(__file__).parents[2] / "bench"
PACKAGES = ("anyio", "mcp", "rich", "starlette", "websockets")


def test_the_right_file_is_among_the_first_five_for_nine_of_ten_questions(tmp_path: Path) -> None:
    root = Path(sysconfig.get_path("purelib"))
    store = Store(tmp_path / "index.db")
    for name in PACKAGES:
        for path in sorted((root / name).rglob("*.py")):
            file = str(path.relative_to(root))
            store.put(file, (0, 0), cut(path.read_bytes(), file))
    store.finish()
    store.close()
    db = open_readable(tmp_path / "index.db")
    assert db is not None
    docstrings = [(row["query"], [row["file"]]) for row in _rows("queries.json")]
    commits = [(row["query"], row["files"]) for row in _rows("commits.json")]
    shares: list[float] = []
    for part in (docstrings, commits):
        asked = [(query, labels) for query, labels in part if labels[0].split("/")[0] in PACKAGES]
        assert len(asked) >= 80
        right = sum(any(hit.path in labels for hit in search(db, query, limit=5)) for query, labels in asked)
        shares.append(right / len(asked))
    db.close()
    assert min(shares) >= 0.9, shares


def _rows(name: str) -> list[dict[str, Any]]:
    return json.loads((BENCH / name).read_text("utf-8"))
