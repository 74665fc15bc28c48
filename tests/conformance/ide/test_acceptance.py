"""The acceptance suite of the IDE protocol: the real `claude` command against Weft's server, every test of it.

The drivers are used unchanged. What failed is run once more by itself: the command has limits of its own (half a
second for the problems before an edit, two for those after it) that a crowded machine may go over.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.peers import peer_bin

HERE = Path(__file__).parent
SUITE = HERE / "drivers" / "test_cli.py"
TESTS = re.findall(r"^def (test_\w+)", SUITE.read_text(), re.MULTILINE)
CASES = 31
LIMIT = 900

Outcomes = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Outcomes]:
    """What became of each case, by test: empty when it passed."""
    # Paths of control sockets must be short, and pytest's own folders are not.
    folder = Path(tempfile.mkdtemp(prefix="weft-ide-"))
    try:
        found = _run(folder, "-n", "3")
        if any(problem for cases in found.values() for problem in cases.values()):
            again = _run(folder, "--last-failed")
            found = {test: {**cases, **again.get(test, {})} for test, cases in found.items()}
        yield found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(folder: Path, *flags: str) -> Outcomes:
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "CLAUDE", "PYTEST"))}
    said = folder / "said.txt"
    with said.open("wb") as output:
        run = subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", folder, "--confcutdir", SUITE.parent),
                *("-o", f"cache_dir={folder / 'cache'}", "-p", "tests.conformance.ide.patience"),
                *("--junitxml", report, *flags, SUITE),
            ],
            cwd=HERE.parents[2],
            env={
                **env,
                "CLAUDE_BIN": str(peer_bin("claude")),
                "IDE_SERVER": str(HERE / "controlled_server.py"),
                "PATH": f"{peer_bin('tmux').parent}{os.pathsep}{env['PATH']}",
                "TMPDIR": str(folder),
            },
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        run.wait(timeout=LIMIT)
    finally:
        # A driver that fails while it starts leaves what it has started already.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    assert report.exists(), said.read_text()[-5000:]
    found: Outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        problems = [f"{each.get('message', '')}\n{each.text or ''}" for each in case if each.tag != "properties"]
        found.setdefault(case.attrib["name"].partition("[")[0], {})[case.attrib["name"]] = "\n".join(problems)
    return found


def test_no_case_was_left_out(outcomes: Outcomes) -> None:
    assert sorted(outcomes) == sorted(TESTS)
    assert sum(len(cases) for cases in outcomes.values()) == CASES


@pytest.mark.parametrize("test", TESTS)
def test_the_real_command_works_with_our_server(test: str, outcomes: Outcomes) -> None:
    assert [problem for problem in outcomes[test].values() if problem] == []
