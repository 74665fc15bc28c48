"""Our agent offered to others: a command that prints, a stream of JSON lines, ACP, MCP."""
