"""The promise of the code index, on the labelled questions of `bench/queries.json`, over three of their packages."""

import json
import sysconfig
from pathlib import Path

from weft.extend.editor_tools.index.chunks import cut
from weft.extend.editor_tools.index.search import search
from weft.extend.editor_tools.index.store import Store, open_readable

QUERIES = Path(__file__).parents[2] / "bench" / "queries.json"
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
    rows = [row for row in json.loads(QUERIES.read_text("utf-8")) if row["file"].split("/")[0] in PACKAGES]
    db = open_readable(tmp_path / "index.db")
    assert db is not None and len(rows) >= 80
    right = sum(row["file"] in [hit.path for hit in search(db, row["query"], limit=5)] for row in rows)
    db.close()
    assert right / len(rows) >= 0.9
