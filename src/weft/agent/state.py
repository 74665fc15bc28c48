"""A session's state that changes while it lives: the part that tools may see, and what surfaces are told of it."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from weft.permissions.port import Gate
from weft.schema.agents import AgentInfo
from weft.schema.content import Json
from weft.schema.display import Todo
from weft.schema.events import (
    AgentEvent,
    CommandInfo,
    Mode,
    ModelInfo,
    ServerInfo,
    SessionChanged,
    SessionInfo,
    TodosChanged,
)
from weft.schema.messages import ThinkingConfig
from weft.sessions.port import SessionLog


class Offers(msgspec.Struct, kw_only=True):
    """What a session has to offer, asked for when it is shown."""

    tools: Callable[[], tuple[str, ...]] = tuple
    commands: Callable[[], tuple[CommandInfo, ...]] = tuple
    agents: Callable[[], tuple[str, ...]] = tuple
    staff: Callable[[], tuple[AgentInfo, ...]] = tuple
    main_agent: Callable[[], str] = str
    skills: Callable[[], tuple[str, ...]] = tuple
    models: Callable[[], tuple[ModelInfo, ...]] = tuple
    servers: Callable[[], tuple[ServerInfo, ...]] = tuple


class State:
    """Implements `tools.port.SessionView`. Every setter that changes something tells the surfaces."""

    def __init__(
        self,
        *,
        session_id: str,
        cwd: Path,
        directories: tuple[Path, ...],
        model: str,
        default_model: str,
        thinking: ThinkingConfig,
        gate: Gate,
        log: SessionLog | None,
        emit: Callable[[AgentEvent], None],
        version: str,
        key_source: str = "none",
    ) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.original_cwd = cwd
        self.directories = directories
        self.model = model
        self.default_model = default_model
        self.thinking = thinking
        self.todos: tuple[Todo, ...] = ()
        self.title = ""
        self.offers = Offers()
        self.gate = gate
        self.log = log
        self._emit = emit
        self._version = version
        self._key_source = key_source
        self._spilled = 0
        self.prompt_id = ""
        self.moved: Callable[[Path, Path], None] = lambda _old, _new: None
        self.joined: Callable[[tuple[str, ...]], None] = lambda _folders: None
        self.planned: Callable[[tuple[Todo, ...], tuple[Todo, ...]], None] = lambda _old, _new: None

    @property
    def mode(self) -> Mode:
        return self.gate.mode

    def info(self, *, brief: bool = False) -> SessionInfo:
        """What the session is, and what it offers; only the first of these when `brief`."""
        offers = self.offers if not brief else Offers()
        return SessionInfo(
            session_id=self.session_id,
            cwd=str(self.cwd),
            model=self.model,
            mode=self.mode,
            thinking=self.thinking,
            title=self.title,
            directories=tuple(str(folder) for folder in self.directories),
            tools=offers.tools(),
            commands=offers.commands(),
            agents=offers.agents(),
            staff=offers.staff(),
            main_agent=offers.main_agent(),
            skills=offers.skills(),
            models=offers.models(),
            servers=offers.servers(),
            agent_version=self._version,
            key_source=self._key_source,
        )

    def changed(self, reason: str) -> None:
        self._emit(SessionChanged(info=self.info(), reason=reason))

    def set_cwd(self, cwd: Path) -> None:
        old, self.cwd = self.cwd, cwd
        if old != cwd:
            self.moved(old, cwd)

    def set_todos(self, todos: tuple[Todo, ...]) -> None:
        old, self.todos = self.todos, todos
        self.planned(old, todos)
        self._emit(TodosChanged(todos=todos))

    def set_mode(self, mode: Mode) -> None:
        """
        Raises:
            UsageError: policy forbids the mode.
        """
        if mode != self.mode:
            self.gate.set_mode(mode)
            self.changed("mode")

    def set_title(self, title: str) -> None:
        self.title = title
        self.changed("title")

    def spill(self, name: str, data: bytes) -> Path:
        self._spilled += 1
        if self.log is not None and self.log.path is not None:
            return self.log.spill(name, data)
        import tempfile

        folder = Path(tempfile.mkdtemp(prefix="weft-"))
        (folder / name).write_bytes(data)
        return folder / name

    def hook_input(self, event: str, /, **extra: object) -> Json:
        """The fields that every hook gets, and its own."""
        transcript = str(self.log.path) if self.log is not None and self.log.path is not None else ""
        found: Json = {
            "session_id": self.session_id,
            "transcript_path": transcript,
            "cwd": str(self.cwd),
            "permission_mode": self.mode,
            "hook_event_name": event,
        }
        if self.prompt_id:
            found["prompt_id"] = self.prompt_id
        if self.thinking.effort:
            found["effort"] = {"level": self.thinking.effort}
        return {**found, **extra}


class Aside(State):
    """A subagent's part of a session: a folder and a todo list of its own. Its mode is its gate's; a mode that the
    person chooses while they answer it is the session's."""

    def __init__(self, session: State, gate: Gate, *, emit: Callable[[AgentEvent], None], parent: str) -> None:
        super().__init__(
            session_id=session.session_id,
            cwd=session.cwd,
            directories=session.directories,
            model=session.model,
            default_model=session.default_model,
            thinking=session.thinking,
            gate=gate,
            log=session.log,
            emit=emit,
            version="",
        )
        self._session = session
        self._parent = parent
        self.prompt_id = session.prompt_id
        self.joined = session.joined

    def move(self, folder: Path) -> None:
        """Another folder from the start: what was the session's is not known here."""
        self.cwd = self.original_cwd = folder

    def set_todos(self, todos: tuple[Todo, ...]) -> None:
        self.todos = todos
        self._emit(TodosChanged(todos=todos, parent=self._parent))

    def set_mode(self, mode: Mode) -> None:
        self._session.set_mode(mode)
