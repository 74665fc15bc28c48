"""The short form of `make soak`: a quarter of a minute through every surface at once."""

import pytest

from tests.suites.soak import soak, verdict

SURFACES = {"terminal", "page", "acp", "stream-json", "local", "print"}


async def test_conversations_through_every_surface_at_once_leave_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEFT_HOME", "")  # It is set for the agent of this process, and taken back at the end.
    found = await soak(15)
    assert set(found["turns"]) == SURFACES and all(found["turns"].values()), found
    assert verdict(found) == [], found
