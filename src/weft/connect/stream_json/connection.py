"""A child that speaks stream-json, behind the `Connection` port.

The host of seed 000: it starts the command, queues prompts, answers permission callbacks, follows edits with hooks,
resumes after a restart, and leaves nothing behind.
"""

import logging
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

import anyio
import msgspec
from anyio.abc import TaskGroup

from weft.agent.channel import Channel
from weft.connect.stream_json import outgoing
from weft.connect.stream_json.edits import EditTracker
from weft.connect.stream_json.fields import initialized
from weft.connect.stream_json.read import Reader
from weft.errors import AgentEnded, ConnectionLost, ProviderError, RemoteProtocolError, TransportError, UsageError
from weft.protocols.stream_json import (
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Other,
    UserLine,
    control_error,
    control_request,
    control_success,
    decode_line,
    is_json,
)
from weft.schema.commands import (
    Answer,
    Command,
    Complete,
    InputGiven,
    PermissionAnswered,
    PlanAnswered,
    Prompt,
    QuestionAnswered,
)
from weft.schema.content import Json
from weft.schema.events import AgentEvent, AskWithdrawn, Notice, SessionInfo
from weft.schema.wire import as_blocks, encode
from weft.transports.awaited import Awaited
from weft.transports.messages import LineStream
from weft.transports.process import Child, spawn

if TYPE_CHECKING:
    from weft.proxy.session import ProxySession

logger = logging.getLogger(__name__)

HookFunction = Callable[[Json, str | None], Awaitable[Json | None]]
HostServer = Callable[[Json], Awaitable[Json]]
BASE = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
START_LIMIT = 60.0
LAST_WORDS = 10.0
"""Seconds that it has to end by itself after it has closed its output, or said a line without end."""
ENDED = "the agent ended"


class StreamJsonOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the child is started. `arguments` come after the base ones; `resume` continues a session of the agent's."""

    command: tuple[str, ...]
    cwd: Path
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    name: str = "agent"
    resume: str = ""
    ask: bool = True
    partial: bool = True
    initialize: Json = {}
    hooks: Json = {}
    """More hooks to register, in the wire's form; their callbacks are in `callbacks`."""
    callbacks: Mapping[str, HookFunction] = {}
    servers: Mapping[str, HostServer] = {}
    """MCP servers in this process, by name."""
    proxy: "ProxySession | None" = None
    """Where the child asks models: it gets a nonce instead of the key."""


