"""The same scripted conversation, by the real command (recorded) and by Weft (now): the same messages, the same fields.

Every difference is listed in `docs/compatibility.md` with its reason, and here.
"""

import json
import sys
from pathlib import Path

import pytest

from tests.conformance.stream_json.shapes import CASES, FIXTURES, play, shape

DIFFERENCES = {
    "memory_paths": "Weft keeps no automatic memory beside the project's own files",
    "messaging_socket_path": "Weft opens no socket that other processes could write messages to",
    "request_sent_wall_ms": "No event tells when a request left; how long its answer took is in ttft_ms",
    "thinking_display": "Weft shows thinking as the provider gives it and has no second form of it",
}
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "compatibility.md"


@pytest.mark.parametrize("name", CASES)
async def test_the_messages_and_their_fields_are_those_of_the_real_command(name: str, tmp_path: Path):
    theirs = json.loads((FIXTURES / f"{name}.json").read_text())
    ours = shape(await play([sys.executable, "-m", "weft"], CASES[name], tmp_path))
    assert ours["order"] == theirs["order"]
    for kind, fields in theirs["fields"].items():
        assert set(fields) - set(ours["fields"][kind]) - set(DIFFERENCES) == set(), kind


def test_every_difference_is_documented():
    text = DOCUMENT.read_text()
    assert [field for field in DIFFERENCES if f"`{field}`" not in text] == []


def test_every_case_was_recorded():
    assert sorted(path.stem for path in FIXTURES.glob("*.json")) == sorted(CASES)
