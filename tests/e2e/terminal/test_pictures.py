"""The pictures of the documentation show the screen as it is. When one differs on purpose, write them again:
`python -m tests.e2e.terminal.pictures`."""

import re
from pathlib import Path

import pytest

from tests.e2e.terminal.pictures import IMAGES, SCENES, picture


def without_names(svg: str) -> str:
    """Textual names the parts of a picture by a checksum; the rest is what one sees."""
    return re.sub(r"terminal-\d+", "terminal", svg)


@pytest.mark.parametrize("name", SCENES)
async def test_the_picture_shows_the_screen_as_it_is(name: str, tmp_path: Path) -> None:
    kept = (IMAGES / f"{name}.svg").read_text("utf-8")
    assert without_names(await picture(name, tmp_path)) == without_names(kept)
