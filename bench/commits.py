"""Makes `bench/commits.json`, questions from commit messages: `python bench/commits.py FOLDER`.

FOLDER holds clones (or bare git directories) of the repositories below, each as `owner+name/repo`. A question is the
subject of a commit on the main branch that changed one or two source files, its label these files. Only files count
that the installed package still has. A subject must name something of the code (a name with an underscore or a capital
inside, in backticks, with a dot or with brackets, or an option), and one of the files must still have that name: what
names nothing ("Fix the build") has no answer, and code that moved away has a wrong one. Subjects about releases,
merges, reverts, style, types and documentation are left out, and so are those of fewer than four words. At most forty
are taken from each repository, in the order of the hashes of their subjects.
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

from queries import site

SOURCES = {
    "agronholm+anyio": ("src/anyio/", "anyio/"),
    "HypothesisWorks+hypothesis": ("hypothesis-python/src/hypothesis/", "hypothesis/"),
    "python-jsonschema+jsonschema": ("jsonschema/", "jsonschema/"),
    "executablebooks+markdown-it-py": ("markdown_it/", "markdown_it/"),
    "modelcontextprotocol+python-sdk": ("src/mcp/", "mcp/"),
    "prompt-toolkit+python-prompt-toolkit": ("src/prompt_toolkit/", "prompt_toolkit/"),
    "Textualize+rich": ("rich/", "rich/"),
    "encode+starlette": ("starlette/", "starlette/"),
    "Textualize+textual": ("src/textual/", "textual/"),
    "encode+uvicorn": ("uvicorn/", "uvicorn/"),
    "python-websockets+websockets": ("src/websockets/", "websockets/"),
}
OUT = Path(__file__).with_name("commits.json")
EACH = 40
_NO_PLACE = re.compile(
    r"\b(merge|revert|release|bump|version|changelog|typos?|spelling|docs?|docstrings?|documentation|readme|comments?|"
    r"lint|linting|ruff|black|isort|flake8|mypy|pyright|typing|types?|annotations?|imports?|format|formatting|style|"
    r"tests?|ci|wip|review|suggestions?|cleanup|clean up|refactor\w*|rename\w*|tidy|tweaks?|snapshots?|copyright|"
    r"co-authored|pre-commit)\b",
    re.IGNORECASE,
)


def subjects(git: Path, folder: str) -> list[tuple[str, list[str]]]:
    """Each commit's subject with the Python files that it changed below `folder`, tests left out."""
    log = subprocess.run(
        ["git", "-C", str(git), "log", "--no-merges", "--no-renames", "--name-only", "--format=%x00%s", "HEAD"],
        capture_output=True, text=True, check=True, encoding="utf-8", errors="replace",
    ).stdout  # fmt: skip
    found: list[tuple[str, list[str]]] = []
    for entry in log.split("\0")[1:]:
        subject, *names = (line for line in entry.split("\n") if line)
        found.append(
            (
                subject,
                [name for name in names if name.endswith(".py") and name.startswith(folder) and "/tests/" not in name],
            )
        )
    return found


def cleaned(subject: str) -> str:
    text = re.sub(r"\s*\(?(?:#|gh-)\d+\)?", "", subject)
    text = re.sub(r"^(?:fix|feat|perf|chore|build|docs|test|refactor|style)(?:\([^)]*\))?!?:\s*", "", text, flags=re.I)
    return " ".join(text.split()).rstrip(".")


_NAME = re.compile(r"`[^`]+`|--[a-z][\w-]+|\w+\(\)|\w*[a-z0-9]_\w+|_\w+|\b[A-Za-z]*[a-z][A-Z]\w*|\b[a-z]\w+\.[a-z]\w+")


def names_in(text: str) -> list[str]:
    """What it names of the code, bare: the last part of a dotted name."""
    found = (each.strip("`()").rstrip("().,:") for each in _NAME.findall(text))
    return [each.split("(")[0].split(".")[-1] for each in found if len(each) > 2]


def is_question(text: str) -> bool:
    return 4 <= len(text.split()) <= 20 and text.isascii() and not _NO_PLACE.search(text)


def main() -> int:
    root, rows = site(), []
    for name, (folder, package) in SOURCES.items():
        kept: dict[str, list[str]] = {}
        for subject, names in subjects(Path(sys.argv[1]) / name / "repo", folder):
            text = cleaned(subject)
            files = [package + each.removeprefix(folder) for each in names]
            if not (1 <= len(files) <= 2 and is_question(text) and all((root / each).is_file() for each in files)):
                continue
            bodies = [(root / each).read_text("utf-8") for each in files]
            if any(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", body) for one in names_in(text) for body in bodies):
                kept.setdefault(text, files)
        chosen = sorted(kept, key=lambda text: hashlib.sha256(text.encode()).digest())[:EACH]
        for text in sorted(chosen):
            rows.append({"query": text, "files": kept[text], "source": name.replace("+", "/")})
        print(f"{name}: {len(chosen)} of {len(kept)}")
    OUT.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n", "utf-8")
    print(len(rows), "questions")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
