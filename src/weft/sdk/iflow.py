"""The shape of iFlow's SDK, on any agent that Weft can reach.

Programs written for that SDK think in typed messages, approvals by id and one text for a question. Here they find the
same names (in Python's spelling); the agent is ours in this process, the one at `IFlowOptions.url`, or one that is
started (`IFlowOptions.agent`). Every failure is one of the error classes of that SDK.
"""

import asyncio
import builtins
import mimetypes
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from weft.connect.port import Connection
from weft.errors import UsageError, WeftError
from weft.schema.commands import (
    Cancel,
    Command,
    InputGiven,
    PermissionAnswered,
    PlanAnswered,
    Prompt,
    QuestionAnswered,
)
from weft.schema.content import AnyBlock, Base64Source, Image, Json, Text
from weft.schema.events import AgentEvent, Mode, PermissionAsked, TurnEnded
from weft.schema.wire import content_from, decode_object, to_builtins
from weft.sdk.iflow_errors import (
    AuthenticationError,
    ConnectionError,
    IFlowError,
    IFlowNotInstalledError,
    IFlowProcessError,
    JSONDecodeError,
    NotInstalledError,
    PermissionError,
    PortNotAvailableError,
    ProcessError,
    ProtocolError,
    TimeoutError,
    TransportError,
    ValidationError,
    to_iflow,
)
from weft.sdk.iflow_messages import ErrorMessage, Message, Translator
from weft.sdk.iflow_names import (
    ApprovalMode,
    HookEventType,
    LogLevel,
    MessageType,
    PermissionMode,
    PlanPriority,
    PlanStatus,
    StopReason,
    ToolCallConfirmationOutcome,
    ToolCallStatus,
    ToolCallType,
)

if TYPE_CHECKING:
    from weft.connect.acp.reuse import ReusedConnection, Wanted

__all__ = [
    "ApprovalMode",
    "AuthenticationError",
    "ConnectionError",
    "HookEventType",
    "IFlowClient",
    "IFlowError",
    "IFlowNotInstalledError",
    "IFlowOptions",
    "IFlowProcessError",
    "JSONDecodeError",
    "LogLevel",
    "MessageType",
    "NotInstalledError",
    "PermissionError",
    "PermissionMode",
    "PlanPriority",
    "PlanStatus",
    "PortNotAvailableError",
    "ProcessError",
    "ProtocolError",
    "RawDataClient",
    "StopReason",
    "TimeoutError",
    "ToolCallConfirmationOutcome",
    "ToolCallStatus",
    "ToolCallType",
    "TransportError",
    "ValidationError",
    "query",
    "query_stream",
]


class IFlowOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`url` reaches an agent on a WebSocket. `agent` starts one: a name that Weft knows (`iflow`), or a command line;
    `port` is where it is to listen, if it does. Without either the agent runs in this process. `timeout` is in
    seconds."""

    url: str | None = None
    agent: str | None = None
    port: int = 0
    auth_method: str | None = None
    cwd: str | Path = "."
    timeout: float = 30.0
    approval_mode: str = "default"
    auto_approve: Sequence[str] = ("read", "search", "fetch")
    """Kinds of tools that are allowed without asking the program."""
    permission_mode: str = "auto"
    """One of `PermissionMode`: `manual` asks about these too."""
    session_id: str | None = None
    session_settings: Json = {}
    allowed_dirs: Sequence[str | Path] = ()
    mcp_servers: Json | None = None
    agents: Json | None = None
    provider: Any = None


class IFlowClient:
    """`async with IFlowClient() as client`, or `connect` and `disconnect`."""

    def __init__(self, options: IFlowOptions | None = None) -> None:
        self.options = options or IFlowOptions()
        self._connection: Connection | None = None
        self._kept: ReusedConnection | None = None
        """The connection to an agent of another process: it outlives a change of session."""
        self._translator = Translator()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.disconnect()

    async def connect(self) -> None:
        """
        Raises:
            TimeoutError: not in time.
            ConnectionError: nobody answers there.
            IFlowNotInstalledError, IFlowProcessError, PortNotAvailableError: the agent cannot be started.
            AuthenticationError: it wants a login.
            ProtocolError: it does not speak the protocol.
            ValidationError: the options make no sense.
        """
        try:
            async with asyncio.timeout(self.options.timeout):
                self._connection = await self._open()
        except builtins.TimeoutError as error:
            await self.disconnect()
            raise TimeoutError(f"The agent did not answer within {self.options.timeout:g} seconds.") from error
        except WeftError as error:
            await self.disconnect()
            raise to_iflow(error, connected=False) from error

    async def _open(self) -> Connection:
        options = self.options
        if options.url or options.agent:
            from weft.connect.acp.reuse import ReusedConnection, Wanted

            if self._kept is None:
                self._kept = await ReusedConnection(self._to_agent).__aenter__()
            return await self._kept.ready(
                Wanted(
                    mode=_mode(options),
                    cwd=_folder(options.cwd),
                    directories=tuple(_folder(folder) for folder in options.allowed_dirs),
                    session_id=options.session_id or "",
                )
            )
        from weft.sdk.compose import Overrides, open_connection

        connection = await open_connection(_session_options(options), Overrides(provider=options.provider))
        return await connection.__aenter__()

    async def _to_agent(self, wanted: "Wanted") -> Connection:
        from weft.connect.agents import AgentRequest, open_agent

        request = AgentRequest(
            cwd=wanted.cwd,
            session_id=wanted.session_id,
            directories=wanted.directories,
            mode=wanted.mode,
            auth_method=self.options.auth_method,
            port=self.options.port,
        )
        return await open_agent(self.options.url or self.options.agent or "", request)

    async def load_session(self, session_id: str) -> None:
        """Another conversation instead of this one. An agent of another process stays, and loads it.

        Raises:
            IFlowError: as `connect` does; the client is not connected then.
        """
        if self._kept is None:
            await self.disconnect()
        self.options = msgspec.structs.replace(self.options, session_id=session_id)
        await self.connect()

    async def disconnect(self) -> None:
        connection, self._connection = self._connection, None
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.__aexit__(None, None, None)
        elif connection is not None:
            await connection.__aexit__(None, None, None)

    @property
    def connection(self) -> Connection:
        if self._connection is None:
            raise ConnectionError("The client is not connected.", hint="Call connect() first.")
        return self._connection

    @property
    def session_id(self) -> str:
        return self.connection.info.session_id

    async def send_message(self, text: str, files: Sequence[str | Path] = ()) -> None:
        """Pictures are sent as such; other files are mentioned, and read by the agent itself."""
        blocks: list[AnyBlock] = [_attached(Path(file)) for file in files]
        await self._send(Prompt((*blocks, Text(text))))

    async def _send(self, command: Command) -> None:
        try:
            await self.connection.send(command)
        except WeftError as error:
            raise to_iflow(error, connected=True) from error

    async def receive_messages(self) -> AsyncIterator[Message]:
        """The messages of one task, `TaskFinishMessage` last.

        Raises:
            TransportError: the agent went away in the middle.
        """
        async for event in self.events():
            for message in self._translator.feed(event):
                yield message
            if isinstance(event, TurnEnded):
                return
        raise TransportError("The agent went away in the middle of a task.")

    async def events(self) -> AsyncIterator[AgentEvent]:
        """Every event, for ever. What the options approve is approved here."""
        manual = self.options.permission_mode == PermissionMode.MANUAL
        async for event in self.connection.events():
            if isinstance(event, PermissionAsked) and event.kind in self.options.auto_approve and not manual:
                await self._send(PermissionAnswered(event.request_id, "allow"))
            yield event

    async def interrupt(self) -> None:
        """Ends the task; the connection stays."""
        await self._send(Cancel())

    async def approve_tool_call(self, request_id: str, outcome: str = "allow") -> None:
        """`allow` once, or `alwaysAllow` and its kin: the narrowest rule that was suggested is kept for the session."""
        if outcome == ToolCallConfirmationOutcome.REJECT:
            await self.reject_tool_call(request_id)
            return
        asked = self._translator.asked.get(request_id)
        rules = asked.suggestions[:1] if asked is not None and outcome != "allow" else ()
        await self._send(PermissionAnswered(request_id, "allow", rules=rules))

    async def reject_tool_call(self, request_id: str, reason: str = "") -> None:
        await self._send(PermissionAnswered(request_id, "deny", message=reason))

    async def answer_questions(self, request_id: str, answers: dict[str, str]) -> None:
        await self._send(QuestionAnswered(request_id, answers))

    async def approve_plan(self, request_id: str, approved: bool, feedback: str = "") -> None:
        await self._send(PlanAnswered(request_id, approved, feedback=feedback))


class RawDataClient(IFlowClient):
    """Both streams: what the agent said as data, and as messages. Everything is kept, up to `history_limit`."""

    def __init__(self, options: IFlowOptions | None = None, *, history_limit: int = 10_000) -> None:
        super().__init__(options)
        self._history: deque[Json] = deque(maxlen=history_limit)
        self._counts: Counter[str] = Counter()

    async def events(self) -> AsyncIterator[AgentEvent]:
        async for event in super().events():
            raw: Json = to_builtins(event)
            self._counts[type(event).__name__] += 1
            self._history.append(raw)
            yield event

    async def receive_raw_messages(self) -> AsyncIterator[Json]:
        async for event in self.events():
            yield to_builtins(event)
            if isinstance(event, TurnEnded):
                return

    async def receive_dual_stream(self) -> AsyncIterator[tuple[Json, tuple[Message, ...]]]:
        """Each event as data, with the messages that it became (often none)."""
        async for event in self.events():
            yield to_builtins(event), tuple(self._translator.feed(event))
            if isinstance(event, TurnEnded):
                return

    def get_raw_history(self) -> tuple[Json, ...]:
        return tuple(self._history)

    def get_protocol_stats(self) -> Json:
        """How many events there were, and of which kinds."""
        return {"total": sum(self._counts.values()), "types": dict(self._counts)}

    async def send_raw(self, command: Json | str | bytes) -> None:
        """A command as data or as the text of it, with its class name under `command`.

        Raises:
            JSONDecodeError: the text is not JSON.
            ValidationError: it is no command.
        """
        if isinstance(command, str | bytes):
            command = _decoded(command)
        kinds = (Cancel, PermissionAnswered, QuestionAnswered, PlanAnswered, InputGiven)
        known = {kind.__name__: kind for kind in kinds}
        name = str(command.get("command"))
        try:
            if name == "Prompt":
                found: Command = Prompt(content_from(command.get("content", "")), id=str(command.get("id") or ""))
            else:
                found = msgspec.convert(command, known[name])
        except KeyError:
            names = ", ".join(("Prompt", *known))
            raise ValidationError(f"There is no command {name!r}. There are: {names}.") from None
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise ValidationError(str(error)) from None
        await self._send(found)


def _session_options(options: IFlowOptions) -> Any:
    from weft.agent.options import ALL_ASKS, SessionOptions

    settings = options.session_settings
    chosen = _mode(options)
    return SessionOptions(
        cwd=Path(options.cwd).resolve(),
        directories=tuple(Path(folder).resolve() for folder in options.allowed_dirs),
        resume=options.session_id,
        mode=chosen,
        allow_bypass=chosen == "bypassPermissions",
        asks=ALL_ASKS,
        system_prompt=_text(settings.get("system_prompt")),
        append_system_prompt=_text(settings.get("append_system_prompt")),
        mcp_servers=options.mcp_servers,
        agents=options.agents,
        client="sdk",
    )


def _mode(options: IFlowOptions) -> Mode:
    from weft.permissions.modes import to_mode

    try:
        return to_mode(str(options.session_settings.get("permission_mode") or options.approval_mode))
    except UsageError as error:
        raise ValidationError(str(error)) from None


def _decoded(text: str | bytes) -> Json:
    try:
        return decode_object(text)
    except msgspec.ValidationError as error:
        raise ValidationError(f"A command is an object: {error}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise JSONDecodeError(str(error)) from None


def _folder(name: str | Path) -> Path:
    return Path(name).expanduser().resolve()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _attached(path: Path) -> AnyBlock:
    import base64

    kind = mimetypes.guess_type(path.name)[0] or ""
    try:
        with path.open("rb") as file:
            if kind in ("image/png", "image/jpeg", "image/gif", "image/webp"):
                return Image(Base64Source(kind, base64.b64encode(file.read()).decode()))
    except builtins.PermissionError as error:
        raise PermissionError(f"{path} may not be read.", hint="Check who owns it, and its mode.") from error
    except IsADirectoryError:
        pass
    except OSError as error:
        raise ValidationError(f"{path} cannot be attached: {error.strerror}.") from error
    return Text(f"@{path.resolve()}")


async def query(prompt: str, files: Sequence[str | Path] = (), options: IFlowOptions | None = None) -> str:
    """One question, the whole answer as text."""
    return "".join([piece async for piece in query_stream(prompt, files, options)])


async def query_stream(
    prompt: str, files: Sequence[str | Path] = (), options: IFlowOptions | None = None
) -> AsyncIterator[str]:
    """One question, its answer piece by piece.

    Raises:
        AuthenticationError: the key of the model is refused.
        IFlowError: the task failed; or as `IFlowClient.connect`.
    """
    from weft.sdk.iflow_messages import AssistantMessage
    from weft.sdk.owned import owned

    async def play(client: IFlowClient) -> AsyncIterator[Message]:
        await client.send_message(prompt, files)
        async for message in client.receive_messages():
            yield message

    async for message in owned(IFlowClient(options), play):
        if isinstance(message, AssistantMessage) and message.text:
            yield message.text
        elif isinstance(message, ErrorMessage):
            raise (AuthenticationError if message.login else IFlowError)(message.message)
