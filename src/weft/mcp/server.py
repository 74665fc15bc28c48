"""One configured server: its state, what it offers, and the task that owns its connection.

    disconnected → connecting → initializing → ready → closing → disconnected
                        └────────────┴→ failed (or needs_auth) → disconnected

The owner task enters and leaves the client, because its cancel scopes belong to one task; requests are made from
the tasks of those who ask. Nothing of the `mcp` package is imported before the first connection.
"""

import logging
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import anyio
import msgspec

from weft.errors import TransportError, TransportTimeout, WeftError
from weft.mcp.catalogue import PromptInfo, ResourceInfo, TemplateInfo, ToolInfo, text_of
from weft.mcp.clock import Clock
from weft.mcp.config import ServerConfig
from weft.mcp.failures import NeedsLogin, flat
from weft.mcp.launch import redactor
from weft.mcp.loading import Loading
from weft.mcp.options import ChangeKind, HostOptions, LogLine
from weft.mcp.pins import Change, Pins
from weft.mcp.trust import Approvals, describe
from weft.mcp.visible import visible
from weft.schema.events import ServerInfo

if TYPE_CHECKING:
    from weft.mcp.link import Link
    from weft.mcp.skills import ServerSkill

log = logging.getLogger(__name__)

State = Literal["disconnected", "connecting", "initializing", "ready", "closing", "failed", "disabled", "needs_auth"]
RESTARTS = 3
"""How often a program that ends by itself is started again before it counts as failed."""
STEADY = 60.0
"""A connection that held this long clears the count of failures."""
KEPT_LINES = 500


