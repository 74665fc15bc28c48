"""Places in a text: offsets of Python strings, and lines with characters in UTF-16 units as the protocols count."""

from weft.protocols.ide.catalogue import OpenFile
from weft.protocols.ide.values import Position, Selection


def position_at(text: str, offset: int) -> Position:
    offset = max(0, min(offset, len(text)))
    start = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset), _units(text[start:offset]))


def offset_at(text: str, position: Position) -> int:
    """The offset of a position; one past the end of its line or of the text is brought back to that end."""
    start = 0
    for _ in range(position.line):
        found = text.find("\n", start)
        if found < 0:
            return len(text)
        start = found + 1
    end = text.find("\n", start)
    line = text[start : len(text) if end < 0 else end]
    if line.isascii():
        return start + min(position.character, len(line))
    units = 0
    for index, character in enumerate(line):
        if units >= position.character:
            return start + index
        units += 2 if ord(character) > 0xFFFF else 1
    return start + len(line)


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def select(path: str, text: str, start: int, end: int) -> Selection:
    """The selection between two offsets."""
    return Selection(path=path, text=text[start:end], start=position_at(text, start), end=position_at(text, end))


def find_range(path: str, text: str, request: OpenFile) -> Selection | None:
    """What `openFile` asks to be marked: lines by number, or from one text to the next; None when it asks for nothing
    or its first text is not there. Without an end text, or when it is not found, the first text alone."""
    if request.start_line is not None:
        first = max(request.start_line, 1) - 1
        last = max(request.end_line or request.start_line, first + 1) - 1
        start = offset_at(text, Position(first))
        end = offset_at(text, Position(last, 1 << 30))
        return select(path, text, start, end)
    if not request.start_text:
        return None
    start = text.find(request.start_text)
    if start < 0:
        return None
    end = start + len(request.start_text)
    if request.end_text:
        found = text.find(request.end_text, start)
        end = found + len(request.end_text) if found >= 0 else end
    if request.select_to_end_of_line:
        stop = text.find("\n", end)
        end = len(text) if stop < 0 else stop
    return select(path, text, start, end)
