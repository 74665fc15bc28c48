"""`python -m weft`."""

from weft.cli.main import entry

entry()
