"""The closed unions: small enough to know by heart, and each member says when it may appear."""

from typing import get_args

import msgspec
import pytest

from weft.schema.commands import Command
from weft.schema.events import AgentEvent


@pytest.mark.parametrize("kind", [*get_args(AgentEvent), *get_args(Command)])
def test_every_event_and_command_says_when_it_may_appear(kind: type[msgspec.Struct]):
    assert (vars(kind).get("__doc__") or "").strip()


def test_the_families_of_events_stay_few():
    assert len(get_args(AgentEvent)) < 25
