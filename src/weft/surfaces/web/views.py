"""What a person sees of a tool call, as HTML that is safe, or as data that the page draws."""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Final, assert_never

import msgspec

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
from weft.surfaces.diffs import Hunk, to_hunks
from weft.surfaces.markdown import highlight, render
from weft.surfaces.web.apps import pages
from weft.surfaces.web.stream import View

MOST_SHOWN: Final = 200_000
"""Characters of one text that a page is sent."""
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_HIDDEN: Final = re.compile("[\u0000-\u0008\u000b-\u001f\u007f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def visible(text: str) -> str:
    """Characters that hide or turn around what they stand beside are named, so that a preview cannot lie."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def to_views(displays: Iterable[Display]) -> tuple[View, ...]:
    return tuple(to_view(display) for display in displays)


def to_view(display: Display) -> View:
    match display:
        case TextView(text=text, markdown=True):
            return View("text", html=render(text[:MOST_SHOWN]))
        case TextView(text=text, language=language):
            return View("code", html=highlight(text[:MOST_SHOWN], language or ""))
        case DiffView():
            return View("diff", data=diff_data(display))
        case TableView(columns=columns, rows=rows):
            return View("table", html=_table(columns, rows))
        case ImageView(media_type=media_type, data=data):
            if media_type not in PICTURES:
                return View("text", html=html.escape(f"An image of type {media_type}"))
            return View("image", data={"src": f"data:{media_type};base64,{data}"})
        case ExitView(command=command, code=code, signal=signal, timed_out=timed_out):
            return View("exit", data={"command": command, "code": code, "signal": signal, "timedOut": timed_out})
        case LinksView(links=links):
            return View("links", data=[{"label": label, "target": target} for label, target in links])
        case TodosView(todos=todos):
            return View("todos", data=msgspec.to_builtins(todos))
        case AppView(server=server, tool=tool, input=given, result=result):
            data = {
                "src": pages.keep(display),
                "title": visible(f"{server}: {tool}"),
                "server": server,
                "input": given,
                "result": result,
            }
            return View("app", data=data)
    assert_never(display)


def _table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[:1000])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def diff_data(view: DiffView) -> Json:
    """Hunks with coloured lines. Colour is given to each side of a hunk as one text, so that strings over several
    lines keep it."""
    hunks = to_hunks(view)
    added = sum(row.kind == "new" for hunk in hunks for row in hunk.rows)
    removed = sum(row.kind == "old" for hunk in hunks for row in hunk.rows)
    change = "created" if view.before is None else "deleted" if view.after is None else "changed"
    return {
        "path": visible(view.path),
        "change": change,
        "added": added,
        "removed": removed,
        "hunks": [_rows(hunk, view.path) for hunk in hunks],
    }


def _rows(hunk: Hunk, path: str) -> list[Json]:
    name = path.rsplit("/", 1)[-1]
    old = _coloured([row.text for row in hunk.rows if row.kind != "new"], name)
    new = _coloured([row.text for row in hunk.rows if row.kind != "old"], name)
    out: list[Json] = []
    for row in hunk.rows:
        left = next(old) if row.kind != "new" else ""
        right = next(new) if row.kind != "old" else ""
        out.append({"kind": row.kind, "old": row.old, "new": row.new, "html": right if row.kind != "old" else left})
    return out


def _coloured(lines: list[str], name: str) -> Iterator[str]:
    text = "".join(line if line.endswith("\n") else line + "\n" for line in map(visible_line, lines))
    language = name if "." in name else ""
    coloured = highlight(text, language).split("\n")
    if len(coloured) < len(lines):
        coloured = html.escape(text).split("\n")
    return iter(coloured)


def visible_line(line: str) -> str:
    return visible(line.rstrip("\r\n")) + "\n"


def input_views(name: str, input: Json) -> tuple[View, ...]:
    """What a call is about, from its input alone: a command, an edit, a new file, or its arguments."""
    command = input.get("command")
    if isinstance(command, str):
        return (View("code", html=highlight(visible(command), "bash")),)
    path, old, new = input.get("file_path"), input.get("old_string"), input.get("new_string")
    if isinstance(path, str) and isinstance(old, str) and isinstance(new, str):
        return (View("diff", data=diff_data(DiffView(path, old, new))),)
    content = input.get("content")
    if name == "Write" and isinstance(path, str) and isinstance(content, str):
        return (View("diff", data=diff_data(DiffView(path, None, content[:MOST_SHOWN]))),)
    prompt = input.get("prompt")
    if isinstance(prompt, str):
        return (View("text", html=render(visible(prompt[:MOST_SHOWN]))),)
    if not input:
        return ()
    text = msgspec.json.format(msgspec.json.encode(input), indent=2).decode()
    return (View("code", html=highlight(visible(text[:MOST_SHOWN]), "json")),)
