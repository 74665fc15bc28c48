"""A plug-in for the acceptance drivers: they wait for what they see, however slow the machine is.

The drivers are used as they are, and so is everything that they expect. What changes is the waiting: a line is sent
when it stands on the screen, a decision is made when its question stands there, and what must come may take a minute.
What must not come is awaited for as long as the driver says.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

LIMIT = 60.0
POLL = 0.02
_waits_for_nothing = False


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Function) -> None:
    global _waits_for_nothing
    case = getattr(item, "callspec", None)
    _waits_for_nothing = case is not None and case.params.get("attaches") is False


def pytest_collection_modifyitems() -> None:
    peer = sys.modules["cli_peer"].CliPeer
    peer.until, peer.say, peer.key = _until, _say, _key(peer.key)
    suite: Any = sys.modules["test_cli"]
    suite.edit = _seen(suite.edit)


def _until(self: Any, condition: Callable[[], object], timeout: float = 20) -> bool:
    end = time.monotonic() + (timeout if _waits_for_nothing else max(timeout, LIMIT))
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(POLL)
    return False


def _say(self: Any, text: str) -> None:
    self.tmux("send-keys", "-t", "x", "-l", text)
    assert self.until(lambda: text in self.screen()), self.screen()
    time.sleep(0.3)  # an Enter in the same breath is taken for a pasted line
    self.key("Enter")


def _key(press: Callable[..., None]) -> Callable[..., None]:
    """A question that has only just come up takes no key yet: then again."""

    def patient(peer: Any, *keys: str) -> None:
        asked = "Do you want to" in peer.screen()
        press(peer, *keys)
        while asked and not _gone(peer):
            press(peer, *keys)

    return patient


def _gone(peer: Any) -> bool:
    end = time.monotonic() + 2
    while "Do you want to" in peer.screen():
        if time.monotonic() > end:
            return False
        time.sleep(POLL)
    return True


def _seen(edit: Callable[..., Any]) -> Callable[..., Any]:
    """The editor hears of a change a moment before the terminal asks about it, and takes keys."""

    def patient(peer: Any, *arguments: str) -> Any:
        asked = edit(peer, *arguments)
        assert peer.until(lambda: "Do you want to" in peer.screen()), peer.screen()
        return asked

    return patient
