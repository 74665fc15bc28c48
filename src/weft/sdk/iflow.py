"""The shape of iFlow's SDK, on any agent that Weft can reach.

Programs written for that SDK think in typed messages, approvals by id and one text for a question. Here they find the
same names (in Python's spelling); the agent is ours in this process, or the one at `IFlowOptions.url`.
"""

import asyncio
import builtins
import mimetypes
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from weft.connect.port import Connection
from weft.errors import ConnectionLost, UsageError, WeftError
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
from weft.schema.events import AgentEvent, PermissionAsked, TurnEnded
from weft.schema.wire import content_from, to_builtins
from weft.sdk.iflow_messages import Message, Translator


class IFlowError(WeftError):
    """The base of this module's errors."""


class TimeoutError(IFlowError):
    """A connection or an operation took too long."""


class ConnectionError(IFlowError):
    """The agent cannot be reached."""


class NotInstalledError(IFlowError):
    """The agent's command is not on this machine."""


class ProcessError(IFlowError):
    """The agent's process failed."""


class ProtocolError(IFlowError):
    """The agent broke the protocol."""


class AuthenticationError(IFlowError):
    """The agent wants a login."""


class ValidationError(IFlowError):
    """What was asked for makes no sense."""


class IFlowOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`url` reaches an agent on a WebSocket; without, the agent runs in this process. `timeout` is in seconds."""

    url: str | None = None
    cwd: str | Path = "."
    timeout: float = 30.0
    approval_mode: str = "default"
    auto_approve: Sequence[str] = ("read", "search", "fetch")
    """Kinds of tools that are allowed without asking the program."""
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
            ConnectionError: nobody answers.
            TimeoutError: not in time.
        """
        try:
            async with asyncio.timeout(self.options.timeout):
                connection = await self._open()
                self._connection = await connection.__aenter__()
        except builtins.TimeoutError as error:
            raise TimeoutError(f"The agent did not answer within {self.options.timeout:g} seconds.") from error
        except ConnectionLost as error:
            raise ConnectionError(str(error), hint=error.hint) from error

    async def _open(self) -> Connection:
        options = self.options
        if options.url is not None:
            from weft.connect.agents import AgentRequest, open_agent
            from weft.permissions.modes import to_mode

            request = AgentRequest(
                cwd=_folder(options.cwd),
                session_id=options.session_id or "",
                directories=tuple(_folder(folder) for folder in options.allowed_dirs),
                mode=to_mode(options.approval_mode),
            )
            return await open_agent(options.url, request)
        from weft.sdk.compose import Overrides, open_connection

        return await open_connection(_session_options(options), Overrides(provider=options.provider))

    async def disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
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
        await self.connection.send(Prompt((*blocks, Text(text))))

    async def receive_messages(self) -> AsyncIterator[Message]:
        """The messages of one task, `TaskFinishMessage` last."""
        async for event in self.events():
            for message in self._translator.feed(event):
                yield message
            if isinstance(event, TurnEnded):
                return

    async def events(self) -> AsyncIterator[AgentEvent]:
        async for event in self.connection.events():
            if isinstance(event, PermissionAsked) and event.kind in self.options.auto_approve:
                await self.connection.send(PermissionAnswered(event.request_id, "allow"))
            yield event

    async def interrupt(self) -> None:
        """Ends the task; the connection stays."""
        await self.connection.send(Cancel())

    async def approve_tool_call(self, request_id: str, outcome: str = "allow") -> None:
        """`allow` once, or `alwaysAllow` and its kin: the narrowest rule that was suggested is kept for the session."""
        asked = self._translator.asked.get(request_id)
        rules = asked.suggestions[:1] if asked is not None and outcome != "allow" else ()
        await self.connection.send(PermissionAnswered(request_id, "allow", rules=rules))

    async def reject_tool_call(self, request_id: str, reason: str = "") -> None:
        await self.connection.send(PermissionAnswered(request_id, "deny", message=reason))

    async def answer_questions(self, request_id: str, answers: dict[str, str]) -> None:
        await self.connection.send(QuestionAnswered(request_id, answers))

    async def approve_plan(self, request_id: str, approved: bool, feedback: str = "") -> None:
        await self.connection.send(PlanAnswered(request_id, approved, feedback=feedback))


class RawDataClient(IFlowClient):
    """Both streams: what the agent said as data, and as messages. Everything is kept, up to `history_limit`."""

    def __init__(self, options: IFlowOptions | None = None, *, history_limit: int = 10_000) -> None:
        super().__init__(options)
        self._limit = history_limit
        self._history: list[Json] = []
        self._counts: Counter[str] = Counter()

    async def events(self) -> AsyncIterator[AgentEvent]:
        async for event in super().events():
            raw: Json = to_builtins(event)
            self._counts[type(event).__name__] += 1
            self._history = [*self._history[-self._limit + 1 :], raw]
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

    async def send_raw(self, command: Json) -> None:
        """A command as data, with its class name under `command`.

        Raises:
            ValidationError: it is none.
        """
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
        await self.connection.send(found)


def _session_options(options: IFlowOptions) -> Any:
    from weft.agent.options import ALL_ASKS, SessionOptions
    from weft.permissions.modes import to_mode

    settings = options.session_settings
    mode = str(settings.get("permission_mode") or options.approval_mode)
    try:
        chosen = to_mode(mode)
    except UsageError as error:
        raise ValidationError(str(error)) from None
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


def _folder(name: str | Path) -> Path:
    return Path(name).expanduser().resolve()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _attached(path: Path) -> AnyBlock:
    import base64

    kind = mimetypes.guess_type(path.name)[0] or ""
    if kind in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        return Image(Base64Source(kind, base64.b64encode(path.read_bytes()).decode()))
    return Text(f"@{path.resolve()}")


async def query(prompt: str, files: Sequence[str | Path] = (), options: IFlowOptions | None = None) -> str:
    """One question, the whole answer as text."""
    return "".join([piece async for piece in query_stream(prompt, files, options)])


async def query_stream(
    prompt: str, files: Sequence[str | Path] = (), options: IFlowOptions | None = None
) -> AsyncIterator[str]:
    """One question, its answer piece by piece.

    Raises:
        IFlowError: the task failed.
    """
    from weft.sdk.iflow_messages import AssistantMessage, ErrorMessage
    from weft.sdk.owned import owned

    async def play(client: IFlowClient) -> AsyncIterator[Message]:
        await client.send_message(prompt, files)
        async for message in client.receive_messages():
            yield message

    async for message in owned(IFlowClient(options), play):
        if isinstance(message, AssistantMessage) and message.text:
            yield message.text
        elif isinstance(message, ErrorMessage):
            raise IFlowError(message.message)
