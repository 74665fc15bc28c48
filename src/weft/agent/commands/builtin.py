"""The commands that Weft brings. A local one answers at once; a prompt asks the model."""

from weft.agent.commands import prompts, session, show
from weft.agent.commands.port import Builtin, Desk, Taken


async def _help(arguments: str, desk: Desk) -> Taken:
    rows = [f"/{entry.name}{' ' + entry.hint if entry.hint else ''}: {entry.description}" for entry in ALL]
    more = [
        "@path, @path:10-20, @folder or @server:resource attaches; !command runs a line in the shell;",
        "# note writes to the project's memory file (#user: and #local: to yours).",
    ]
    if arguments:
        wanted = arguments.lstrip("/").strip()
        rows = [row for row in rows if row.startswith(f"/{wanted}")] or [f"There is no built-in command /{wanted}."]
        more = []
    return Taken(local="\n".join([*rows, *more]))


ALL: tuple[Builtin, ...] = tuple(
    sorted(
        (
            Builtin(name="help", description="what can be typed here", hint="[command]", run=_help),
            *session.COMMANDS,
            *show.COMMANDS,
            *prompts.COMMANDS,
        ),
        key=lambda entry: entry.name,
    )
)


def by_name() -> dict[str, Builtin]:
    """Names and aliases."""
    return {name: entry for entry in ALL for name in (entry.name, *entry.aliases)}