class Server:
    def __init__(self, config: ServerConfig, options: HostOptions, load: Loading, login: anyio.Lock) -> None:
        self.config = config
        self.options = options
        self.pins = Pins(options.home, config)
        self.newcomer = not self.pins.known
        self.state: State = "disabled" if config.standing != "approved" else "disconnected"
        self.error: str | None = _why(config)
        self.version = ""
        self.instructions = text_of(self.pins.instructions())
        self.tools: tuple[ToolInfo, ...] = self.pins.tools()
        self.prompts: tuple[PromptInfo, ...] = ()
        self.resources: tuple[ResourceInfo, ...] = ()
        self.templates: tuple[TemplateInfo, ...] = ()
        self.skills: tuple[ServerSkill, ...] = ()
        self.changes: tuple[Change, ...] = ()
        self.lines: deque[LogLine] = deque(maxlen=KEPT_LINES)
        self.link: Link | None = None
        self.clocks: set[Clock] = set()
        self.lost = anyio.Event()
        self.interactive_login = False
        self.login_lock = login
        """One login at a time: a person has one pair of eyes."""
        self._redact = redactor(config, options.env)
        self._load = load
        self._wanted = anyio.Event()
        if self.state != "disabled":
            self._wanted.set()
        self._close = anyio.Event()
        self._moved = anyio.Event()
        self._settled = self.state == "disabled"

    # --- what others see

    def info(self) -> ServerInfo:
        return ServerInfo(
            name=self.config.name,
            state=self.state,
            scope=self.config.scope,
            error=self.error,
            tools=tuple(tool.name for tool in self.usable_tools()),
            transport=self.config.transport,
            version=self.version,
        )

    def usable_tools(self) -> tuple[ToolInfo, ...]:
        """The tools that the model may be told of. Before the server is up these are the ones approved earlier; a
        server that failed or is off has none."""
        if self.state in ("disabled", "failed", "needs_auth"):
            return ()
        changed = {change.name for change in self.changes if change.kind == "tool"}
        return tuple(tool for tool in self.tools if tool.name not in changed)

    def changed(self, kind: ChangeKind) -> None:
        self.options.on_change(kind, self.config.name)

    def move(self, state: State, error: str | None = None) -> None:
        self.state, self.error = state, error
        self._settled = self._settled or state in ("ready", "failed", "disabled", "needs_auth")
        moved, self._moved = self._moved, anyio.Event()
        moved.set()
        self.changed("state")

    def note(self, line: LogLine) -> None:
        self.lines.append(line)
        self.changed("log")

    def on_stderr(self, line: str) -> None:
        self.note(LogLine(self.config.name, "stderr", visible(self._redact(line))[:4000]))

    @contextmanager
    def pause(self) -> Generator[None]:
        """While a person is asked, no clock of this server's calls runs."""
        stopped = tuple(self.clocks)
        for clock in stopped:
            clock.pause()
        try:
            yield
        finally:
            for clock in stopped:
                clock.resume()

    def touch(self) -> None:
        """Something was heard that shows life: no call is idle."""
        for clock in self.clocks:
            clock.touch()

    # --- switches

    def enable(self) -> None:
        if self.config.standing in ("invalid", "denied"):
            raise WeftError(f"{self.config.name}: {_why(self.config)}")
        if not self._wanted.is_set():
            self._settled = False
            self.move("disconnected")
            self._wanted.set()

    def disable(self) -> None:
        if self._wanted.is_set():
            self._wanted = anyio.Event()
            self._close.set()
        self.move("disabled")

    def reconnect(self) -> None:
        self._close.set()
        if not self._wanted.is_set():
            self.enable()

    @property
    def wanted(self) -> bool:
        """False once it is switched off: that state is shown at once, and its closing is not."""
        return self._wanted.is_set()

    async def next_move(self) -> None:
        await self._moved.wait()

    async def settled(self) -> None:
        """Returns when the first attempt to connect is over, one way or the other."""
        while not self._settled:
            await self._moved.wait()

    async def ready(self, limit: float) -> "Link":
        """The live connection; waits for one that is on its way.

        Raises:
            TransportError: there is none, and none is coming.
        """
        with anyio.move_on_after(limit):
            while True:
                if self.state == "ready" and self.link is not None:
                    return self.link
                if self.state in ("failed", "disabled", "needs_auth"):
                    break
                self._load.hurry()
                await self._moved.wait()
        reason = self.error or self.state.replace("_", " ")
        raise TransportError(f"the MCP server {self.config.name!r} is not connected: {reason}")

    # --- the owner task

    async def run(self, slots: anyio.CapacityLimiter) -> None:
        await self._load.done.wait()
        if self.config.standing in ("pending", "changed") and self.options.ask_approval:
            await self.ask_approval()
        failures = 0
        while True:
            await self._wanted.wait()
            self._close = anyio.Event()
            began = anyio.current_time()
            error = await self._once(slots)
            self.link = None
            if error is None or not self._wanted.is_set():
                self.move("disconnected" if self._wanted.is_set() else "disabled")
                failures = 0
                continue
            failures = 1 if anyio.current_time() - began > STEADY else failures + 1
            await self._after(error, failures)

    async def _once(self, slots: anyio.CapacityLimiter) -> Exception | None:
        """One connection from its first byte to its last. None when it was closed on purpose."""
        self.move("connecting")
        self.lost = anyio.Event()
        try:
            from weft.mcp.link import Link

            async with slots:
                link = Link(self)
                opened = await link.prepared()
            await link.run(opened, self._close)
        except Exception as error:  # noqa: BLE001 - a peer's failure is a state of this server, never ours
            log.debug("server %s: %r", self.config.name, error)
            return flat(error)
        return None

    async def _after(self, error: Exception, failures: int) -> None:
        text = visible(self._redact(str(error) or type(error).__name__))[:2000]
        if isinstance(error, NeedsLogin):
            self.move("needs_auth", f"log in with: weft mcp login {self.config.name}")
            await self._close.wait()
            return
        allowed = self.options.reconnects if self.config.remote else RESTARTS
        self.move("failed", text)
        if failures > allowed or isinstance(error, TransportTimeout):
            await self._close.wait()
            return
        with anyio.move_on_after(min(self.options.backoff * 2 ** (failures - 1), 60)):
            await self._close.wait()

    async def ask_approval(self) -> bool:
        """Asks the person whether a server that the project brings may start; remembers a yes."""
        ask = self.options.ask_input
        if ask is None:
            return False
        again = "Its entry has changed since you approved it.\n" if self.config.standing == "changed" else ""
        answer = await ask(self.config.name, f"{again}{describe(self.config)}\nStart it?")
        if answer.action != "accept":
            return False
        self.approve()
        return True

    def approve(self) -> None:
        """The person has seen `trust.describe` and agrees."""
        Approvals(self.options.home).approve(self.options.cwd, self.config)
        self.config = msgspec.structs.replace(self.config, standing="approved")
        self.error = None
        self.enable()


def _why(config: ServerConfig) -> str | None:
    match config.standing:
        case "pending":
            return f"waits for your approval: weft mcp approve {config.name}"
        case "changed":
            return f"its entry has changed since you approved it: weft mcp approve {config.name}"
        case "denied":
            return config.problem or "you said no to it"
        case "disabled" | "invalid":
            return config.problem or "switched off"
        case _:
            return None
