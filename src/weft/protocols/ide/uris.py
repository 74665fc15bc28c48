"""Paths and `file://` addresses, both ways."""

from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urlsplit

_SCHEMES = ("file", "_claude_fs_right", "_claude_fs_left")


def to_uri(path: str) -> str:
    return "file://" + quote(PurePosixPath(path).as_posix(), safe="/~@!$&'()*+,;=")


def to_path(uri: str) -> str | None:
    """The path of a file address, of a bare path, or of one side of a diff view; None for anything else."""
    if uri.startswith("/"):
        return uri
    scheme, colon, rest = uri.partition(":")
    if not colon or scheme not in _SCHEMES:
        return None
    if scheme == "file" and rest.startswith("//"):
        try:
            parts = urlsplit(uri)
        except ValueError:
            return None
        if parts.netloc not in ("", "localhost"):
            return None
        return unquote(parts.path) or None
    found = unquote(rest)
    return found if found.startswith("/") else None
