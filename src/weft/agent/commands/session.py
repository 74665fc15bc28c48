"""Built-in commands that change the session."""

from collections.abc import Sequence
from pathlib import Path

from weft.agent.commands.port import Builtin, Desk, Taken
from weft.errors import WeftError
from weft.schema.commands import Compact, Rewind, SetMode, SetModel, SetTitle
from weft.schema.records import Record


async def _clear(arguments: str, desk: Desk) -> Taken:
    return Taken(local="A new conversation begins. The old one is kept: /resume finds it.", clear=True)


async def _compact(arguments: str, desk: Desk) -> Taken:
    return Taken(commands=(Compact(instructions=arguments),))


async def _model(arguments: str, desk: Desk) -> Taken:
    info = desk.info()
    if arguments:
        name = None if arguments == "default" else arguments
        return Taken(commands=(SetModel(name),), local=f"Model: {arguments}")
    rows = [f"Model: {info.model}"]
    for model in info.models:
        aliases = f" ({', '.join(model.aliases)})" if model.aliases else ""
        rows.append(f"  {model.id}{aliases}{': ' + model.description if model.description else ''}")
    return Taken(local="\n".join([*rows, "Change it with /model NAME; /model default goes back."]))


async def _mode(arguments: str, desk: Desk) -> Taken:
    info = desk.info()
    for mode in info.modes:
        if mode.lower() == arguments.strip().lower():
            return Taken(commands=(SetMode(mode),), local=f"Mode: {mode}")
    said = f"There is no mode {arguments!r}.\n" if arguments else ""
    return Taken(local=f"{said}Mode: {info.mode}\nChange it with /mode {'|'.join(info.modes)}.")


async def _agent(arguments: str, desk: Desk) -> Taken:
    """Who works from now on; the rest of the line is the first prompt for them."""
    name, _, prompt = arguments.partition(" ")
    info = desk.info()
    if not name:
        rows = [f"  {one.name}: {one.description}" for one in info.staff]
        now = f"The main agent: {info.main_agent or 'weft'}"
        return Taken(local="\n".join([now, *rows, "Change it with /agent NAME [prompt]; /agent weft goes back."]))
    said = await desk.become(name)
    return Taken(local=said, then=prompt.strip())


async def _rename(arguments: str, desk: Desk) -> Taken:
    if not arguments:
        return Taken(local="Say the new name: /rename NAME")
    title = " ".join(arguments.split())[:200]
    return Taken(commands=(SetTitle(title),), local=f"This session is now called {title!r}.")


async def _rewind(arguments: str, desk: Desk) -> Taken:
    from weft.sessions.rewind import points

    found = points(desk.records())
    if not found:
        return Taken(local="There is nothing to go back to yet.")
    word, _, what = arguments.partition(" ")
    if not word:
        rows = [f"{index:>3}  {_line(point.text)}" for index, point in enumerate(found, 1)]
        return Taken(
            local="\n".join(
                [*rows, "Go back to before one of these with /rewind N; /rewind N conversation, or N files, for one."]
            )
        )
    try:
        chosen = found[int(word) - 1] if word.isdigit() and int(word) else None
    except IndexError:
        chosen = None
    chosen = chosen or next((point for point in found if point.message_id == word), None)
    if chosen is None or what.strip() not in ("", "files", "conversation"):
        return Taken(local=f"There is no message {arguments!r}; /rewind lists them.")
    command = Rewind(chosen.message_id, files=what != "conversation", conversation=what != "files")
    return Taken(commands=(command,), local=f"Back to before: {_line(chosen.text)}")


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:99] + "…"


async def _resume(arguments: str, desk: Desk) -> Taken:
    rows = [
        f"{row.session_id}  {_line(row.title or row.last_prompt or row.first_prompt)}"
        for row in desk.sessions()
        if not arguments or arguments.lower() in f"{row.session_id} {row.title} {row.first_prompt}".lower()
    ]
    if not rows:
        return Taken(local="There is no other session here." if not arguments else f"No session matches {arguments!r}.")
    return Taken(local="\n".join([*rows[:20], "Go on with one of these: weft --resume ID"]))


async def _export(arguments: str, desk: Desk) -> Taken:
    info = desk.info()
    name = arguments or f"session-{info.session_id[:8]}.md"
    return Taken(local=_write_export(info.cwd, name, desk.records(), info.title))


def _write_export(cwd: str, name: str, records: Sequence[Record], title: str) -> str:
    from weft.sessions import export

    path = Path(cwd) / Path(name).expanduser()
    to_text = export.to_html if path.suffix.lower() in (".html", ".htm") else export.to_markdown
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(to_text(records, title=title))
    except FileExistsError:
        return f"{path} exists already; say another name: /export FILE"
    except (OSError, WeftError) as error:
        return f"The session could not be written to {path}: {error}"
    return f"Written to {path}."


COMMANDS = (
    Builtin(name="clear", description="begin a new conversation", run=_clear, aliases=("new", "reset")),
    Builtin(name="compact", description="make the conversation shorter", hint="[what to keep]", run=_compact),
    Builtin(name="model", description="show or change the model", hint="[name]", run=_model),
    Builtin(name="mode", description="show or change what may be done without asking", hint="[mode]", run=_mode),
    Builtin(name="agent", description="show or change the main agent", hint="[name] [prompt]", run=_agent),
    Builtin(name="rename", description="name this session", hint="NAME", run=_rename),
    Builtin(
        name="rewind",
        description="go back to before a message",
        hint="[number] [files|conversation]",
        run=_rewind,
        aliases=("checkpoint",),
    ),
    Builtin(name="resume", description="list sessions to go on with", hint="[words]", run=_resume),
    Builtin(name="export", description="write this session to a Markdown or HTML file", hint="[file]", run=_export),
)
