"""The demo's scripted model says what happened, also when it went wrong."""

from pathlib import Path

import pytest

from tests.integration.driving import ended, session, turn
from weft.cli.demo_script import NEW, OLD, script

SOURCE = f'def median(values):\n    """The middle value."""\n    ordered = sorted(values)\n{OLD}'
TESTS = """\
import unittest
from tally import median


class Median(unittest.TestCase):
    def test_median(self):
        self.assertEqual(median([1, 2, 3, 4]), {expected})
"""


@pytest.mark.parametrize(
    ("source", "expected", "options", "words"),
    [
        (SOURCE, 2.5, {}, "The tests pass now."),
        (SOURCE, 7, {}, "The tests still fail after my change."),
        (SOURCE.replace(OLD, NEW), 2.5, {}, "The tests pass already, so I changed nothing."),
        ("def median(values):\n    return 0\n", 2.5, {}, "I changed nothing."),
        (SOURCE, 2.5, {"mode": "default"}, "The edit was not made, so the bug is still there"),
        (SOURCE, 2.5, {"allowed_tools": ()}, "I made a change, but could not check it."),
    ],
)
async def test_what_it_says_is_what_happened(
    source: str, expected: float, options: dict[str, object], words: str, tmp_path: Path
):
    (tmp_path / "tally.py").write_text(source)
    (tmp_path / "test_tally.py").write_text(TESTS.format(expected=expected))
    usual: dict[str, object] = {"mode": "acceptEdits", "allowed_tools": ("Bash(python3 -m unittest *)",)}
    async with session(tmp_path, script(tmp_path), **{**usual, **options}) as (connection, _):
        events = await turn(connection, "mend it")
    assert words in ended(events).text
