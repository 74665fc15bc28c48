"""Agents that speak stream-json: Claude Code, our own command, and whatever else writes such lines."""
