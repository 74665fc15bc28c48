"""The server itself, with the official package."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("shelf")


@server.tool()
def shelf_mark(title: str) -> str:
    """The shelf mark of a title."""
    return f"{title[:3].upper()}-{len(title)}"


if __name__ == "__main__":
    server.run("stdio")
