"""Built-in commands that say how things are."""

from pathlib import Path
from typing import Final, Literal

from weft.agent.commands.port import Builtin, Desk, Taken
from weft.schema.commands import ServerCommand
from weft.sessions.ledger import LedgerState


async def _cost(arguments: str, desk: Desk) -> Taken:
    return Taken(local=cost_text(desk.ledger()))


def cost_text(state: LedgerState) -> str:
    """What a session has used, for people. Dollars that are not known are said to be so."""
    known = "" if not state.unknown_models else " and more: no price is known for " + ", ".join(state.unknown_models)
    rows = [
        f"Cost: ${state.total_cost:.4f}{known}",
        f"Time: {_time(state.api_duration)} with the model, {_time(state.duration)} in turns",
        f"Changes: {state.lines_added} lines added, {state.lines_removed} removed, {len(state.files)} files"
        + (f", {state.commits} commits" if state.commits else "")
        + (f", {state.pull_requests} pull requests" if state.pull_requests else ""),
    ]
    for name, model in state.models.items():
        used = model.usage
        price = f"${model.cost:.4f}" if model.cost_known else "price not known"
        rows.append(
            f"{name}: {used.input_tokens:,} in, {used.output_tokens:,} out, {used.cache_read_input_tokens:,} read from "
            f"cache, {used.cache_creation_input_tokens:,} written to cache ({price})"
        )
    return "\n".join(rows)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


async def _ide(arguments: str, desk: Desk) -> Taken:
    return Taken(local=await desk.ide(arguments))


async def _context(arguments: str, desk: Desk) -> Taken:
    fill = desk.fill()
    rows: list[str] = []
    if fill.window:
        rows.append(f"{fill.tokens:,} of {fill.window:,} tokens ({fill.tokens / fill.window:.0%})")
    elif fill.tokens:
        rows.append(f"{fill.tokens:,} tokens; the size of the model's window is not known")
    rows += [f"{piece.tokens:>8,}  {piece.name}  {piece.where}" for piece in await desk.pieces()]
    return Taken(local="\n".join(rows) or "Nothing has been sent yet.")


async def _status(arguments: str, desk: Desk) -> Taken:
    info = desk.info()
    rows = [
        f"Weft {info.agent_version}".strip(),
        f"Session: {info.session_id}{f' ({info.title})' if info.title else ''}",
        f"Folder: {info.cwd}",
        *(f"Also: {folder}" for folder in info.directories),
        f"Model: {info.model} (key: {info.key_source})",
        f"Mode: {info.mode}",
        f"Tools: {len(info.tools)}, servers: {len(info.servers)}, agents: {len(info.agents)}",
    ]
    return Taken(local="\n".join(rows))


async def _permissions(arguments: str, desk: Desk) -> Taken:
    rows = desk.rules()
    said = "\n".join(rows) if rows else "No rules are set: what changes something is asked about."
    return Taken(local=f"Mode: {desk.info().mode}\n{said}")


async def _memory(arguments: str, desk: Desk) -> Taken:
    rows = [f"{piece.tokens:>8,}  {piece.where}" for piece in await desk.pieces() if piece.name == "memory"]
    said = "\n".join(rows) if rows else "No memory files were found."
    return Taken(local=f"{said}\nAdd a line with `# note`; `#user: note` and `#local: note` choose the file.")


async def _agents(arguments: str, desk: Desk) -> Taken:
    rows = [f"{one.name} ({one.origin}): {one.description}" for one in desk.info().staff]
    more = "Ask for one with @agent-NAME, or make it the main one with /agent NAME."
    return Taken(local="\n".join([*rows, more]) if rows else "There are no agents here.")


_LOG_LINES: Final = 40
_SERVER_ACTIONS: Final[dict[str, Literal["enable", "disable", "reconnect"]]] = {
    "enable": "enable",
    "approve": "enable",
    "disable": "disable",
    "reconnect": "reconnect",
    "login": "reconnect",
}


async def _mcp(arguments: str, desk: Desk) -> Taken:
    action, _, server = arguments.strip().partition(" ")
    if action in _SERVER_ACTIONS and server.strip():
        return Taken(commands=(ServerCommand(server.strip(), _SERVER_ACTIONS[action]),))
    if action == "logs" and server.strip():
        lines = desk.servers.log(server.strip())
        return Taken(local="\n".join(lines[-_LOG_LINES:]) or f"{server.strip()} has said nothing.")
    rows = [
        f"{server.name}: {server.state}, {len(server.tools)} tools{f': {server.error}' if server.error else ''}"
        for server in desk.info().servers
    ]
    return Taken(local="\n".join(rows) if rows else "No MCP server is configured; `weft mcp add` adds one.")


async def _hooks(arguments: str, desk: Desk) -> Taken:
    rows = desk.hooks()
    return Taken(local="\n".join(rows) if rows else "No hooks are set.")


async def _todos(arguments: str, desk: Desk) -> Taken:
    marks = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
    rows = [f"{marks[todo.status]} {todo.content}" for todo in desk.todos()]
    return Taken(local="\n".join(rows) if rows else "Nothing is on the list.")


async def _doctor(arguments: str, desk: Desk) -> Taken:
    return Taken(local=await desk.checks())


async def _skills(arguments: str, desk: Desk) -> Taken:
    names = desk.info().skills
    folder = Path(".claude") / "skills"
    return Taken(local="\n".join(names) if names else f"There are no skills; they are folders in {folder}.")


COMMANDS = (
    Builtin(name="cost", description="what this session has used", run=_cost, aliases=("usage",)),
    Builtin(name="context", description="what the model was told and how full its window is", run=_context),
    Builtin(name="status", description="session, folder, model and mode", run=_status),
    Builtin(name="permissions", description="the rules in force", run=_permissions),
    Builtin(name="memory", description="the memory files in force", run=_memory),
    Builtin(name="agents", description="the agents that work can be given to", run=_agents),
    Builtin(name="skills", description="the skills that are known", run=_skills),
    Builtin(name="ide", description="the editors that can be attached, and which one is", hint="[number]", run=_ide),
    Builtin(
        name="mcp",
        description="the MCP servers and their state; switch one, log in, approve what it brings or changed",
        hint="[enable|disable|reconnect|login|approve|logs SERVER]",
        run=_mcp,
    ),
    Builtin(name="hooks", description="the hooks that are set", run=_hooks),
    Builtin(name="todos", description="the list of what is left", run=_todos),
    Builtin(name="doctor", description="what was found, what is missing, what to do", run=_doctor),
)
