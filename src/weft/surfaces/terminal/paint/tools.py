"""A tool call as a row, with as much below it as is worth a look; all of it when it is opened."""

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style

from weft.schema.content import Json
from weft.schema.display import (
    AppView,
    DiffView,
    Display,
    ExitView,
    ImageView,
    LinksView,
    TableView,
    TextView,
    TodosView,
)
from weft.surfaces.diffs import to_hunks
from weft.surfaces.terminal.entries import ToolEntry
from weft.surfaces.terminal.paint.diffs import counts, paint_diff
from weft.surfaces.terminal.paint.lines import Line, clean, fit, width_of, wrap
from weft.surfaces.terminal.paint.markdown import paint_code, paint_piece
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.pieces import Pieces
from weft.surfaces.terminal.words import t

LIVE = 4
"""Lines of a running command's output, the last ones."""
FOLDED_DIFF = 14
OPENED = 2_000
MARKS = {"pending": "○", "running": "◐", "ok": "●", "error": "✗", "denied": "✗", "cancelled": "–"}
TODO = {"pending": "☐", "in_progress": "◐", "completed": "☑"}
_WORDY = ("file_path", "path", "notebook_path", "command", "pattern", "url", "query", "description", "prompt", "skill")


def title_of(entry: ToolEntry, cwd: str) -> str:
    """What the call is about, in few words: the agent's title without the tool's own name, or its main argument."""
    title = entry.title
    if not title or title == entry.name:
        title = next((str(entry.input[key]) for key in _WORDY if entry.input.get(key)), "")
    for name in (f"{entry.name}: ", f"{entry.name} "):
        title = title.removeprefix(name)
    if entry.name == "Bash" and entry.input.get("command"):
        title = str(entry.input["command"])
    return clean(title.replace(f"{cwd}/", "") if cwd else title)


def paint_tool(
    entry: ToolEntry, width: int, palette: Palette, cwd: str, children: Callable[[int], list[Line]]
) -> list[Line]:
    out = [_head(entry, width, palette, cwd)]
    body = _opened(entry, width - 4, palette) if entry.open else _folded(entry, width - 4, palette)
    gutter = Segment("  │ ", palette.dim)
    out += [[gutter, *line] for line in body]
    if entry.children:
        lines = children(width - 4)
        if not entry.open and len(lines) > 6:
            hidden = len(lines) - 6
            lines = [[Segment(t("… {n} more lines", n=hidden), palette.dim)], *lines[-6:]]
        out += [[gutter, *line] for line in lines]
    return out


def _head(entry: ToolEntry, width: int, palette: Palette, cwd: str) -> Line:
    style = _style(entry, palette)
    right = _right(entry)
    room = width - width_of(entry.name) - width_of(right) - 5
    title = fit(title_of(entry, cwd), max(8, room))
    line = [Segment(f"{MARKS[entry.state]} ", style), Segment(clean(entry.name), palette.strong), Segment("  ")]
    line.append(Segment(title, palette.text))
    if right:
        used = sum(segment.cell_length for segment in line)
        line += [Segment(" " * max(1, min(2, width - used - width_of(right)))), Segment(right, palette.dim)]
    return line


def _style(entry: ToolEntry, palette: Palette) -> Style:
    if entry.asked:
        return palette.warning
    if entry.state == "ok" and any(isinstance(view, ExitView) and view.code for view in entry.display):
        return palette.warning
    return {"ok": palette.ok, "error": palette.error, "denied": palette.error, "running": palette.accent}.get(
        entry.state, palette.dim
    )


def _right(entry: ToolEntry) -> str:
    """The short word at the row's end."""
    if entry.asked:
        return t("waits for you")
    if entry.state in ("denied", "cancelled"):
        return t(entry.state)
    if entry.state == "running" and entry.fraction is not None:
        return f"{entry.fraction:.0%}"
    diffs = [view for view in entry.display if isinstance(view, DiffView)]
    if diffs:
        added, removed = (sum(side) for side in zip(*(counts(to_hunks(view)) for view in diffs), strict=True))
        return f"+{added} -{removed}"
    code = next((view.code for view in entry.display if isinstance(view, ExitView)), None)
    if code:
        return t("exit code {code}", code=code)
    if entry.over and entry.duration >= 1:
        return f"{entry.duration:.1f} s"
    return ""


