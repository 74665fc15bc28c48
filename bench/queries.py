"""Makes `bench/queries.json`, the labelled questions of the code index: `python bench/queries.py`.

A question is the first sentence of a docstring, its label the file that the docstring stands in. The trees are
packages from PyPI in the versions of `constraints.txt`. Sentences that stand in several files are left out, so each
has one right answer. Of the rest, four hundred are taken in the order of their hashes.
"""

import ast
import hashlib
import json
import re
import sysconfig
from pathlib import Path

PACKAGES = (
    "anyio", "hypothesis", "jsonschema", "markdown_it", "mcp", "prompt_toolkit", "rich", "starlette", "textual",
    "uvicorn", "websockets",
)  # fmt: skip
OUT = Path(__file__).with_name("queries.json")
COUNT = 400


def site() -> Path:
    return Path(sysconfig.get_path("purelib"))


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for name in PACKAGES for path in (root / name).rglob("*.py"))


def sentences(text: str) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            doc = ast.get_docstring(node)
            first = " ".join(re.split(r"(?<=[.!?])\s|\n\n", doc.strip())[0].split()) if doc else ""
            if 6 <= len(first.split()) <= 25:
                found.append(first)
    return found


def main() -> int:
    root = site()
    places: dict[str, set[str]] = {}
    for name in files(root):
        for sentence in sentences((root / name).read_text("utf-8")):
            places.setdefault(sentence, set()).add(name)
    single = [(sentence, next(iter(where))) for sentence, where in places.items() if len(where) == 1]
    chosen = sorted(single, key=lambda one: hashlib.sha256(one[0].encode()).digest())[:COUNT]
    rows = [{"query": query, "file": file} for query, file in sorted(chosen, key=lambda one: (one[1], one[0]))]
    OUT.write_text(json.dumps(rows, indent=0, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(rows)} questions of {len(single)}, over {len(files(root))} files")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
