"""`AcpConnection`: an ACP agent with one session, as the `Connection` port has it."""

import itertools
import logging
from collections.abc import AsyncIterator
from contextlib import nullcontext
from types import TracebackType
from typing import Self

import anyio
import msgspec

from weft import __version__
from weft.connect.acp import asks
from weft.connect.acp.failure import to_lost
from weft.connect.acp.files import HostFiles
from weft.connect.acp.fold import Fold
from weft.connect.acp.host import Host
from weft.connect.acp.modes import thinking_id, to_controls
from weft.connect.acp.options import CAPABILITIES, AcpOptions, extra_directories, load_method
from weft.connect.acp.prompt import changed, to_prompt, to_reason
from weft.connect.acp.start import Opener
from weft.connect.acp.terminals import HostTerminal, HostTerminals
from weft.errors import ConnectionLost, TransportError
from weft.exits import ExitStack
from weft.protocols.acp import session as s
from weft.protocols.acp.content import TerminalContent
from weft.protocols.acp.frames import AUTH_REQUIRED, METHOD_NOT_FOUND, Id, RpcError, explained
from weft.protocols.acp.updates import (
    AgentChunk,
    ConfigOption,
    ConfigOptions,
    ThoughtChunk,
    ToolCall,
    ToolCallUpdate,
    ToolFields,
    decode_update,
)
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import text_of
from weft.schema.wire import as_blocks
from weft.transports.rpc import RpcPeer

_log = logging.getLogger(__name__)
CALL_LIMIT = 60.0
"""Seconds for any request but a prompt."""
CANCEL_LIMIT = 30.0
"""Seconds after a cancel in which the turn must end; then it is ended here, and what comes later is dropped."""


