"""`weft sessions`: list, show, search, export, rename, fork, rewind and delete conversations."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.sessions.port import SessionSummary
    from weft.sessions.store import FileStore

_EXAMPLES = """\
examples:
  weft sessions list                        this folder's, newest first
  weft sessions list --all --json           every folder's, as JSON
  weft sessions show 3f2a                   a session, by the beginning of its id or by its title
  weft sessions search "parser bug"
  weft sessions export 3f2a session.html
  weft sessions rewind 3f2a                 the messages that one can go back to
  weft sessions rewind 3f2a 2               go back to before the second
  weft sessions fork 3f2a                   a copy under a new id
"""


def main(argv: list[str]) -> int:
    arguments = _parser().parse_args(argv)
    try:
        run: Callable[[argparse.Namespace], int] = arguments.run
        return run(arguments)
    except WeftError as error:
        sys.stderr.write(f"weft sessions: {error}\n" + (f"{error.hint}\n" if error.hint else ""))
        return 1
    except BrokenPipeError:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="weft sessions",
        description="The conversations that are kept on this machine, Claude Code's included (those are only read).",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        sub.add_argument("--json", action="store_true", help="answer as JSON")
        return sub

    listing = add("list", _list, "list sessions, newest first")
    listing.add_argument("--all", action="store_true", help="of all folders, not only this one")
    listing.add_argument("--limit", type=int, default=50, metavar="N", help="at most N (50; 0 for all)")
    show = add("show", _show, "show a session's conversation")
    show.add_argument("session")
    search = add("search", _search, "find words in sessions")
    search.add_argument("words", nargs="+")
    search.add_argument("--here", action="store_true", help="only in sessions of this folder")
    search.add_argument("--limit", type=int, default=50, metavar="N", help="at most N places (50)")
    export = add("export", _export, "write a session as Markdown or HTML")
    export.add_argument("session")
    export.add_argument("file", nargs="?", help="where to; standard output without it")
    export.add_argument("--format", choices=("markdown", "html"), help="by the file's ending, else markdown")
    rename = add("rename", _rename, "give a session a title")
    rename.add_argument("session")
    rename.add_argument("title")
    fork = add("fork", _fork, "copy a session under a new id")
    fork.add_argument("session")
    fork.add_argument("--until", metavar="UUID", help="cut the copy after this message")
    fork.add_argument("--id", metavar="UUID", help="the new id")
    rewind = add("rewind", _rewind, "go back to before a message (the conversation, not the files)")
    rewind.add_argument("session")
    rewind.add_argument("message", nargs="?", help="its number or uuid; without it they are listed")
    delete = add("delete", _delete, "delete a session and what is kept with it")
    delete.add_argument("session", nargs="+")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    return parser


# --- shared -------------------------------------------------------------------------------------------------


def _store() -> "FileStore":
    from weft.paths import weft_home
    from weft.sessions.store import FileStore

    return FileStore(weft_home())


def _out(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def _json(value: object) -> int:
    import msgspec

    from weft.schema.wire import encode

    _out(msgspec.json.format(encode(value), indent=2).decode())
    return 0


def _plain(summary: "SessionSummary") -> dict[str, object]:
    import msgspec

    fields = msgspec.structs.asdict(summary)
    return {**fields, "path": str(summary.path) if summary.path else None}


def find(store: "FileStore", name: str) -> "SessionSummary":
    """A session by its id, the beginning of its id, or its title.

    Raises:
        SessionError: none, or more than one.
    """
    from weft.errors import SessionError

    rows = store.list()
    exact = [row for row in rows if row.session_id == name]
    found = exact or [row for row in rows if row.session_id.startswith(name)] if name else []
    found = found or [row for row in rows if row.title and row.title.casefold() == name.casefold()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise SessionError(f"There is no session {name!r}.", hint="`weft sessions list --all` shows what there is.")
    ids = ", ".join(row.session_id for row in found[:5])
    raise SessionError(f"{name!r} means {len(found)} sessions: {ids}.", hint="Write more of the id.")


def _folder(summary: "SessionSummary") -> Path:
    return Path(summary.cwd or ".")


def _line(text: str, width: int = 70) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _when(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


# --- the commands -------------------------------------------------------------------------------------------


def _list(arguments: argparse.Namespace) -> int:
    rows = _store().list(None if arguments.all else Path.cwd(), limit=arguments.limit or None)
    if arguments.json:
        return _json([_plain(row) for row in rows])
    if not rows:
        _out("No sessions here yet." if not arguments.all else "No sessions yet.")
        return 0
    for row in rows:
        what = _line(row.title or row.last_prompt or row.first_prompt or "(nothing said)")
        mark = " [claude]" if row.source == "claude" else ""
        where = f"  {row.cwd}" if arguments.all else ""
        _out(f"{row.session_id}  {_when(row.updated)}  {what}{mark}{where}")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    store = _store()
    summary = find(store, arguments.session)
    records = store.load(summary.session_id, _folder(summary))
    if arguments.json:
        from weft.sessions.codec import encode_record
        from weft.sessions.export import whole_chain

        for record in whole_chain(records):
            sys.stdout.write(encode_record(record).decode())
        return 0
    from weft.sessions.export import to_markdown

    _out(to_markdown(records, title=summary.title or _line(summary.first_prompt)))
    problems = store.problems(summary.session_id)
    for problem in problems:
        sys.stderr.write(f"weft sessions: {problem}\n")
    return 0


def _search(arguments: argparse.Namespace) -> int:
    from weft.sessions.search import search

    cwd = Path.cwd() if arguments.here else None
    hits = list(search(_store(), " ".join(arguments.words), cwd, limit=arguments.limit))
    if arguments.json:
        import msgspec

        return _json([{**msgspec.structs.asdict(hit), "session": _plain(hit.session)} for hit in hits])
    for hit in hits:
        _out(f"{hit.session.session_id}  {hit.timestamp[:16]}  {hit.who}: {hit.excerpt}")
    if not hits:
        _out("Nothing was found.")
    return 0 if hits else 1


def _export(arguments: argparse.Namespace) -> int:
    from weft.errors import SessionError
    from weft.sessions import export

    store = _store()
    summary = find(store, arguments.session)
    html = arguments.format == "html" if arguments.format else (arguments.file or "").endswith((".html", ".htm"))
    to_text = export.to_html if html else export.to_markdown
    text = to_text(store.load(summary.session_id, _folder(summary)), title=summary.title or _line(summary.first_prompt))
    if not arguments.file:
        _out(text)
        return 0
    try:
        with open(arguments.file, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SessionError(f"{arguments.file} exists already.", hint="Choose another name.") from None
    except OSError as error:
        raise SessionError(f"{arguments.file} cannot be written: {error.strerror or error}.") from error
    return _json({"file": arguments.file}) if arguments.json else 0


def _rename(arguments: argparse.Namespace) -> int:
    from weft.schema.records import MarkRecord

    store = _store()
    summary = find(store, arguments.session)
    title = " ".join(str(arguments.title).split())[:200]
    log = store.open(summary.session_id, _folder(summary))
    log.append(MarkRecord(kind="custom-title", session_id=summary.session_id, data={"customTitle": title}))
    log.close()
    return _json({"session_id": summary.session_id, "title": title}) if arguments.json else 0


def _fork(arguments: argparse.Namespace) -> int:
    import uuid

    store = _store()
    summary = find(store, arguments.session)
    new_id = arguments.id or str(uuid.uuid4())
    store.fork(summary.session_id, new_id, _folder(summary), until=arguments.until).close()
    if arguments.json:
        return _json({"session_id": new_id, "forked_from": summary.session_id})
    _out(new_id)
    return 0


def _rewind(arguments: argparse.Namespace) -> int:
    from weft.errors import SessionError
    from weft.sessions.rewind import points, rewind

    store = _store()
    summary = find(store, arguments.session)
    records = store.load(summary.session_id, _folder(summary))
    found = points(records)
    if not arguments.message:
        if arguments.json:
            return _json(found)
        for number, point in enumerate(found, 1):
            _out(f"{number:>3}  {point.timestamp[:16]}  {point.message_id}  {_line(point.text)}")
        return 0
    wanted = str(arguments.message)
    if wanted.isdigit() and 0 < int(wanted) <= len(found):
        wanted = found[int(wanted) - 1].message_id
    elif wanted not in {point.message_id for point in found}:
        hint = f"`weft sessions rewind {arguments.session}` lists them."
        raise SessionError(f"There is no message {wanted!r}.", hint=hint)
    back = rewind(records, wanted, summary.session_id)
    log = store.open(summary.session_id, _folder(summary))
    log.append(back.mark)
    log.close()
    if arguments.json:
        return _json({"session_id": summary.session_id, "tip": back.tip, "prompt": back.prompt})
    _out(f"Back to before: {_line(back.prompt)}")
    return 0


def _delete(arguments: argparse.Namespace) -> int:
    store = _store()
    rows = [find(store, name) for name in arguments.session]
    if not arguments.yes:
        for row in rows:
            _out(f"{row.session_id}  {_line(row.title or row.last_prompt or row.first_prompt)}")
        if not sys.stdin.isatty():
            sys.stderr.write("weft sessions: nothing was deleted; add --yes to delete without being asked.\n")
            return 2
        sys.stdout.write("Delete these for good? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return 1
    for row in rows:
        store.delete(row.session_id)
    return _json([row.session_id for row in rows]) if arguments.json else 0
