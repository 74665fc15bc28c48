"""Settings: files in layers, read once at the start. See `docs/settings.md`."""

from weft.settings.layers import Layer, Problem, Scope, Settings
from weft.settings.load import load_settings

__all__ = ["Layer", "Problem", "Scope", "Settings", "load_settings"]
