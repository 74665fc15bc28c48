"""What a prompt becomes, and what commands may see of a session."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from weft.context.port import Piece
from weft.schema.commands import Command
from weft.schema.content import Content
from weft.schema.display import Todo
from weft.schema.events import CommandInfo, SessionInfo
from weft.schema.records import Record
from weft.sessions.ledger import LedgerState
from weft.sessions.port import SessionSummary


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt means.

    `content` joins the history as the person's message, after `reminders`; without content there is nothing for the
    model. `local` is what a local command says to the person. `commands` are applied to the session first. `shell`
    is a line to be run through the gate; its output joins the conversation. `clear` begins a new conversation.
    `model`, `effort`, `allowed_tools` and `agent` are wishes of a command's front matter, for this turn only; the
    tools are wishes that never widen what policy allows. With `agent` the work is given to that agent, and what comes
    back is the answer.
    """

    content: Content = ()
    reminders: Content = ()
    local: str | None = None
    commands: tuple[Command, ...] = ()
    shell: str | None = None
    clear: bool = False
    model: str | None = None
    effort: str | None = None
    allowed_tools: tuple[str, ...] = ()
    agent: str | None = None
    command: str = ""
    """The name of the slash command that it was, without the slash."""
    then: str = ""
    """A prompt that follows the command on its line; it is taken as if it were typed alone."""


class ServerSkillInfo(msgspec.Struct, frozen=True):
    """A skill that a server offers; `name` is `server:skill`."""

    name: str
    description: str
    server: str
    for_model: bool = True
    for_person: bool = True


class ServerPrompts(Protocol):
    """Prompts and resources of MCP servers. Names are `mcp__server__prompt`."""

    def prompts(self) -> Sequence[CommandInfo]: ...

    async def prompt(self, name: str, arguments: Sequence[str]) -> Content:
        """
        Raises:
            ToolError: the server cannot give it; the sentence says why.
        """
        ...

    def log(self, server: str) -> Sequence[str]:
        """What a server wrote to its log and to its error output, oldest first; nothing of one that is not there."""
        ...

    def skills(self) -> Sequence[ServerSkillInfo]: ...

    async def skill(self, name: str, arguments: str) -> str:
        """The skill's text, checked against its listing.

        Raises:
            ToolError: it cannot be had, or is not what was listed.
        """
        ...

    async def resource(self, server: str, uri: str) -> Content | None:
        """The content of a resource; None when there is no such server or resource."""
        ...


class NoServers:
    """No MCP server is configured."""

    def prompts(self) -> Sequence[CommandInfo]:
        return ()

    async def prompt(self, name: str, arguments: Sequence[str]) -> Content:
        return ()

    def log(self, server: str) -> Sequence[str]:
        return ()

    def skills(self) -> Sequence[ServerSkillInfo]:
        return ()

    async def skill(self, name: str, arguments: str) -> str:
        return ""

    async def resource(self, server: str, uri: str) -> Content | None:
        return None


class Fill(msgspec.Struct, frozen=True):
    """How full the window is: the provider's count, and the size of the window (0 when not known)."""

    tokens: int = 0
    window: int = 0


async def _no_shell(command: str) -> str:
    return f"(not run: commands cannot be run here: {command})"


async def _no_pieces() -> Sequence[Piece]:
    return ()


async def _nobody(text: str) -> bool:
    return False


async def _no_references(text: str) -> Content:
    return ()


async def _no_editor(arguments: str) -> str:
    return "Editors can be attached where somebody is there to look at them."


async def _no_agent(name: str) -> str:
    return "The main agent cannot be changed here."


async def _no_checks() -> str:
    return "Run `weft doctor` in a terminal: it says what was found, what is missing and what to do."


class Desk(msgspec.Struct, kw_only=True):
    """What commands see of the session, asked for when it is needed. What is not set is empty."""

    info: Callable[[], SessionInfo]
    ledger: Callable[[], LedgerState] = LedgerState
    todos: Callable[[], Sequence[Todo]] = lambda: ()
    fill: Callable[[], Fill] = Fill
    pieces: Callable[[], Awaitable[Sequence[Piece]]] = _no_pieces
    """What the model was told, by source."""
    records: Callable[[], Sequence[Record]] = lambda: ()
    sessions: Callable[[], Sequence[SessionSummary]] = lambda: ()
    rules: Callable[[], Sequence[str]] = lambda: ()
    """Permission rules in force, a line each."""
    hooks: Callable[[], Sequence[str]] = lambda: ()
    checks: Callable[[], Awaitable[str]] = _no_checks
    run: Callable[[str], Awaitable[str]] = _no_shell
    """Runs a command of a command file through the gate; its output, or why not."""
    may_read: Callable[[Path], bool] = lambda path: True
    servers: ServerPrompts = NoServers()
    ide: Callable[[str], Awaitable[str]] = _no_editor
    """The `/ide` command."""
    looked_at: Callable[[], Content] = lambda: ()
    """What the person looks at in an attached editor, once per change."""
    pointed_at: Callable[[], str] = lambda: ""
    """What they pointed at there since the last prompt, as they would have typed it."""
    handed: Callable[[str], Awaitable[bool]] = _nobody
    """Hands a prompt to the participant that it is for; False when it is for the model."""
    referred: Callable[[str], Awaitable[Content]] = _no_references
    """What the model is told about the `#tools` that a prompt names."""
    become: Callable[[str], Awaitable[str]] = _no_agent
    """Makes another agent the main one; says what came of it."""
    home: Path | None = None


class Builtin(msgspec.Struct, frozen=True, kw_only=True):
    """A command of our own. `local` ones answer without a model; the others become a prompt."""

    name: str
    description: str
    run: Callable[[str, Desk], Awaitable[Taken]]
    hint: str = ""
    aliases: tuple[str, ...] = ()
    kind: Literal["local", "prompt"] = "local"

    @property
    def info(self) -> CommandInfo:
        return CommandInfo(self.name, self.description, self.hint, "builtin", self.aliases)