def _folded(entry: ToolEntry, width: int, palette: Palette) -> list[Line]:
    if entry.state == "running":
        lines = _last_lines(entry, LIVE)
        if not lines and entry.message:
            lines = [entry.message]
        return [[Segment(fit(clean(line), width), palette.dim)] for line in lines]
    if entry.state in ("error", "denied"):
        return [[Segment(fit(line, width), palette.error)] for line in _some(entry.result, 3)]
    diffs = [view for view in entry.display if isinstance(view, DiffView)]
    if diffs:
        out: list[Line] = []
        for view in diffs:
            out += paint_diff(view, width, palette, most=FOLDED_DIFF)
        return out
    if any(isinstance(view, ExitView) for view in entry.display) or entry.kind == "execute":
        shown = _some(entry.result, 1000)
        return [
            *([[Segment(t("… {n} more lines", n=len(shown) - LIVE), palette.dim)]] if len(shown) > LIVE else []),
            *([Segment(fit(line, width), palette.dim)] for line in shown[-LIVE:]),
        ]
    if entry.name == "Task" and entry.result:
        return [[Segment(fit(line, width), palette.dim)] for line in _some(entry.result, 3)]
    return []


def _opened(entry: ToolEntry, width: int, palette: Palette) -> list[Line]:
    """Everything that is known: the input as the model wrote it, what a person is shown, and what the model read."""
    out = [line for key, value in entry.input.items() for line in _argument(key, value, width, palette)]
    shown = [line for view in entry.display for line in paint_display(view, width, palette)]
    if shown:
        out += [[], *shown]
    text = clean(entry.result if entry.over else "".join(entry.output))
    if text.strip() and not any(isinstance(view, DiffView) for view in entry.display):
        lines = text.rstrip("\n").split("\n")
        out.append([])
        for line in lines[-OPENED:]:
            out += wrap([(line, palette.error if entry.state == "error" else palette.text)], width)
    return out


def _argument(key: str, value: object, width: int, palette: Palette) -> list[Line]:
    label = [Segment(f"{clean(key)}: ", palette.dim)]
    if isinstance(value, str) and "\n" in value:
        language = "x.py" if key == "code" else ""
        return [label, *paint_code(clean(value), language, width, palette)]
    return wrap([(clean(_short(value)), palette.text)], width, first=label, rest=[Segment("  ")])


def _short(value: object) -> str:
    if isinstance(value, str):
        return value
    import msgspec

    return msgspec.json.encode(value).decode()


def paint_display(view: Display, width: int, palette: Palette) -> list[Line]:
    match view:
        case DiffView():
            path: list[Line] = [[Segment(clean(view.path), palette.dim)]]
            return [*path, *paint_diff(view, width, palette)]
        case TodosView(todos=todos):
            return [
                [
                    Segment(f"{TODO[todo.status]} ", palette.dim),
                    Segment(fit(clean(todo.content), width - 2), palette.text),
                ]
                for todo in todos
            ]
        case ExitView(code=code, signal=signal, timed_out=late):
            if code == 0:
                return []
            said = t("ran too long") if late else signal or t("exit code {code}", code=code)
            return [[Segment(said, palette.warning)]]
        case TextView(text=text, markdown=True):
            out: list[Line] = []
            for piece in Pieces(clean(text)).done:
                out += [*([[]] if out and not piece.joined else []), *paint_piece(piece, width, palette)]
            return out
        case TextView(text=text, language=language):
            return paint_code(clean(text), language or "", width, palette)
        case TableView(columns=columns, rows=rows):
            return [[Segment(fit(clean("  ".join(row)), width), palette.text)] for row in (columns, *rows)]
        case LinksView(links=links):
            return [[Segment(fit(clean(f"{label}  {target}"), width), palette.link)] for label, target in links]
        case AppView(server=server, tool=tool):
            said = t("{server} has a page for {tool}; weft web shows it", server=clean(server), tool=clean(tool))
            return wrap([(said, palette.dim)], width)
        case ImageView():
            from weft.surfaces.terminal.paint.images import paint_image

            return paint_image(view, width, palette)


def _last_lines(entry: ToolEntry, most: int) -> list[str]:
    tail = ""
    for part in reversed(entry.output):
        tail = part + tail
        if tail.count("\n") > most:
            break
    return [line for line in clean(tail).split("\n") if line.strip()][-most:]


def _some(text: str, most: int) -> list[str]:
    return [line for line in clean(text[:100_000]).split("\n") if line.strip()][:most]


def argument_lines(input: Json, width: int, palette: Palette) -> list[Line]:
    return [line for key, value in input.items() for line in _argument(key, value, width, palette)]
