"""JSON that is still arriving: a model writes a tool's input in pieces, and surfaces show it meanwhile.

A tracker reads each character once and knows at any moment where the text can be cut and what closes it; values are
made by the real parser from `text[:cut] + closers`. So feeding is linear, whatever the size of the pieces.
"""

import re

import msgspec

from weft.errors import RemoteProtocolError

_STRUCTURE = re.compile(r'[{}\[\]",]|[^\s{}\[\]",:]+')
_IN_STRING = re.compile(r'[^"\\]*')
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}$")


class PartialJson:
    """Feed pieces, ask for the value.

    A string that is still open is closed, brackets are closed, and what has no meaning yet is left out: a key without
    its value, half an escape, a number that may go on.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._joined = ""
        self._size = 0
        self._closers: list[str] = []
        self._in_string = False
        self._is_key = False
        self._wants_key = False
        self._escape = ""
        """An escape sequence that the end of the text cut: a backslash and what follows it so far."""
        self._surrogate = False
        """A whole `\\ud83d` was the last thing: the other half of the pair must follow."""
        self._in_scalar = False
        self._cut = 0
        """Text before this is whole; nothing after it means anything yet."""
        self._complete = False
        self._latest: object = None
        self._latest_size = -1

    def __len__(self) -> int:
        return self._size

    @property
    def text(self) -> str:
        """All that was fed."""
        if len(self._pieces) > 1 or not self._joined:
            self._joined = "".join(self._pieces)
            self._pieces = [self._joined]
        return self._joined

    @property
    def complete(self) -> bool:
        """Whether the outermost object or list is closed. A bare scalar is never known to be."""
        return self._complete

    def feed(self, piece: str) -> None:
        self._pieces.append(piece)
        at, end, base = 0, len(piece), self._size
        self._size += end
        while at < end:
            if self._in_string:
                at = self._read_string(piece, at, base)
            else:
                at = self._read_structure(piece, at, base)

    def value(self) -> object:
        """The value of all that was fed, repaired; None before there is one. Costs one parse of the text."""
        if not self._size:
            return None
        text = self.text
        try:
            if self._complete:
                return msgspec.json.decode(text)
            return msgspec.json.decode(text[: self._cut] + self._suffix())
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return None

    def latest(self) -> object:
        """The value as of not more than a tenth of the text ago. May be asked after every piece: the parses add up
        to a constant times the length."""
        if self._latest_size < 0 or self._size >= self._latest_size + 64 + self._latest_size // 10:
            self._latest = self.value()
            self._latest_size = self._size
        return self._latest

    def finish(self) -> object:
        """The value of the whole text, without any repair. No text is an empty object: a tool without arguments.

        Raises:
            RemoteProtocolError: the text is not one JSON value.
        """
        text = self.text
        if not text.strip():
            return {}
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise RemoteProtocolError(f"not JSON: {error}") from None

    def _read_structure(self, piece: str, at: int, base: int) -> int:
        if self._in_scalar and (piece[at] in ',]}:"[{' or piece[at].isspace()):
            self._in_scalar = False
            self._cut = base + at
        found = _STRUCTURE.search(piece, at)
        if found is None:
            return len(piece)
        token, at = found[0], found.end()
        if token == '"':
            self._in_string = True
            self._is_key = self._wants_key
            self._wants_key = False
            if not self._is_key:
                self._cut = base + at
        elif token in "{[":
            self._closers.append("}" if token == "{" else "]")
            self._wants_key = token == "{"
            self._cut = base + at
        elif token in "}]":
            if self._closers:
                self._closers.pop()
            self._wants_key = False
            self._cut = base + at
            self._complete = not self._closers
        elif token == ",":
            self._wants_key = bool(self._closers) and self._closers[-1] == "}"
        else:
            self._in_scalar = at == len(piece)
            if not self._in_scalar:
                self._cut = base + at
        return at

    def _read_string(self, piece: str, at: int, base: int) -> int:
        if self._escape:
            return self._read_escape(piece, at, base)
        run = _IN_STRING.match(piece, at)
        stop = run.end() if run is not None else at
        if stop > at:
            self._surrogate = False
        if stop == len(piece):
            if not self._is_key and not self._surrogate:
                self._cut = base + stop
            return stop
        if piece[stop] == "\\":
            if not self._is_key and not self._surrogate:
                self._cut = base + stop
            self._escape = "\\"
            return stop + 1
        self._in_string = False
        self._surrogate = False
        if not self._is_key:
            self._cut = base + stop + 1
        return stop + 1

    def _read_escape(self, piece: str, at: int, base: int) -> int:
        self._escape += piece[at]
        whole = len(self._escape) == 6 if self._escape[1] == "u" else True
        if whole:
            self._surrogate = not self._surrogate and _HIGH_SURROGATE.match(self._escape) is not None
            self._escape = ""
            if not self._is_key and not self._surrogate:
                self._cut = base + at + 1
        return at + 1

    def _suffix(self) -> str:
        quote = '"' if self._in_string and not self._is_key else ""
        return quote + "".join(reversed(self._closers))
