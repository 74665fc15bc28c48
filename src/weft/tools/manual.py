"""A tool's manual for the model: the Markdown file beside its module."""

import sys
from functools import cache
from pathlib import Path


@cache
def manual_of(tool: type[object]) -> str:
    """The text of `<module>.md`."""
    module = sys.modules[tool.__module__]
    source = module.__file__ or ""
    return Path(source).with_suffix(".md").read_text(encoding="utf-8").strip()
