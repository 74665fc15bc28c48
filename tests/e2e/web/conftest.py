"""A real browser, started once."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.web.site import Site, launch, playwright

IMAGES = Path(__file__).resolve().parents[3] / "docs" / "images"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with playwright().sync_playwright() as api:
        started = launch(api)
        yield started
        started.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "bookshop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "shelf.py").write_text("def parse(line):\n    return line.split()[0]\n")
    (folder / "src" / "prices.py").write_text("PRICES = {}\n")
    (folder / "README.md").write_text("# Bookshop\n")
    return folder


@pytest.fixture
def serve(project: Path) -> Iterator[Callable[..., Site]]:
    sites: list[Site] = []

    def start(turns: Any = (), **hub: Any) -> Site:
        site = Site(project, turns, **hub)
        site.__enter__()
        sites.append(site)
        return site

    yield start
    for site in reversed(sites):
        site.__exit__(None, None, None)


class Visit:
    """A page that was opened by a one-time link. What goes wrong in it fails the test."""

    def __init__(self, browser: Any, site: Site, **context: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 860}, **context)
        self.context.set_default_timeout(30_000)
        self.problems: list[str] = []
        self.page = self.new_page()
        self.page.goto(site.link())
        self.page.wait_for_selector(".composer textarea")

    def new_page(self) -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)
        return page

    def say(self, text: str) -> None:
        self.page.fill(".composer textarea", text)
        self.page.keyboard.press("Enter")

    def leave(self) -> None:
        """Closes the page before its host ends: a page would rightly complain."""
        self.context.close()

    def shot(self, name: str) -> None:
        """Into the documentation, when `WEFT_SCREENSHOTS` is set: pictures differ a little from run to run."""
        if not os.environ.get("WEFT_SCREENSHOTS"):
            return
        self.page.wait_for_timeout(300)
        IMAGES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(IMAGES / f"web-{name}.png"))


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    visits: list[Visit] = []

    def go(site: Site, **context: Any) -> Visit:
        visits.append(Visit(browser, site, **context))
        return visits[-1]

    yield go
    problems = [problem for each in visits for problem in each.problems]
    for each in visits:
        each.context.close()
    assert problems == []
