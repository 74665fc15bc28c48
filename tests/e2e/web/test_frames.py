"""The page in a frame of another site, as an editor embeds it: only where the person allowed it."""

import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.web.site import Site, relaunch
from weft.testing.connection import said

Serve = Callable[..., Site]


class Embedder(http.server.BaseHTTPRequestHandler):
    """An editor's page: whatever address stands after `?` is shown in a frame."""

    def do_GET(self) -> None:
        address = self.path.partition("?")[2]
        body = f'<!doctype html><title>Editor</title><iframe id="weft" width="700" height="600" src="{address}">'
        self.send_response(200 if address else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode() if address else b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def editor() -> Iterator[str]:
    """The origin of a page that is of another site than 127.0.0.1."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Embedder)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=[(), ("--test-third-party-cookie-phaseout",)], ids=["as it comes", "no third-party cookies"])
def tab(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A tab of a browser, also of one that takes no cookies from frames of other sites."""
    used = relaunch(browser, *request.param) if request.param else browser
    context = used.new_context()
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()
    if used is not browser:
        used.close()


def test_an_allowed_page_shows_the_conversation_in_a_frame(serve: Serve, tab: Any, editor: str) -> None:
    site = serve([said("Hello from the frame.")], ancestors=[editor])
    tab.goto(f"{editor}/?{site.link()}?theme=dark&lang=zh")
    frame = tab.frame_locator("#weft")
    frame.locator(".composer textarea").fill("Hello")
    frame.locator(".composer textarea").press("Enter")
    frame.locator(".log .prose", has_text="Hello from the frame.").wait_for()
    assert frame.locator("html[data-theme=dark][lang=zh-CN]").count() == 1
    (cookie,) = tab.context.cookies()
    assert (cookie["sameSite"], cookie["secure"], cookie["httpOnly"]) == ("None", True, True)
    assert cookie["partitionKey"] == "http://localhost"
    # The same link again: it was used, and the frame's cookie lets it in. An editor builds its frames anew, and the
    # conversation is where it was.
    tab.reload()
    tab.frame_locator("#weft").locator(".log .prose", has_text="Hello from the frame.").wait_for()


@pytest.mark.parametrize("ancestors", [[], ["vscode", "http://localhost:1"]], ids=["nobody", "others"])
def test_nobody_else_can_show_it_in_a_frame(browser: Any, serve: Serve, editor: str, ancestors: list[str]) -> None:
    site = serve([said("Never seen.")], ancestors=ancestors)
    context = browser.new_context()
    tab = context.new_page()
    with tab.expect_console_message(lambda line: "frame-ancestors" in line.text, timeout=60_000):
        tab.goto(f"{editor}/?{site.link()}")
    assert tab.frame_locator("#weft").locator(".composer").count() == 0
    context.close()
