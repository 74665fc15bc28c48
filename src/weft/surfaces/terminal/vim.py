"""The keys of vi for the composer: normal and insert mode, counts, and the motions and operators used most."""

from typing import Literal, Protocol, TypeAlias

Location: TypeAlias = tuple[int, int]


class Area(Protocol):
    """The part of a text area that the keys act on."""

    @property
    def text(self) -> str: ...
    @property
    def cursor_location(self) -> Location: ...
    def move_cursor(self, location: Location) -> None: ...
    def replace(self, insert: str, start: Location, end: Location) -> object: ...
    def undo(self) -> None: ...
    def redo(self) -> None: ...


class VimKeys:
    """`press` returns whether the key was taken. A key that is not goes on as in any other composer."""

    def __init__(self) -> None:
        self.mode: Literal["insert", "normal"] = "insert"
        self._pending = ""
        self._count = ""
        self._register = ""
        self._linewise = False

    def press(self, key: str, character: str | None, area: Area) -> bool:
        if self.mode == "insert":
            if key != "escape":
                return False
            self.mode = "normal"
            row, column = area.cursor_location
            area.move_cursor((row, max(0, column - 1)))
            return True
        if key == "ctrl+r":
            area.redo()
            return True
        if (
            key in ("up", "down", "left", "right", "home", "end", "enter")
            or character is None
            or not character.isprintable()
        ):
            self._pending = self._count = ""
            return False
        self._normal(character, area)
        return True

    def _normal(self, key: str, area: Area) -> None:
        if key.isdigit() and (key != "0" or self._count):
            self._count += key
            return
        count = int(self._count or 1)
        if self._pending:
            pending, self._pending, self._count = self._pending, "", ""
            self._operate(pending, key, count, area)
            return
        if key in "dcyg":
            self._pending = key
            return
        self._count = ""
        if not self._insert(key, area) and not self._edit(key, count, area):
            target = self._motion(key, count, area)
            if target is not None:
                area.move_cursor(target)

    def _insert(self, key: str, area: Area) -> bool:
        row, column = area.cursor_location
        line = _lines(area)[row]
        where = {
            "i": (row, column),
            "a": (row, min(column + 1, len(line))),
            "I": (row, len(line) - len(line.lstrip())),
            "A": (row, len(line)),
            "o": (row, len(line)),
            "O": (row, 0),
        }.get(key)
        if where is None:
            return False
        if key in "oO":
            area.replace("\n", where, where)
            where = (row + 1, 0) if key == "o" else (row, 0)
        area.move_cursor(where)
        self.mode = "insert"
        return True

    def _edit(self, key: str, count: int, area: Area) -> bool:
        row, column = area.cursor_location
        line = _lines(area)[row]
        match key:
            case "x":
                self._cut((row, column), (row, min(len(line), column + count)), area)
            case "D" | "C":
                self._cut((row, column), (row, len(line)), area)
                self.mode = "insert" if key == "C" else "normal"
            case "u":
                for _ in range(count):
                    area.undo()
            case "p" | "P":
                self._put(key, area)
            case "S":
                self._operate("c", "c", 1, area)
            case _:
                return False
        return True

    def _put(self, key: str, area: Area) -> None:
        row, column = area.cursor_location
        line = _lines(area)[row]
        if self._linewise:
            where = (row, len(line)) if key == "p" else (row, 0)
            area.replace(f"\n{self._register}" if key == "p" else f"{self._register}\n", where, where)
            area.move_cursor((row + 1 if key == "p" else row, 0))
            return
        where = (row, min(len(line), column + (1 if key == "p" else 0)))
        area.replace(self._register, where, where)

    def _operate(self, operator: str, key: str, count: int, area: Area) -> None:
        row, column = area.cursor_location
        lines = _lines(area)
        if operator == "g":
            if key == "g":
                area.move_cursor((0, 0))
            return
        if key == operator:
            self._lines(operator, row, min(len(lines), row + count), area)
            return
        motion = "e" if operator == "c" and key == "w" else key
        target = self._motion(motion, count, area)
        if target is None:
            return
        start, end = sorted(((row, column), target))
        if motion in "e$":
            end = (end[0], min(end[1] + (1 if motion == "e" else 0), len(lines[end[0]])))
        if operator == "y":
            self._keep(start, end, area)
            area.move_cursor(start)
            return
        self._cut(start, end, area)
        self.mode = "insert" if operator == "c" else "normal"

    def _lines(self, operator: str, first: int, after: int, area: Area) -> None:
        lines = _lines(area)
        self._register, self._linewise = "\n".join(lines[first:after]), True
        if operator == "y":
            return
        if operator == "c":
            area.replace("", (first, 0), (after - 1, len(lines[after - 1])))
            self.mode = "insert"
        elif after < len(lines):
            area.replace("", (first, 0), (after, 0))
        else:
            start = (first - 1, len(lines[first - 1])) if first else (0, 0)
            area.replace("", start, (after - 1, len(lines[after - 1])))
        area.move_cursor((min(first, len(_lines(area)) - 1), 0))

    def _keep(self, start: Location, end: Location, area: Area) -> None:
        text = area.text
        self._register, self._linewise = text[_offset(text, start) : _offset(text, end)], False

    def _cut(self, start: Location, end: Location, area: Area) -> None:
        self._keep(start, end, area)
        area.replace("", start, end)
        area.move_cursor(start)

    def _motion(self, key: str, count: int, area: Area) -> Location | None:
        text = area.text
        row, column = area.cursor_location
        lines = text.split("\n")
        match key:
            case "h":
                return row, max(0, column - count)
            case "l":
                return row, min(len(lines[row]), column + count)
            case "j" | "k":
                to = min(len(lines) - 1, row + count) if key == "j" else max(0, row - count)
                return to, min(column, len(lines[to]))
            case "0":
                return row, 0
            case "^":
                return row, len(lines[row]) - len(lines[row].lstrip())
            case "$":
                return row, len(lines[row])
            case "G":
                return len(lines) - 1, 0
            case "w" | "b" | "e":
                at = _offset(text, (row, column))
                for _ in range(count):
                    at = _word(text, at, key)
                return _location(text, at)
            case _:
                return None


def _word(text: str, at: int, key: str) -> int:
    if key == "b":
        at -= 1
        while at > 0 and text[at].isspace():
            at -= 1
        while at > 0 and _same(text[at - 1], text[at]):
            at -= 1
        return max(0, at)
    if key == "e":
        at += 1
        while at < len(text) and text[at].isspace():
            at += 1
        while at + 1 < len(text) and _same(text[at + 1], text[at]):
            at += 1
        return min(at, max(0, len(text) - 1))
    start = text[at : at + 1]
    while at < len(text) and start and not start.isspace() and _same(text[at], start):
        at += 1
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _same(one: str, other: str) -> bool:
    """Whether two letters belong to one word."""
    return (
        not one.isspace() and not other.isspace() and (one.isalnum() or one == "_") == (other.isalnum() or other == "_")
    )


def _lines(area: Area) -> list[str]:
    return area.text.split("\n")


def _offset(text: str, location: Location) -> int:
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: location[0]]) + location[1]


def _location(text: str, offset: int) -> Location:
    before = text[:offset]
    return before.count("\n"), len(before) - (before.rfind("\n") + 1)
