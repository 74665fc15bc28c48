"""Text in files: read for a model, changed without touching a byte elsewhere."""

import codecs

import msgspec

from weft.errors import ToolError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class TextFile(msgspec.Struct, frozen=True):
    """A file's text. Bytes that are not in its encoding are kept as lone surrogates, so encoding gives them back."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""

    @property
    def shown(self) -> str:
        """The text with a replacement sign for each byte that is not text: safe to send and to show."""
        return showable(self.text)

    @property
    def newline(self) -> str:
        """The line ending that most lines have."""
        crlf = self.text.count("\r\n")
        return "\r\n" if crlf * 2 > self.text.count("\n") else "\n"

    def encode(self, text: str) -> bytes:
        """`text` in this file's encoding, with its byte order mark.

        Raises:
            ToolError: a character does not exist in that encoding.
        """
        try:
            return self.bom + text.encode(self.encoding, "surrogateescape")
        except UnicodeEncodeError as error:
            raise ToolError(f"the file is {self.encoding}, which has no {text[error.start]!r}") from error


def decode_text(data: bytes, path: object = "the file") -> TextFile:
    """
    Raises:
        ToolError: the data is binary.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return TextFile(data[len(bom) :].decode(encoding), encoding, bom)
            except UnicodeDecodeError:
                break
    if b"\0" in data[:8192]:
        raise ToolError(f"{path} is a binary file ({len(data):,} bytes), not text")
    return TextFile(data.decode("utf-8", "surrogateescape"))


def showable(text: str) -> str:
    """Without lone surrogates, which no wire carries."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def cut_middle(text: str, limit: int, pointer: str = "") -> str:
    """At most about `limit` characters: the beginning, a line that says what is missing, and the end."""
    if len(text) <= limit:
        return text
    half = max(limit // 2, 1)
    head, tail = text[:half], text[-half:]
    if "\n" in head[half // 2 :]:
        head = head[: head.rindex("\n") + 1]
    if "\n" in tail[: half // 2]:
        tail = tail[tail.index("\n") + 1 :]
    gone = len(text) - len(head) - len(tail)
    where = f" {pointer}" if pointer else ""
    return f"{head.rstrip(chr(10))}\n\n... [{gone:,} characters left out here.{where}] ...\n\n{tail}"
