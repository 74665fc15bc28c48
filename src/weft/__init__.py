"""Weft: an AI coding agent, and the whole stack that joins it to an editor."""

__version__ = "0.1.0"
