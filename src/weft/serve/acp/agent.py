"""One ACP connection to our agent: the methods of version 1, and the iFlow dialect when the client speaks it."""

import logging
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
import msgspec
from anyio.abc import TaskGroup

from weft import __version__
from weft.errors import ProviderError, SessionError, WeftError
from weft.protocols.acp import frames
from weft.protocols.acp import session as s
from weft.protocols.acp.frames import Id, RpcError
from weft.protocols.acp.updates import agent_text
from weft.schema import commands as c
from weft.schema.content import Json
from weft.schema.messages import ThinkingConfig
from weft.serve.acp import config, iflow
from weft.serve.acp.content import to_content
from weft.serve.acp.request import OpenSession, SessionRequest, to_request
from weft.serve.acp.session import AcpSession, to_stop
from weft.serve.acp.voice import Audience, Voice
from weft.sessions.port import SessionStore
from weft.transports.messages import MessageStream
from weft.transports.rpc import RpcPeer, Then
from weft.workspace.port import Workspace

_log = logging.getLogger(__name__)
_PAGE = 50
_AUTH = s.AuthMethod(
    id="weft",
    name="Keys of this machine",
    description="Uses the API keys in the environment or in Weft's settings; run `weft doctor` to see what was found.",
)
_CAPABILITIES = s.AgentCapabilities(
    load_session=True,
    prompt_capabilities=s.PromptCapabilities(image=True, embedded_context=True),
    mcp_capabilities=s.McpCapabilities(http=True, sse=True),
    session_capabilities=s.SessionCapabilities(
        list=s.MARKER,
        resume=s.MARKER,
        close=s.MARKER,
        delete=s.MARKER,
        fork=s.MARKER,
        additional_directories=s.MARKER,
    ),
    auth=s.AgentAuth(logout=s.MARKER),
)


