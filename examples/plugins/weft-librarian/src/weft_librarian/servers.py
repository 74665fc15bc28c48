"""An MCP server that comes with the plug-in."""

import sys
from collections.abc import Sequence

from weft.extend.api import Host, HttpServer, StdioServer


class Shelf:
    async def servers(self, host: Host) -> Sequence[StdioServer | HttpServer]:
        return (StdioServer(label="shelf", command=sys.executable, args=("-m", "weft_librarian.shelf")),)

    async def resolve(self, server: StdioServer | HttpServer, host: Host) -> StdioServer | HttpServer | None:
        """The last look before it is started: a place for a key, or for leaving it out."""
        return server if host.folders else None
