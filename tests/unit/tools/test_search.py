"""Grep and Glob: with ripgrep, and without it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from weft.errors import ToolError
from weft.schema.content import Json
from weft.testing.tool_context import fake_tool_context
from weft.tools import glob, grep, search_fallback
from weft.tools.glob import Glob
from weft.tools.globs import compile_glob
from weft.tools.grep import Grep
from weft.tools.port import ToolContext
from weft.workspace.local import LocalWorkspace

FILES = {
    "a.py": "import os\n\ndef alpha():\n    return 1\n",
    "src/b.py": "def beta():\n    return alpha()\n",
    "src/deep/c.ts": "const alpha = 1;\nconst Alpha = 2;\n",
    "src/ignored.log": "alpha\n",
    ".hidden/d.md": "alpha here\n",
    ".gitignore": "*.log\n",
    "secret/key.txt": "alpha secret\n",
}


def _none() -> None:
    return None


@pytest.fixture(params=["ripgrep", "git", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param != "ripgrep":
        monkeypatch.setattr(glob, "find_ripgrep", _none)
        monkeypatch.setattr(grep, "find_ripgrep", _none)
    if request.param == "python":
        monkeypatch.setattr(search_fallback.shutil, "which", lambda _name: None)
    yield request.param


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path))
    for age, (name, text) in enumerate(FILES.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def context(root: Path) -> ToolContext:
    return fake_tool_context(LocalWorkspace([root]))


async def search(context: ToolContext, pattern: str, **args: object) -> str:
    tool = Grep()
    return str((await tool.run(tool.decode({"pattern": pattern, **args}), context)).content)


async def find(context: ToolContext, pattern: str, **args: object) -> str:
    tool = Glob()
    return str((await tool.run(tool.decode({"pattern": pattern, **args}), context)).content)


async def test_files_come_newest_first(context: ToolContext, engine: str) -> None:
    text = await search(context, "alpha", glob="*.{py,ts}")
    assert text == "Found 3 files\na.py\nsrc/b.py\nsrc/deep/c.ts"


async def test_lines_come_with_numbers_and_what_stands_around(context: ToolContext, engine: str) -> None:
    assert await search(context, r"def \w+", path="src", output_mode="content") == "src/b.py:1:def beta():"
    text = await search(context, "def", path="a.py", output_mode="content", **{"-A": 1, "-B": "1"})
    if engine != "git":
        assert text == "a.py-2-\na.py:3:def alpha():\na.py-4-    return 1"
    assert text.split("\n")[1] == "a.py:3:def alpha():"


async def test_counts_are_by_file(context: ToolContext, engine: str) -> None:
    text = await search(context, "alpha", type="ts", output_mode="count", **{"-i": True})
    assert text == "src/deep/c.ts:2\n\n2 matching lines in 1 files"


async def test_a_limit_says_how_to_go_on(context: ToolContext, engine: str) -> None:
    args: dict[str, Any] = {"path": "src/deep", "output_mode": "content", "-i": True}
    text = await search(context, "alpha", head_limit=1, **args)
    assert text.startswith("src/deep/c.ts:1:const alpha = 1;\n(There is more. Go on with offset=1")
    assert await search(context, "alpha", offset=1, **args) == "src/deep/c.ts:2:const Alpha = 2;"


async def test_nothing_found_is_said(context: ToolContext, engine: str) -> None:
    assert await search(context, "nowhere") == "No files found"
    assert await search(context, "nowhere", output_mode="content") == "No matches found"


async def test_a_match_over_lines_needs_to_be_asked_for(context: ToolContext, engine: str) -> None:
    assert await search(context, r"beta.*alpha", path="src") == "No files found"
    assert await search(context, r"beta.*alpha", path="src", multiline=True) == "Found 1 file\nsrc/b.py"


async def test_files_that_may_not_be_read_are_not_found(root: Path, engine: str) -> None:
    def allowed(_tool: str, value: Json) -> bool:
        return "/secret/" not in str(value["file_path"])

    context = fake_tool_context(LocalWorkspace([root]), allowed=allowed)
    for mode in ("content", "files_with_matches", "count"):
        assert "key.txt" not in await search(context, "alpha", output_mode=mode)
    assert await find(context, "**/*.txt") == "No files found"


async def test_a_wrong_pattern_is_explained(context: ToolContext, engine: str) -> None:
    with pytest.raises(ToolError, match=r"regular expression|failed"):
        await search(context, "(")
    with pytest.raises(ToolError, match="does not exist"):
        await search(context, "x", path="nope")


async def test_ignored_files_are_left_out_also_when_the_pattern_names_them(context: ToolContext) -> None:
    assert await find(context, "*.log") == "No files found"
    assert await find(context, "**/*") == "\n".join(
        ["a.py", "src/b.py", "src/deep/c.ts", ".hidden/d.md", ".gitignore", "secret/key.txt"]
    )


async def test_globs_find_by_path_and_by_name(context: ToolContext, engine: str, root: Path) -> None:
    assert await find(context, "*.py") == "a.py\nsrc/b.py"
    assert await find(context, "src/*.py") == "src/b.py"
    assert await find(context, "src/**/*.{ts,py}") == "src/b.py\nsrc/deep/c.ts"
    assert await find(context, "*.ts", path="src") == "src/deep/c.ts"
    assert await find(context, f"{root}/src/*.py") == "src/b.py"
    with pytest.raises(ToolError, match="not a folder"):
        await find(context, "*", path="a.py")
    with pytest.raises(ToolError, match=r"'\.\.'"):
        await find(context, "../*")


async def test_options_in_a_pattern_stay_a_pattern(context: ToolContext, tmp_path: Path) -> None:
    assert await search(context, f"--pre=touch {tmp_path}/owned") == "No files found"
    assert not (tmp_path / "owned").exists()


async def test_many_files_are_cut_and_counted(tmp_path: Path) -> None:
    for number in range(120):
        (tmp_path / f"f{number}.txt").touch()
    tool = Glob()
    result = await tool.run(tool.decode({"pattern": "*.txt"}), fake_tool_context(LocalWorkspace([tmp_path])))
    assert cast("dict[str, Any]", result.data)["truncated"] is True
    assert "100 of 120 files" in str(result.content)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a/b/c.py", True),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/*.py", "a/c.py", True),
        ("a/**", "a/b/c", True),
        ("[!a]*.py", "b.py", True),
        ("[!a]*.py", "a.py", False),
        ("{a,b{c,d}}.x", "bd.x", True),
        ("**/**/**/x", "a/b/x", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.b", "axb", False),
    ],
)
def test_patterns_mean_what_people_think(pattern: str, path: str, matches: bool) -> None:
    assert bool(compile_glob(pattern).fullmatch(path)) is matches