class AcpConnection:
    """See `Connection`. Prompts sent while a turn runs wait for its end: ACP has no other place for them."""

    def __init__(self, opener: Opener, options: AcpOptions) -> None:
        self._opener = opener
        self._options = options
        self._stack = ExitStack()
        self._fold = Fold(e.SessionInfo(options.session_id, str(options.cwd), ""))
        self._send_event, self._events = anyio.create_memory_object_stream[e.AgentEvent](4096)
        self._queue: list[c.Prompt] = []
        self._wake = anyio.Event()
        self._ids = itertools.count(1)
        self._pending: dict[str, tuple[asks.Pending, anyio.Event, list[object]]] = {}
        self._visits: dict[str, str] = {}
        self._attached: set[str] = set()
        self._turn: anyio.CancelScope | None = None
        self._cancelled = False
        self._replayed: list[e.AgentEvent] | None = []  # What comes before `SessionStarted` waits for it.
        self.agent = s.Initialized(protocol_version=0)
        self.session_id = ""

    @property
    def info(self) -> e.SessionInfo:
        return self._fold.info

    @property
    def alive(self) -> bool:
        return bool(self.session_id) and not self._peer.closed.is_set()

    @property
    def turn_running(self) -> bool:
        return self._turn is not None

    # --- opening ----------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        try:
            await self._stack.enter_async_context(self._options.proxy or nullcontext())
            with anyio.fail_after(self._options.start_limit):
                stream = await self._stack.enter_async_context(self._opener)
            self._peer = RpcPeer(stream, on_request=self._asked, on_notification=self._notified)
            self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
            self._stack.push_async_callback(self._leave)
            self._tasks.start_soon(self._run)
            with anyio.fail_after(self._options.start_limit):
                await self._open()
        except (TransportError, RpcError, TimeoutError, msgspec.MsgspecError) as error:
            failure = to_lost(error, self._opener, self.agent)
            await self.__aexit__(None, None, None)
            raise failure from error
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self.__aexit__(type(error), error, error.__traceback__)
            raise
        self._tasks.start_soon(self._turns)
        return self

    async def _leave(self) -> None:
        """Ends our tasks before the stream below them is closed."""
        with anyio.CancelScope(shield=True):
            if hasattr(self, "_terminals"):
                await self._terminals.close()
        self._tasks.cancel_scope.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        await self._stack.__aexit__(None, None, None)
        self._send_event.close()
        self._events.close()
        return None

    async def _open(self) -> None:
        asked = s.Initialize(
            protocol_version=s.VERSION,
            client_capabilities=CAPABILITIES if self._options.host_files else s.ClientCapabilities(),
            client_info=s.Implementation(name="weft", title="Weft", version=__version__),
        )
        raw = await self._peer.call("initialize", asked, timeout=CALL_LIMIT)
        self.agent = msgspec.json.decode(raw, type=s.Initialized)
        named = self.agent.agent_info
        self._fold.info = msgspec.structs.replace(
            self.info,
            agent_name=named.name if named else "agent",
            agent_version=named.version if named else "",
            directories=tuple(str(folder) for folder in self._options.directories),
        )
        roots = (self._options.cwd, *self._options.directories)
        files = HostFiles(roots, empty_for_missing="gemini" in self.info.agent_name.lower())
        self._terminals = HostTerminals(
            self._tasks, self._options.cwd, files.confined, self._terminal_said, self._task_changed
        )
        self._terminals.shelter = self._options.shelter
        self._host = Host(files, self._terminals)
        self._fold.terminal_text = self._terminals.text
        await self.open_session(self._options.session_id)
        replayed, self._replayed = self._replayed or [], None
        await self._emit(e.SessionStarted(info=self.info, resumed=bool(self._options.session_id)), *replayed)
        try:
            if self._options.mode and self._options.mode != self.info.mode:
                await self._set_mode(self._options.mode)
            if self._options.model and self._options.model != self.info.model:
                await self._set_model(self._options.model)
        except RpcError as error:
            await self._emit(e.Notice(text=f"the agent refused: {explained(error)}", level="warning", tag="refused"))

    async def open_session(self, session_id: str) -> None:
        """A new session, or this one loaded. What the agent says of it before it answers is history.

        Raises:
            RpcError, TransportError: the agent would not.
        """
        request = s.OpenSession(
            cwd=str(self._options.cwd),
            mcp_servers=self._options.mcp_servers,
            session_id=session_id,
            additional_directories=extra_directories(self.agent, self._options),
        )
        method = "session/new"
        if session_id:
            method = load_method(self.agent)
            self._fold.replaying = method == "session/load"
            self._replayed = []
            self.session_id = session_id
        try:
            opened = await self._session_call(method, request)
            if self._replayed is not None:
                self._replayed += self._fold.close()
        finally:
            self._fold.replaying = False
        self.session_id = opened.session_id or session_id
        self._fold.info = msgspec.structs.replace(self.info, session_id=self.session_id)
        self._fold.set_controls(to_controls(opened), "opened")

    async def load(self, session_id: str) -> None:
        """Another session on the same connection; its history comes as events.

        Raises:
            ConnectionLost: the agent would not, or is gone.
        """
        try:
            await self.open_session(session_id)
        except (TransportError, RpcError, TimeoutError) as error:
            self._replayed = None
            raise to_lost(error, self._opener, self.agent) from error
        replayed, self._replayed = self._replayed or [], None
        await self._emit(e.SessionChanged(info=self.info, reason="loaded"), *replayed)

    def drop_stale(self) -> None:
        """Forgets what was said outside of a turn and not yet read."""
        while True:
            try:
                self._events.receive_nowait()
            except (anyio.WouldBlock, anyio.EndOfStream):
                return

    async def _session_call(self, method: str, request: s.OpenSession) -> s.SessionOpened:
        try:
            raw = await self._peer.call(method, request, timeout=CALL_LIMIT)
        except RpcError as error:
            if error.code != AUTH_REQUIRED or not self._options.auth_method:
                raise
            await self._peer.call(
                "authenticate", s.Authenticate(method_id=self._options.auth_method), timeout=CALL_LIMIT
            )
            raw = await self._peer.call(method, request, timeout=CALL_LIMIT)
        if bytes(raw) == b"null":
            return s.SessionOpened()
        return msgspec.json.decode(raw, type=s.SessionOpened)

    # --- running ----------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            await self._peer.run()
        finally:
            for _, answered, _ in self._pending.values():
                answered.set()
        if self._turn is None:
            self._send_event.close()
        self._wake.set()

    async def _emit(self, *events: e.AgentEvent) -> None:
        for event in events:
            if self._replayed is not None:
                self._replayed.append(event)
                continue
            try:
                await self._send_event.send(event)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return

    async def events(self) -> AsyncIterator[e.AgentEvent]:
        try:
            while True:
                yield await self._events.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return

    async def _turns(self) -> None:
        while not self._peer.closed.is_set():
            if not self._queue:
                self._wake = anyio.Event()
                await self._wake.wait()
                continue
            prompt = self._queue.pop(0)
            await self._queue_changed()
            await self._play(prompt)
        self._send_event.close()

    async def _play(self, prompt: c.Prompt) -> None:
        turn_id = f"turn_{next(self._ids)}"
        content = as_blocks(prompt.content)
        await self._emit(
            e.TurnStarted(turn_id=turn_id, prompt_ids=(prompt.id,), origin=prompt.origin),
            e.PromptAdded(id=prompt.id, content=content, synthetic=prompt.synthetic),
        )
        self._fold.text = ""
        self._cancelled = False
        began = anyio.current_time()
        reason, error, stop = "cancelled", None, None
        with anyio.CancelScope() as self._turn:
            reason, error, stop = await self._ask_agent(prompt)
        self._turn = None
        await self._withdraw_all()
        await self._emit(
            *self._fold.close("ok" if reason == "completed" else "cancelled" if reason == "cancelled" else "error")
        )
        await self._emit(
            e.TurnEnded(
                turn_id=turn_id,
                reason=reason,
                text=self._fold.text,
                error=error,
                stop_reason=stop,
                steps=1,
                total_cost=self._fold.cost,
                duration=anyio.current_time() - began,
            )
        )

    async def _ask_agent(self, prompt: c.Prompt) -> tuple[e.TurnReason, str | None, str | None]:
        capabilities = self.agent.agent_capabilities
        takes = capabilities.prompt_capabilities if capabilities else s.PromptCapabilities()
        blocks = to_prompt(prompt.content, takes)
        request = {"sessionId": self.session_id, "prompt": blocks}
        try:
            raw = await self._peer.call("session/prompt", request, cancels=False)
            stop = msgspec.json.decode(raw, type=s.PromptAnswer).stop_reason
        except RpcError as error:
            if self._cancelled:
                return "cancelled", None, "cancelled"
            return "error", explained(error), None
        except (TransportError, msgspec.MsgspecError) as error:
            return "error", f"{error}" + (f" ({why})" if (why := self._opener.why()) else ""), None
        return to_reason(stop), None, stop

    # --- commands ---------------------------------------------------------------------------------------------

    async def send(self, command: c.Command) -> None:
        if not self.alive:
            raise ConnectionLost("the agent is gone")
        try:
            if not isinstance(command, c.Complete):
                await self._do(command)
        except TransportError as error:
            raise ConnectionLost(str(error)) from error
        except RpcError as error:
            await self._emit(e.Notice(text=f"the agent refused: {explained(error)}", level="warning", tag="refused"))
        except TimeoutError:
            await self._emit(e.Notice(text="the agent did not answer", level="warning", tag="refused"))

    async def _do(self, command: c.Command) -> None:
        match command:
            case c.Prompt():
                named = command.id or f"prompt_{next(self._ids)}"
                self._queue.append(msgspec.structs.replace(command, id=named))
                if self._turn is not None:
                    await self._queue_changed()
                self._wake.set()
            case c.DropPrompt(id=id_, replace=words):
                self._queue = changed(self._queue, id_, words)
                await self._queue_changed()
            case c.Cancel(drop_queue=drop):
                await self._cancel(drop=drop)
            case c.PermissionAnswered() | c.QuestionAnswered() | c.PlanAnswered() | c.InputGiven():
                await self._answered(command)
            case c.SetMode(mode=mode):
                await self._set_mode(mode)
            case c.SetModel(model=model):
                await self._set_model(model or "default")
            case c.SetThinking(thinking=thinking):
                option = self._fold.controls.of("thought_level")
                value = thinking_id(thinking, option) if option else None
                await self._set_option(option, value, "its thinking cannot be changed")
            case c.Compact(instructions=words):
                await self._slash("compact", words)
            case c.StopTask(task_id=task):
                await self._terminals.kill(task)
            case c.SetTitle() | c.Rewind() | c.ServerCommand() | c.AppCall() | c.Complete():
                await self._cannot(f"{type(command).__name__} is not something that ACP agents do")

    async def _queue_changed(self) -> None:
        waiting = tuple(e.QueuedPrompt(prompt.id, text_of(prompt.content)) for prompt in self._queue)
        await self._emit(e.QueueChanged(prompts=waiting))

    async def _cancel(self, *, drop: bool) -> None:
        if drop and self._queue:
            self._queue.clear()
            await self._queue_changed()
        if self._turn is None:
            return
        self._cancelled = True
        self._turn.deadline = anyio.current_time() + CANCEL_LIMIT
        await self._peer.notify("session/cancel", s.SessionRef(session_id=self.session_id))
        await self._withdraw_all()

    async def _set_mode(self, mode: e.Mode) -> None:
        id_ = self._fold.controls.mode_id(mode)
        if id_ is None:
            await self._cannot(f"this agent has no mode {mode}")
        elif option := self._fold.controls.of("mode"):
            await self._set_option(option, id_)
        else:
            await self._peer.call(
                "session/set_mode", s.SetMode(session_id=self.session_id, mode_id=id_), timeout=CALL_LIMIT
            )
            await self._emit(*self._fold.set_controls(self._fold.controls.with_mode(id_), "mode"))

    async def _set_model(self, model: str) -> None:
        option = self._fold.controls.of("model")
        if option:
            await self._set_option(option, model)
        elif model in self._fold.controls.model_ids:
            request = {"sessionId": self.session_id, "modelId": model}
            await self._peer.call("session/set_model", request, timeout=CALL_LIMIT)
            controls = msgspec.structs.replace(self._fold.controls, current_model=model)
            await self._emit(*self._fold.set_controls(controls, "model"))
        else:
            await self._cannot(f"this agent has no model {model}")

    async def _set_option(self, option: ConfigOption | None, value: str | None, why_not: str = "") -> None:
        if option is None or value is None:
            return await self._cannot(why_not)
        request = s.SetConfig(session_id=self.session_id, config_id=option.id, value=value)
        raw = await self._peer.call("session/set_config_option", request, timeout=CALL_LIMIT)
        options = msgspec.json.decode(raw, type=s.SessionOpened).config_options
        if options is not None:
            await self._emit(*self._fold.feed(ConfigOptions(config_options=options)))
        return None

    async def _slash(self, name: str, words: str) -> None:
        if any(command.name == name for command in self.info.commands):
            await self._do(c.Prompt(f"/{name} {words}".strip(), synthetic=True))
        else:
            await self._cannot(f"this agent has no /{name}")

    async def _cannot(self, reason: str) -> None:
        await self._emit(e.Notice(text=reason, level="warning", tag="unsupported"))

    # --- what the agent says and asks -------------------------------------------------------------------------

    async def _notified(self, method: str, params: msgspec.Raw) -> None:
        if method == "elicitation/complete":
            return await self._visited(msgspec.json.decode(params, type=s.VisitOver).elicitation_id)
        if method != "session/update":
            _log.debug("ignored notification %s", method)
            return None
        note = msgspec.json.decode(params, type=s.UpdateNote)
        update = decode_update(note.update)
        if self.session_id and note.session_id != self.session_id:
            return None
        of_turn = isinstance(update, AgentChunk | ThoughtChunk | ToolCall | ToolCallUpdate)
        if of_turn and self._turn is None and not self._fold.replaying:
            _log.debug("dropped a stale update")
            return None
        await self._emit(*self._fold.feed(update))
        if isinstance(update, ToolCall | ToolCallUpdate):
            await self._attach_terminals(update)
        return None

    async def _attach_terminals(self, update: ToolFields) -> None:
        """A call shows a terminal from now on: what it has said already comes first."""
        for content in update.content or ():
            if isinstance(content, TerminalContent) and content.terminal_id not in self._attached:
                self._attached.add(content.terminal_id)
                if text := self._terminals.text(content.terminal_id):
                    await self._progress(content.terminal_id, text)

    async def _asked(self, method: str, params: msgspec.Raw, id_: Id) -> object:
        if self._options.host_files and method in self._host.methods:
            return await self._host.methods[method](params)
        if method == "session/request_permission":
            call = msgspec.json.decode(params, type=s.PermissionRequest).tool_call
            await self._emit(*self._fold.tool(call))
        pending = asks.to_ask(method, params, f"ask_{next(self._ids)}", self._fold)
        if pending is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return await self._wait_for_person(pending)

    async def _wait_for_person(self, pending: asks.Pending) -> object:
        answered, box = anyio.Event(), list[object]()
        request_id = pending.event.request_id
        self._pending[request_id] = (pending, answered, box)
        if pending.visit:
            self._visits[pending.visit] = request_id
        await self._emit(pending.event)
        try:
            await answered.wait()
        finally:
            if self._pending.pop(request_id, None):
                with anyio.move_on_after(1, shield=True):
                    await self._emit(e.AskWithdrawn(request_id=request_id))
        return box[0] if box else asks.refused(pending)

    async def _answered(self, command: c.Answer) -> None:
        if held := self._pending.pop(command.request_id, None):
            pending, answered, box = held
            if isinstance(pending.event, e.PermissionAsked) and getattr(command, "behavior", "") == "deny":
                self._fold.denied.add(pending.event.use.id)
            box.append(asks.to_answer(pending, command))
            answered.set()
        if isinstance(command, c.PermissionAnswered) and command.interrupt:
            await self._cancel(drop=False)

    async def _visited(self, visit: str) -> None:
        """The person has been where the agent sent them: a question that is still open is answered."""
        request_id = self._visits.pop(visit, None)
        if request_id is not None:
            await self._answered(c.InputGiven(request_id, "accept"))
            await self._emit(e.AskWithdrawn(request_id=request_id, reason="completed"))

    async def _withdraw_all(self) -> None:
        for request_id, (_, answered, _) in list(self._pending.items()):
            del self._pending[request_id]
            answered.set()
            await self._emit(e.AskWithdrawn(request_id=request_id))

    async def _terminal_said(self, terminal: HostTerminal, text: str) -> None:
        if terminal.id in self._attached:
            await self._progress(terminal.id, text)

    async def _progress(self, terminal_id: str, text: str) -> None:
        if owner := self._fold.owner_of(terminal_id):
            await self._emit(e.ToolProgressed(tool_use_id=owner[0], output=text, parent=owner[1]))

    async def _task_changed(self, task: e.TaskInfo) -> None:
        await self._emit(e.TaskChanged(task=task))
