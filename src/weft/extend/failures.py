"""Errors of plug-in code as sentences."""

import logging

from weft.errors import WeftError

logger = logging.getLogger(__name__)


def sentence(plugin: str, error: Exception) -> str:
    """What the model and the person read. The traceback goes to the log."""
    if isinstance(error, WeftError):
        return str(error)
    logger.warning("the plug-in %s failed", plugin, exc_info=error)
    words = str(error).strip()
    return f"the plug-in {plugin} failed: {error.__class__.__name__}" + (f": {words}" if words else "")
