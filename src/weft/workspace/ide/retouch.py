"""A proposal that the person changed before accepting it: their text, in the file's own encoding and line ends."""

import codecs

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def with_newlines_of(proposed: str, text: str) -> str:
    """Some editors hand every line back with LF: the file's own CRLF is put back."""
    crlf = proposed.count("\r\n")
    if "\r\n" not in text and crlf and crlf * 2 > proposed.count("\n"):
        return text.replace("\n", "\r\n")
    return text


def retouch(data: bytes, proposed: str, text: str) -> bytes:
    """`data` with `text` in place of `proposed`, if that is what it holds; anything else stays as it is."""
    bom, encoding = next(((mark, name) for mark, name in _BOMS if data.startswith(mark)), (b"", "utf-8"))
    try:
        if data[len(bom) :].decode(encoding) != proposed:
            return data
        return bom + text.encode(encoding)
    except UnicodeError:
        return data
