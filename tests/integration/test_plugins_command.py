"""`weft plugin`, run as people run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.plugin_wheels import EXAMPLES, install_examples

ROOT = Path(__file__).parents[2]


def weft(cwd: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "weft", "plugin", *arguments],
        cwd=cwd,
        env={**os.environ, "WEFT_HOME": str(cwd / ".home"), "PYTHONPATH": str(ROOT / "src"), **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_new_plugin_works_and_its_test_passes(tmp_path: Path) -> None:
    made = weft(tmp_path, "new", "rain-gauge")
    assert made.returncode == 0 and "rain-gauge is a plug-in now" in made.stdout
    folder = tmp_path / "rain-gauge"
    checked = weft(tmp_path, "check", "rain-gauge")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "tool rain_gauge_count #rain-gauge" in checked.stdout and "@rain-gauge" in checked.stdout
    paths = os.pathsep.join((str(ROOT / "src"), str(folder / "src")))
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert tested.returncode == 0 and "3 passed" in tested.stdout, tested.stdout
    again = weft(tmp_path, "new", "rain-gauge")
    assert again.returncode == 2 and "not empty" in again.stderr
    assert weft(tmp_path, "new", "Rain Gauge").returncode == 2


def test_installed_and_local_plugins_are_listed(tmp_path: Path) -> None:
    site = install_examples(tmp_path / "built")
    local = tmp_path / ".weft" / "plugins" / "mine"
    local.mkdir(parents=True)
    (local / "plugin.toml").write_text('[plugin]\nname = "mine"\n')
    paths = os.pathsep.join((str(ROOT / "src"), str(site)))
    shown = weft(tmp_path, "list", PYTHONPATH=paths)
    assert "wordcount 1.0.0 (installed, on)" in shown.stdout
    assert "participant @librarian /list /summary /title" in shown.stdout
    assert "mine (local, off)" in shown.stdout and "weft trust" in shown.stderr
    rows = json.loads(weft(tmp_path, "list", "--json", PYTHONPATH=paths).stdout)
    assert {row["name"] for row in rows if row["on"]} == {"librarian", "wordcount"}


@pytest.mark.parametrize("example", ["weft-wordcount", "weft-librarian"])
def test_the_examples_are_right(example: str, tmp_path: Path) -> None:
    checked = weft(tmp_path, "check", str(EXAMPLES / example))
    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_check_says_all_that_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    entry = '[[tool]]\nname = "{0}"\nrun = "code:{1}"\ndisplay_name = "x"\nmodel_description = "x"\n'
    tools = [("one", "missing"), ("two", "short"), ("readFile", "fine")]
    text = '[plugin]\nname = "bad"\n' + "".join(entry.format(*tool) for tool in tools)
    text += '[tool.input_schema]\ntype = "object"\nrequired = "x"\n'
    text += '[[tool_set]]\nname = "all"\ntools = ["nothing"]\n'
    (folder / "plugin.toml").write_text(text)
    (folder / "code.py").write_text("async def short(input): ...\nasync def fine(input, call): ...\n")
    checked = weft(tmp_path, "check", "bad")
    assert checked.returncode == 1
    for words in ("missing", "must take 2 arguments", "not a JSON schema", "there is no tool nothing"):
        assert words in checked.stderr
    assert "neither a file nor a plug-in" in weft(tmp_path, "check", "nowhere").stderr
