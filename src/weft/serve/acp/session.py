"""One ACP session: a `Connection` whose events become updates and requests, and whose turns answer prompts."""

import logging
from typing import Protocol

import anyio
import msgspec
from anyio.abc import TaskGroup

from weft.connect.port import Connection
from weft.errors import TransportError, WeftError
from weft.protocols.acp import frames
from weft.protocols.acp import session as s
from weft.protocols.acp import updates as u
from weft.protocols.acp.frames import RpcError
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Text
from weft.serve.acp import asks
from weft.serve.acp.voice import Audience, Voice
from weft.transports.awaited import Awaited

_log = logging.getLogger(__name__)
_CLOSE_LIMIT = 5.0
_COMPLETE_LIMIT = 6.0


class Client(Protocol):
    """The other side, as a session needs it."""

    async def call(self, method: str, params: object) -> msgspec.Raw: ...

    async def notify(self, method: str, params: object) -> None: ...


class _Turn:
    def __init__(self) -> None:
        self.done = anyio.Event()
        self.ended: e.TurnEnded | None = None


class AcpSession:
    """`run` enters the connection and pumps its events; it ends when the session is closed."""

    def __init__(
        self,
        session_id: str,
        connection: Connection,
        client: Client,
        audience: Audience,
        capabilities: s.ClientCapabilities,
        commands: dict[str, str] | None = None,
    ) -> None:
        self.id = session_id
        self._connection = connection
        self._client = client
        self._capabilities = capabilities
        self._commands = commands or {}
        self.audience = audience
        self.announced = anyio.Event()
        """Set when the client knows the session: nothing is said of it before."""
        self.closed = anyio.Event()
        self.failure = ""
        """Why the session ended, when nobody asked it to."""
        self._scope = anyio.CancelScope()
        self._prompts: dict[str, _Turn] = {}
        self._by_turn: dict[str, list[_Turn]] = {}
        self._dropped: set[str] = set()
        """Prompts that were cancelled before their turn began: should it begin after all, it is ended."""
        self._asks: dict[str, anyio.CancelScope] = {}
        self._visits: set[str] = set()
        """Addresses that the client sent the person to, by their requests."""
        self._number = 0
        self._info_changed = anyio.Event()
        self._completing: dict[str, Awaited[e.Completed]] = {}

    @property
    def info(self) -> e.SessionInfo:
        return self._connection.info

    async def run(self, *, opened: anyio.Event) -> None:
        """`opened` is set when the session is there.

        Raises:
            WeftError: it cannot be opened.
        """
        try:
            with self._scope:
                async with self._connection, anyio.create_task_group() as tasks:
                    self.voice = Voice(self.audience, self.info)
                    opened.set()
                    await self.announced.wait()
                    async for event in self._connection.events():
                        await self._hear(event, tasks)
                    tasks.cancel_scope.cancel()
        finally:
            self.closed.set()

    def end(self, failure: str) -> None:
        """Nothing more will come: whoever waits is told."""
        self.failure = failure
        for turn in self._prompts.values():
            turn.done.set()

    async def _hear(self, event: e.AgentEvent, tasks: TaskGroup) -> None:
        match event:
            case e.PermissionAsked() | e.QuestionAsked() | e.PlanProposed() | e.InputRequested():
                scope = self._asks[event.request_id] = anyio.CancelScope()
                tasks.start_soon(self._ask, event, scope)
                return
            case e.AskWithdrawn(request_id=id_, reason=reason):
                await self._withdrawn(id_, completed=reason == "completed")
                return
            case e.TurnStarted(turn_id=turn_id, prompt_ids=ids):
                if self._dropped.intersection(ids):
                    self._dropped.difference_update(ids)
                    await self._connection.send(c.Cancel())
                self._by_turn[turn_id] = [self._prompts[id_] for id_ in ids if id_ in self._prompts]
            case e.TurnEnded():
                for turn in self._by_turn.pop(event.turn_id, []):
                    turn.ended = event
                    turn.done.set()
            case (
                e.PromptAdded(replay=True)
                | e.MessageDone(replay=True)
                | e.ToolCalled(replay=True)
                | e.ToolEnded(replay=True)
            ):
                return
            case e.Reported(report=e.Completed(id=id_) as completed):
                if waiting := self._completing.get(id_):
                    waiting.set(completed)
                return
            case e.SessionChanged():
                self._info_changed.set()
                self._info_changed = anyio.Event()
            case _:
                pass
        await self.tell(self.voice.updates(event))

    async def tell(self, updates: list[u.Update]) -> None:
        for update in updates:
            try:
                await self._client.notify("session/update", s.UpdateOut(session_id=self.id, update=update))
            except TransportError as error:
                _log.debug("an update was not sent: %s", error)

    async def show_terminal(self, terminal_id: str, command: str) -> None:
        """A command of ours runs in a terminal of the client's."""
        update = self.voice.terminal(terminal_id, command)
        if update is not None:
            await self.tell([update])

    # --- commands ---------------------------------------------------------------------------------------------

    async def prompt(self, content: c.Content) -> e.TurnEnded:
        """Runs one turn to its end.

        Raises:
            RpcError: the session was closed meanwhile.
        """
        self._number += 1
        id_ = f"{self.id}-{self._number}"
        turn = self._prompts[id_] = _Turn()
        try:
            await self._connection.send(c.Prompt(self._expanded(content), id=id_, steer=False))
            await turn.done.wait()
        finally:
            del self._prompts[id_]
        if turn.ended is None:
            reason: e.TurnReason = "error" if self.failure else "cancelled"
            return e.TurnEnded(turn_id="", reason=reason, error=self.failure or None)
        return turn.ended

    def _expanded(self, content: c.Content) -> c.Content:
        """A slash command of the client's own becomes the prompt that it stands for."""
        first = content[0] if content else None
        if not isinstance(first, Text) or not first.text.startswith("/"):
            return content
        name, _, rest = first.text[1:].partition(" ")
        if name not in self._commands:
            return content
        return (Text(f"{self._commands[name]}\n\n{rest}".strip()), *content[1:])

    async def cancel(self) -> None:
        """Ends every prompt: the turn that runs, and those that have not begun, whose turns will never come."""
        started = {id(turn) for turns in self._by_turn.values() for turn in turns}
        await self._connection.send(c.Cancel(drop_queue=True))
        for id_, turn in self._prompts.items():
            if id(turn) not in started:
                self._dropped.add(id_)
                turn.done.set()

    async def send(self, command: c.Command) -> None:
        """A command that changes the session. Returns when the session says so, or soon after."""
        changed, before = self._info_changed, self.info
        await self._connection.send(command)
        if self.info == before:
            with anyio.move_on_after(0.2):
                await changed.wait()

    async def complete(self, text: str) -> e.Completed:
        """What could come next after `text`; nothing where the agent does not say in time."""
        self._number += 1
        id_ = f"complete-{self._number}"
        waiting = self._completing[id_] = Awaited[e.Completed]()
        try:
            await self._connection.send(c.Complete(id_, text))
            with anyio.move_on_after(_COMPLETE_LIMIT):
                return await waiting.wait()
        finally:
            del self._completing[id_]
        return e.Completed(id=id_)

    async def close(self) -> None:
        """Ends the running turn and everything that the session started."""
        with anyio.move_on_after(_CLOSE_LIMIT, shield=True):
            if self._prompts:
                await self.cancel()
                for turn in list(self._prompts.values()):
                    await turn.done.wait()
        self._scope.cancel()
        with anyio.move_on_after(_CLOSE_LIMIT, shield=True):
            await self.closed.wait()

    # --- asking -----------------------------------------------------------------------------------------------

    async def _ask(self, event: asks.Ask, scope: anyio.CancelScope) -> None:
        answer: c.Answer | None = None
        with scope:
            try:
                answer = await self._asked(event)
            except (RpcError, TransportError, msgspec.MsgspecError) as error:
                _log.warning("the client could not be asked: %s", error)
                answer = asks.refusal(event)
            finally:
                del self._asks[event.request_id]
        if answer is not None:
            try:
                await self._connection.send(answer)
            except WeftError as error:
                _log.debug("an answer came too late: %s", error)

    async def _withdrawn(self, request_id: str, *, completed: bool) -> None:
        if completed and request_id in self._visits:
            self._visits.discard(request_id)
            try:
                over = s.VisitOver(elicitation_id=asks.visit_id(self.id, request_id))
                await self._client.notify("elicitation/complete", over)
            except TransportError as error:
                _log.debug("the end of a visit was not told: %s", error)
        if scope := self._asks.get(request_id):
            scope.cancel()

    async def _asked(self, event: asks.Ask) -> c.Answer:
        match event:
            case e.PermissionAsked():
                request = asks.permission(event, self.id, dialect=self.audience.iflow)
                return asks.permission_answer(event, await self._request(request))
            case e.PlanProposed():
                return await self._plan(event)
            case e.QuestionAsked():
                return await self._question(event)
            case e.InputRequested():
                return await self._input(event)

    async def _request(self, request: s.PermissionRequest) -> msgspec.Raw:
        return await self._client.call("session/request_permission", request)

    async def _plan(self, event: e.PlanProposed) -> c.PlanAnswered:
        if self.audience.iflow:
            plan = s.PlanExit(session_id=self.id, plan=event.plan)
            raw = await self._if_known("_iflow/plan/exit", plan)
            if raw is not None:
                return asks.iflow_plan_answer(event, raw)
        return asks.plan_answer(event, await self._request(asks.plan(event, self.id)))

    async def _question(self, event: e.QuestionAsked) -> c.QuestionAnswered:
        forms = self._capabilities.elicitation
        if forms is not None and forms.form is not None:
            return asks.form_answer(event, await self._client.call("elicitation/create", asks.form(event, self.id)))
        if self.audience.iflow:
            raw = await self._if_known("_iflow/user/questions", asks.iflow_questions(event, self.id))
            if raw is not None:
                return asks.iflow_answer(event, raw)
            return c.QuestionAnswered(event.request_id, declined=True)
        answers: dict[str, str] = {}
        for question in event.questions:
            if not question.options:
                continue
            raw = await self._request(asks.choice(event, question, self.id))
            chosen = asks.chosen_answer(question, raw)
            if chosen is None:
                return c.QuestionAnswered(event.request_id, answers, declined=not answers)
            answers[question.question] = chosen
        return c.QuestionAnswered(event.request_id, answers, declined=not answers)

    async def _input(self, event: e.InputRequested) -> c.InputGiven:
        forms = self._capabilities.elicitation
        offered = forms is not None and (forms.url if event.url is not None else forms.form) is not None
        if not offered:
            return c.InputGiven(event.request_id, "decline")
        if event.url is not None:
            self._visits.add(event.request_id)
        answer = asks.input_answer(
            event, await self._client.call("elicitation/create", asks.input_request(event, self.id))
        )
        if answer.action != "accept":
            self._visits.discard(event.request_id)
        return answer

    async def _if_known(self, method: str, params: object) -> msgspec.Raw | None:
        """None when the client does not know the method."""
        try:
            return await self._client.call(method, params)
        except RpcError as error:
            if error.code == frames.METHOD_NOT_FOUND:
                return None
            raise


def to_stop(ended: e.TurnEnded) -> str:
    """
    Raises:
        RpcError: the turn failed; the message is the failure's.
    """
    match ended.reason:
        case "cancelled":
            return "cancelled"
        case "refused":
            return "refusal"
        case "max_turns" | "budget":
            return "max_turn_requests"
        case "error" | "prompt_too_long":
            code = frames.AUTH_REQUIRED if ended.error_kind == "authentication_failed" else frames.INTERNAL_ERROR
            said = ended.error or "the turn failed"
            # Some clients show the message, others the details alone.
            raise RpcError(code, said, {"details": said, "kind": ended.error_kind or "unknown"})
        case _:
            return "max_tokens" if ended.stop_reason == "max_tokens" else "end_turn"
