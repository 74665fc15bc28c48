"""What is found by a search of the workspace's files."""

import subprocess
from pathlib import Path

from weft.surfaces.files import Folders


def test_a_search_leaves_out_what_git_ignores(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("build/\n*.log\n!kept.log\n")
    for name in ("build/out.py", "src/main.py", "noise.log", "kept.log", ".github/ci.yml", "node_modules/x/main.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "src" / ".gitignore").write_text("secret.py\n")
    (tmp_path / "src" / "secret.py").write_text("")
    found = Folders([tmp_path])
    assert found.search("main", 10) == ["src/main.py"]
    assert found.search("out", 10) == []
    assert found.search("secret", 10) == []
    assert found.search(".log", 10) == ["kept.log"]
    assert found.search("ci.yml", 10) == [".github/ci.yml"]
    assert found.search("", 10) == [".github/", ".gitignore", "kept.log", "src/"]
    everything = Folders([tmp_path], shows_ignored=lambda folder: True)
    assert everything.search("out", 10) == ["build/out.py"]
    assert everything.search("main", 10) == ["src/main.py"]


def test_a_folder_without_git_is_searched_whole(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a b.txt").write_text("")
    assert Folders([tmp_path]).search("a b", 10) == ["sub/a b.txt"]
    assert Folders([tmp_path]).search("sub", 10) == ["sub/", "sub/a b.txt"]
