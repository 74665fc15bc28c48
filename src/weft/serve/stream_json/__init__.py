"""Our agent as the Claude Agent SDK and its relatives expect one: JSON lines in and out."""
