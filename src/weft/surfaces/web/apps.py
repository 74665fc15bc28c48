"""Pages of MCP Apps: kept for as long as somebody may look at them, and served so that they can do nothing.

A frame's document is served from an address of its own, because a document that is written into a page inherits the
page's policy. It is sandboxed by its own header as well: opened alone, it still has no origin and no cookies.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from weft.schema.display import AppView

PATH: Final = "/app/"
SANDBOX: Final = "allow-scripts allow-forms"
MOST_PAGES: Final = 32


class AppPages:
    """The latest pages, by a hash of what they are."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, AppView] = OrderedDict()

    def keep(self, view: AppView) -> str:
        """The path that the page is served at."""
        name = hashlib.sha256(f"{view.policy}\0{view.document}".encode("utf-8", "replace")).hexdigest()[:32]
        self._pages[name] = view
        self._pages.move_to_end(name)
        while len(self._pages) > MOST_PAGES:
            self._pages.popitem(last=False)
        return PATH + name

    def find(self, name: str) -> AppView | None:
        return self._pages.get(name)


pages: Final = AppPages()


async def serve_app(request: Request, ancestors: Iterable[str] = ()) -> Response:
    """`ancestors` may show the page that the app's frame stands in."""
    view = pages.find(request.path_params["name"])
    if view is None:
        return PlainTextResponse("Not found", status_code=404)
    places = " ".join((f"http://{request.headers['host']}", *ancestors))
    headers = {"content-security-policy": f"{view.policy}; sandbox {SANDBOX}; frame-ancestors {places}"}
    return Response(view.document, media_type="text/html; charset=utf-8", headers=headers)