class StreamJsonConnection:
    """Implements `Connection`."""

    def __init__(self, options: StreamJsonOptions) -> None:
        self._options = options
        self._channel = Channel()
        self._reader = Reader(lambda: str(uuid.uuid4()), agent_name=options.name)
        self._edits = EditTracker(options.cwd)
        self._requests: dict[str, ControlRequest] = {}
        self._waiting: dict[str, tuple[Child | None, Awaited[ControlResponse]]] = {}
        """What the agent was asked, with the process that was asked: another one does not answer for it."""
        self._count = 0
        self._child: Child | None = None
        self._stream: LineStream | None = None
        self._closing = False
        self._said: list[str] = []

    async def __aenter__(self) -> Self:
        await self._open_proxy()
        self._group: TaskGroup = await anyio.create_task_group().__aenter__()
        try:
            await self._start(self._options.resume)
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def _open_proxy(self) -> None:
        if self._options.proxy is None:
            return
        try:
            await self._options.proxy.__aenter__()
        except ProviderError as error:
            raise ConnectionLost(f"{self._options.name} gets no key: {error}", hint=error.hint) from error

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._closing = True
        await self._stop()
        self._group.cancel_scope.cancel()
        try:
            await self._group.__aexit__(None, None, None)
            return None
        finally:
            self._channel.close()
            if self._options.proxy is not None:
                await self._options.proxy.__aexit__(None, None, None)

    @property
    def info(self) -> SessionInfo:
        return self._reader.info

    @property
    def child(self) -> Child | None:
        """The process, while it runs."""
        return self._child

    def events(self) -> AsyncIterator[AgentEvent]:
        return aiter(self._channel)

    async def restart(self, *, arguments: Sequence[str] | None = None, env: Mapping[str, str] | None = None) -> None:
        """Other settings for the same conversation: the child ends, and the next command starts it anew where it was.

        Raises:
            UsageError: a turn is running.
        """
        if self._reader.in_turn:
            raise UsageError("A turn is running; stop it before the settings change.")
        self._options = msgspec.structs.replace(
            self._options,
            arguments=tuple(arguments) if arguments is not None else self._options.arguments,
            env=env if env is not None else self._options.env,
        )
        await self._stop()

    # --- the child -------------------------------------------------------------------------------------------

    async def _start(self, resume: str) -> None:
        options = self._options
        argv = [*options.command, *BASE, *options.arguments]
        if options.partial:
            argv.append("--include-partial-messages")
        if options.ask:
            argv += ["--permission-prompt-tool", "stdio"]
        if resume:
            argv.append(f"--resume={resume}")
        env = {**os.environ, **options.env, "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}
        env = env if options.proxy is None else options.proxy.env(env)
        env.pop("CLAUDECODE", None)
        try:
            child = self._child = await spawn(argv, cwd=options.cwd, env=env, stdin="pipe", on_stderr=self._complaint)
        except TransportError as error:
            raise AgentEnded(str(error)) from error
        assert child.stdin is not None and child.stdout is not None

        async def close() -> None:
            if child.stdin is not None:
                child.stdin.close()

        self._stream = LineStream(child.stdout.receive, child.stdin.send, close)
        self._group.start_soon(self._read, child, self._stream)
        await self._initialize(child)

    async def _initialize(self, child: Child) -> None:
        hooks = self._edits.hooks()
        for name, entries in self._options.hooks.items():
            hooks[name] = [*_rows(hooks.get(name)), *_rows(entries)]
        body: Json = {"hooks": hooks, **self._options.initialize}
        try:
            with anyio.fail_after(START_LIMIT):
                answer = await self._ask("initialize", **body)
        except TimeoutError:
            words = f"{self._options.name} did not answer within {START_LIMIT:g} seconds."
            raise ConnectionLost(words, hint=self._why()) from None
        info = initialized(answer, msgspec.structs.replace(self.info, cwd=str(self._options.cwd)))
        for event in self._reader.start(info):
            self._channel.put(event)

    async def _stop(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        with anyio.CancelScope(shield=True):
            if self._stream is not None:
                await self._stream.close()
            with anyio.move_on_after(2):
                await child.wait()
            await child.kill()
            child.close()

    def _complaint(self, line: str) -> None:
        logger.debug("%s: %s", self._options.name, line)
        self._said = [*self._said[-20:], line]

    def _why(self) -> str | None:
        return "; ".join(self._said[-3:]) or None

    async def _read(self, child: Child, stream: LineStream) -> None:
        while (line := await stream.receive()) is not None:
            try:
                await self._take(line)
            except (RemoteProtocolError, TransportError) as error:
                logger.warning("%s: %s", self._options.name, error)
        with anyio.move_on_after(LAST_WORDS):
            await child.wait()
        await child.kill()
        code = await child.wait()
        for asked, waiting in list(self._waiting.values()):
            if asked is child:
                waiting.set(ControlResponse("", error=f"{ENDED} with exit code {code}"))
        if self._closing or child is not self._child:
            return
        message = f"{self._options.name} ended with exit code {code}." + (f" {self._why()}" if self._why() else "")
        for event in self._reader.lost(message):
            self._channel.put(event)
        self._child = None

    async def _take(self, line: str | bytes) -> None:
        found = decode_line(line)
        match found:
            case ControlRequest():
                await self._requested(found)
            case ControlResponse(id=request_id):
                if (waiting := self._waiting.get(request_id)) is not None:
                    waiting[1].set(found)
            case ControlCancel(id=request_id):
                if self._requests.pop(request_id, None) is not None:
                    self._channel.put(AskWithdrawn(request_id=request_id, reason="cancelled"))
            case UserLine(raw=raw) | Other(raw=raw):
                self._reader.edits.update(self._edits.take())
                for event in self._reader.feed(raw):
                    self._channel.put(event)

    async def _requested(self, request: ControlRequest) -> None:
        if request.subtype in ("hook_callback", "mcp_message"):
            self._group.start_soon(self._serve, request)
            return
        event = outgoing.to_ask(request)
        if event is None:
            await self._write(control_error(request.id, f"Unsupported control request subtype: {request.subtype}"))
            return
        self._requests[request.id] = request
        self._channel.put(event)

    async def _serve(self, request: ControlRequest) -> None:
        """What the agent asks of this process itself: a hook or a tool. In a task of its own: it may take long."""
        try:
            if request.subtype == "hook_callback":
                answer = await self._hook(request.body)
            else:
                server = self._options.servers[str(request.body.get("server_name"))]
                message = request.body.get("message")
                answer: Json = {"mcp_response": await server(message if is_json(message) else {})}
        except Exception as error:
            logger.exception("a %s of %s failed", request.subtype, self._options.name)
            await self._write(control_error(request.id, f"{type(error).__name__}: {error}"))
        else:
            await self._write(control_success(request.id, answer))

    async def _hook(self, body: Json) -> Json:
        function = self._options.callbacks.get(str(body.get("callback_id")))
        if function is None:
            return await self._edits.called(body)
        given, use_id = body.get("input"), body.get("tool_use_id")
        found = await function(given if is_json(given) else {}, use_id if isinstance(use_id, str) else None)
        return found or {}

    # --- commands --------------------------------------------------------------------------------------------

    async def send(self, command: Command) -> None:
        if self._closing:
            raise ConnectionLost("The connection is closed.")
        if self._child is None:
            await self._start(self.info.session_id)
        match command:
            case Prompt(content=content):
                prompt_id = command.id or str(uuid.uuid4())
                self._reader.expect(prompt_id, as_blocks(content))
                line: Json = {
                    "type": "user",
                    "message": {"role": "user", "content": content},
                    "parent_tool_use_id": None,
                    "session_id": self.info.session_id,
                    "uuid": prompt_id,
                    **({"client_composed": True} if command.verbatim else {}),
                }
                try:
                    await self._write(line)
                except ConnectionLost:
                    self._reader.forget(prompt_id)
                    raise
            case PermissionAnswered() | QuestionAnswered() | PlanAnswered() | InputGiven():
                await self._answer(command)
            case _:
                await self._control(command)

    async def _answer(self, answer: Answer) -> None:
        request = self._requests.pop(answer.request_id, None)
        if request is not None:
            await self._write(control_success(request.id, outgoing.to_answer(answer, request)))
            self._channel.put(AskWithdrawn(request_id=answer.request_id, reason="answered"))

    async def _control(self, command: Command) -> None:
        if isinstance(command, Complete):
            return
        found = outgoing.to_control(command)
        if isinstance(found, str):
            await self.send(Prompt(found))
            return
        if found is None:
            self._channel.put(Notice(text=f"{self._options.name} cannot do that.", level="warning"))
            return
        subtype, fields = found
        self._group.start_soon(self._tell, subtype, fields)

    async def _tell(self, subtype: str, fields: Json) -> None:
        try:
            await self._ask(subtype, **fields)
        except ConnectionLost as error:
            self._channel.put(Notice(text=str(error), level="warning"))
            return
        for event in outgoing.assumed(subtype, fields, self._reader):
            self._channel.put(event)

    async def _ask(self, subtype: str, **fields: object) -> Json:
        self._count += 1
        request_id = f"weft_{self._count}"
        waiting = Awaited[ControlResponse]()
        self._waiting[request_id] = (self._child, waiting)
        try:
            await self._write(control_request(request_id, subtype, **fields))
            answer = await waiting.wait()
        finally:
            del self._waiting[request_id]
        if answer.error is not None:
            kind = AgentEnded if answer.error.startswith(ENDED) else ConnectionLost
            raise kind(f"{self._options.name}: {answer.error}", hint=self._why())
        return answer.body

    async def _write(self, message: Json) -> None:
        if self._stream is None:
            raise ConnectionLost(f"{self._options.name} is not running.")
        try:
            await self._stream.send(encode(message))
        except TransportError as error:
            raise ConnectionLost(f"{self._options.name} is gone.", hint=self._why()) from error


def _rows(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def arguments_for(
    *, model: str | None = None, mode: str | None = None, directories: Sequence[Path] = (), extra: Sequence[str] = ()
) -> tuple[str, ...]:
    """Flags that every stream-json agent takes."""
    found: list[str] = []
    if model:
        found += ["--model", model]
    if mode:
        found += ["--permission-mode", mode]
    for folder in directories:
        found += ["--add-dir", str(folder)]
    return (*found, *extra)