class AcpAgent:
    """`run` lives as long as the stream. With `greets`, a client that stays silent is told `//ready`: it is iFlow's."""

    def __init__(
        self,
        stream: MessageStream,
        open_session: OpenSession,
        store: SessionStore,
        *,
        greets: bool = False,
        on_dialect: Callable[[], None] | None = None,
    ) -> None:
        self._stream = stream
        self._open_session = open_session
        self._store = store
        self._greets = greets
        self._on_dialect = on_dialect
        self.iflow = False
        self._peer = RpcPeer(
            stream, on_request=self._asked, on_notification=self._notified, on_cancel=self._cancel_request
        )
        self._sessions: dict[str, AcpSession] = {}
        self._prompting: dict[Id, AcpSession] = {}
        self._initialized = s.Initialize(protocol_version=s.VERSION)
        self._capabilities = s.ClientCapabilities()
        self._login: Json | None = None
        self._methods: dict[str, Callable[[msgspec.Raw, Id], Awaitable[object]]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "logout": self._logout,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/cancel": self._cancel,
            "session/set_mode": self._set_mode,
            "session/set_model": self._set_model,
            "session/set_config_option": self._set_option,
            "session/set_think": self._set_think,
            "_weft/complete": self._complete,
        }

    async def run(self) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks: TaskGroup = tasks
                if self._greets:
                    tasks.start_soon(self._greet)
                await self._peer.run()
                tasks.cancel_scope.cancel()
        finally:
            with anyio.move_on_after(2, shield=True):
                await self._stream.close()

    async def _greet(self) -> None:
        await anyio.sleep(iflow.READY_DELAY)
        if self._peer.heard == 0:
            self.iflow = True
            self._peer.gated = True
            if self._on_dialect:
                self._on_dialect()
            await self._stream.send(iflow.READY)

    # --- dispatch ---------------------------------------------------------------------------------------------

    async def _asked(self, method: str, params: msgspec.Raw, id_: Id) -> object:
        handler = self._methods.get(method)
        if handler is None:
            raise RpcError(frames.METHOD_NOT_FOUND, "Method not found", {"details": method})
        try:
            return await handler(params if bytes(params) != b"null" else msgspec.Raw(b"{}"), id_)
        except ProviderError as error:
            if error.kind == "authentication_failed":
                raise RpcError(frames.AUTH_REQUIRED, str(error), {"details": error.hint or ""}) from error
            raise
        except SessionError as error:
            raise RpcError(frames.NOT_FOUND, str(error), {"details": error.hint or "session"}) from error

    async def _notified(self, method: str, params: msgspec.Raw) -> None:
        if method == "session/cancel":
            session = self._sessions.get(msgspec.json.decode(params, type=s.SessionRef).session_id)
            if session is not None:
                await session.cancel()
        else:
            _log.debug("ignored notification %s", method)

    def _cancel_request(self, id_: Id) -> bool:
        """A prompt that is cancelled by its request ends as its turn does, with a stop reason."""
        session = self._prompting.get(id_)
        if session is None:
            return False
        self._tasks.start_soon(session.cancel)
        return True

    def _session(self, session_id: str) -> AcpSession:
        session = self._sessions.get(session_id)
        if session is None or session.closed.is_set():
            raise RpcError(frames.NOT_FOUND, "Session not found", {"details": session_id})
        return session

    # --- the connection ---------------------------------------------------------------------------------------

    async def _initialize(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.Initialize)
        self._initialized = asked
        self._capabilities = asked.client_capabilities or s.ClientCapabilities()
        return s.Initialized(
            protocol_version=s.VERSION,
            agent_capabilities=_CAPABILITIES,
            auth_methods=(_AUTH,),
            agent_info=s.Implementation(name="weft", title="Weft", version=__version__),
            is_authenticated=False if self.iflow else None,
        )

    async def _authenticate(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.Authenticate)
        if self.iflow:
            self._login = asked.method_info
            return {"methodId": asked.method_id}
        if asked.method_id != _AUTH.id:
            raise RpcError(frames.INVALID_PARAMS, "Invalid params", {"details": f"no method {asked.method_id}"})
        return {}

    async def _complete(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.CompleteText)
        found = await self._session(asked.session_id).complete(asked.text)
        return {"start": found.start, "items": found.items}

    async def _logout(self, params: msgspec.Raw, id_: Id) -> object:
        self._login = None
        return {}

    # --- sessions ---------------------------------------------------------------------------------------------

    async def _new(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.OpenSession)
        if asked.mcp_servers is None and not self.iflow:
            raise RpcError(frames.INVALID_PARAMS, "Invalid params", {"details": "mcpServers is missing"})
        session = await self._open(self._request(asked, str(uuid.uuid4())))
        return self._opened(session, with_id=True)

    async def _load(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.OpenSession)
        session = await self._find(asked)
        await self._replay(session)
        return self._opened(session, with_id=self.iflow)

    async def _resume(self, params: msgspec.Raw, id_: Id) -> object:
        session = await self._find(msgspec.json.decode(params, type=s.OpenSession))
        return self._opened(session, with_id=self.iflow)

    async def _fork(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.OpenSession)
        self._store.load(asked.session_id)
        session = await self._open(self._request(asked, str(uuid.uuid4()), fork_of=asked.session_id))
        return self._opened(session, with_id=True)

    async def _find(self, asked: s.OpenSession) -> AcpSession:
        held = self._sessions.get(asked.session_id)
        if held is not None and not held.closed.is_set():
            return held
        if not asked.session_id:
            raise RpcError(frames.INVALID_PARAMS, "Invalid params", {"details": "sessionId is missing"})
        self._store.load(asked.session_id)
        return await self._open(self._request(asked, asked.session_id, resume=True))

    def _request(
        self, asked: s.OpenSession, session_id: str, *, resume: bool = False, fork_of: str | None = None
    ) -> SessionRequest:
        offered = self._capabilities
        uses = offered.fs.read_text_file or offered.fs.write_text_file or offered.terminal
        return to_request(
            asked,
            session_id,
            initialized=self._initialized,
            resume=resume,
            fork_of=fork_of,
            login=self._login,
            wrap=partial(self._wrap, session_id) if uses else None,
        )

    def _wrap(self, session_id: str, inner: Workspace) -> Workspace:
        from weft.workspace.acp import AcpWorkspace

        async def on_terminal(terminal_id: str, command: str) -> None:
            session = self._sessions.get(session_id)
            if session is not None:
                await session.show_terminal(terminal_id, command)

        return AcpWorkspace(
            inner,
            self._peer.call,
            session_id,
            self._capabilities,
            doubtful=self.iflow,
            on_terminal=on_terminal,
        )

    async def _open(self, request: SessionRequest) -> AcpSession:
        connection = await self._open_session(request)
        wants = self._capabilities.session
        audience = Audience(
            iflow=self.iflow,
            notices=wants is not None and wants.notices is not None,
            compaction=wants is not None and wants.compaction is not None,
        )
        session = AcpSession(request.session_id, connection, self._peer, audience, self._capabilities, request.commands)
        failure: list[WeftError] = []
        ready = anyio.Event()
        self._tasks.start_soon(self._run_session, session, ready, failure)
        await ready.wait()
        if failure:
            raise failure[0]
        self._sessions[session.id] = session
        return session

    async def _run_session(self, session: AcpSession, ready: anyio.Event, failure: list[WeftError]) -> None:
        """A session that cannot be opened is an answer; one that fails later ends alone."""
        failed = ""
        try:
            await session.run(opened=ready)
        except* Exception as group:  # noqa: BLE001 - the boundary of a session: the others go on
            error = next(iter(_leaves(group)))
            if not ready.is_set() and isinstance(error, WeftError):
                failure.append(error)
            else:
                _log.error("the session %s failed", session.id, exc_info=error)
                failed = f"the session failed: {error}"
                if not ready.is_set():
                    failure.append(WeftError(failed))
        finally:
            session.end(failed)
            ready.set()

    def _opened(self, session: AcpSession, *, with_id: bool) -> Then:
        async def announce() -> None:
            session.announced.set()

        result = s.SessionOpened(
            session_id=session.id if with_id else "",
            modes=config.modes(session.info),
            config_options=config.options(session.info),
        )
        return Then(result, announce)

    async def _replay(self, session: AcpSession) -> None:
        """The whole history, before the answer to `session/load`."""
        from weft.agent.replay import to_events
        from weft.sessions.resume import rebuild

        records = rebuild(session.id, self._store.load(session.id)).records
        voice = Voice(session.audience, session.info)
        for event in to_events(records):
            await session.tell(voice.updates(event))

    async def _list(self, params: msgspec.Raw, id_: Id) -> object:
        from datetime import UTC, datetime

        asked = msgspec.json.decode(params, type=s.ListSessions)
        folder = Path(asked.cwd) if asked.cwd else None
        rows = {
            session.id: s.SessionRow(session_id=session.id, cwd=session.info.cwd, title=session.info.title or None)
            for session in self._sessions.values()
            if folder is None or session.info.cwd == str(folder)
        }
        for summary in self._store.list(folder):
            rows[summary.session_id] = s.SessionRow(
                session_id=summary.session_id,
                cwd=summary.cwd,
                title=summary.title or summary.first_prompt[:80] or None,
                updated_at=datetime.fromtimestamp(summary.updated, UTC).isoformat(),
            )
        start = int(asked.cursor) if asked.cursor and asked.cursor.isdigit() else 0
        page = list(rows.values())[start : start + _PAGE]
        more = str(start + _PAGE) if len(rows) > start + _PAGE else None
        return s.SessionList(sessions=tuple(page), next_cursor=more)

    async def _close(self, params: msgspec.Raw, id_: Id) -> object:
        session = self._session(msgspec.json.decode(params, type=s.SessionRef).session_id)
        await session.close()
        self._sessions.pop(session.id, None)
        return {}

    async def _delete(self, params: msgspec.Raw, id_: Id) -> object:
        wanted = msgspec.json.decode(params, type=s.SessionRef).session_id
        held = self._sessions.pop(wanted, None)
        if held is not None:
            await held.close()
        try:
            self._store.delete(wanted)
        except SessionError:
            if held is None:
                raise
        return {}

    # --- a session's commands ---------------------------------------------------------------------------------

    async def _prompt(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.PromptRequest)
        session = self._session(asked.session_id)
        self._prompting[id_] = session
        try:
            ended = await session.prompt(to_content(asked.prompt))
        finally:
            self._prompting.pop(id_, None)
        try:
            return s.PromptAnswer(stop_reason=to_stop(ended))
        except RpcError as error:
            if self.iflow:
                self._tasks.start_soon(self._finish_later, session, id_, error.message)
            raise

    async def _finish_later(self, session: AcpSession, id_: Id, message: str) -> None:
        """iFlow's `query()` waits for a stop reason after an error as well, for ever. A client that goes on by
        itself has sent something by now, and is not disturbed."""
        heard = self._peer.heard
        await anyio.sleep(iflow.FINISH_DELAY)
        if self._peer.heard == heard:
            await session.tell([agent_text(f"Error: {message}")])
            await self._peer.answer_again(id_, s.PromptAnswer(stop_reason="end_turn"))

    async def _cancel(self, params: msgspec.Raw, id_: Id) -> object:
        """A request here is iFlow's way; an error as the answer would be shown to the person."""
        session = self._sessions.get(msgspec.json.decode(params, type=s.SessionRef).session_id)
        if session is not None:
            await session.cancel()
        return None

    async def _set_mode(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.SetMode)
        session = self._session(asked.session_id)
        await session.send(c.SetMode(config.to_mode(asked.mode_id)))
        return {}

    async def _set_model(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=dict[str, object])
        session = self._session(str(asked.get("sessionId", "")))
        await session.send(c.SetModel(str(asked.get("modelId", ""))))
        return {}

    async def _set_option(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.SetConfig)
        session = self._session(asked.session_id)
        command, expected = config.to_command(asked, session.info)
        await session.send(command)
        told = {option.id: option for option in config.options(session.info)}
        wanted = {option.id: option for option in config.options(expected)}
        if told[asked.config_id].current_value != wanted[asked.config_id].current_value:
            details = f"{asked.config_id} could not be set to {asked.value}"
            raise RpcError(frames.INVALID_PARAMS, "Invalid params", {"details": details})
        return {"configOptions": config.options(session.info)}

    async def _set_think(self, params: msgspec.Raw, id_: Id) -> object:
        asked = msgspec.json.decode(params, type=s.SetThink)
        thinking = config.THINK if asked.think_enabled else ThinkingConfig()
        await self._session(asked.session_id).send(c.SetThinking(thinking))
        return {"success": True}


def _leaves(group: BaseExceptionGroup[Exception]) -> list[Exception]:
    out: list[Exception] = []
    for error in group.exceptions:
        out += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return out
