"""Plug-ins: tools, participants, models, MCP servers and agents that other packages bring."""
