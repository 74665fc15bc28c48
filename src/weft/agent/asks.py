"""Asking the person: one event out, one command in, matched by id."""

from collections.abc import Awaitable, Callable, Sequence

import anyio

from weft.agent.options import AskKind
from weft.schema.commands import Answer, InputGiven, PermissionAnswered, PlanAnswered, QuestionAnswered
from weft.schema.content import Json
from weft.schema.events import (
    AgentEvent,
    AskWithdrawn,
    InputRequested,
    PermissionAsked,
    PlanProposed,
    Question,
    QuestionAsked,
)
from weft.tools.port import PlanVerdict

MAX_VISITS = 100
Around = Callable[
    [str, str, Json | None, str, Callable[[], Awaitable[InputGiven | None]]], Awaitable[InputGiven | None]
]


class _Pending:
    __slots__ = ("answer", "answered", "completed")

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.answer: Answer | None = None
        self.completed = False


class Asks:
    """The open questions of a session. A kind that no surface can ask is answered with None at once.

    The first answer to an id counts. A question whose asker is cancelled is withdrawn.
    """

    def __init__(self, emit: Callable[[AgentEvent], None], kinds: frozenset[AskKind]) -> None:
        self._emit = emit
        self.kinds = kinds
        self._open: dict[str, _Pending] = {}
        self._visits: dict[str, str] = {}
        """The requests that sent the person somewhere and are not known to be completed, by whoever will know."""
        self._count = 0
        self.around: Around | None = None
        """Hooks around a server's question to the person."""

    def tap(self, watcher: Callable[[AgentEvent], None]) -> None:
        """Shows every question and its end to somebody else too, who may answer."""
        emit = self._emit

        def both(event: AgentEvent) -> None:
            emit(event)
            watcher(event)

        self._emit = both

    def next_id(self) -> str:
        self._count += 1
        return f"ask_{self._count}"

    def answer(self, answer: Answer) -> None:
        pending = self._open.get(answer.request_id)
        if pending is not None and pending.answer is None:
            pending.answer = answer
            pending.answered.set()

    async def _ask(self, event: PermissionAsked | QuestionAsked | PlanProposed | InputRequested) -> Answer:
        pending = self._open[event.request_id] = _Pending()
        self._emit(event)
        try:
            await pending.answered.wait()
        finally:
            del self._open[event.request_id]
            reason = "cancelled" if pending.answer is None else "completed" if pending.completed else "answered"
            self._emit(AskWithdrawn(request_id=event.request_id, reason=reason))
        assert pending.answer is not None
        return pending.answer

    async def permission(self, event: PermissionAsked) -> PermissionAnswered | None:
        if "permission" not in self.kinds:
            return None
        answer = await self._ask(event)
        return answer if isinstance(answer, PermissionAnswered) else None

    async def question(
        self, tool_use_id: str, questions: Sequence[Question], *, parent: str | None = None
    ) -> dict[str, str] | None:
        if "question" not in self.kinds:
            return None
        event = QuestionAsked(
            request_id=self.next_id(), tool_use_id=tool_use_id, questions=tuple(questions), parent=parent
        )
        answer = await self._ask(event)
        return answer.answers if isinstance(answer, QuestionAnswered) and not answer.declined else None

    async def plan(self, tool_use_id: str, plan: str, *, parent: str | None = None) -> PlanVerdict | None:
        if "plan" not in self.kinds:
            return None
        event = PlanProposed(request_id=self.next_id(), tool_use_id=tool_use_id, plan=plan, parent=parent)
        answer = await self._ask(event)
        if not isinstance(answer, PlanAnswered):
            return None
        return PlanVerdict(answer.approved, answer.mode, answer.feedback)

    async def input(
        self,
        server: str,
        message: str,
        schema: Json | None,
        url: str | None,
        tool_use_id: str | None = None,
        *,
        visit: str = "",
    ) -> InputGiven | None:
        """`visit` names a visit to `url`, for `visited`."""

        async def ask() -> InputGiven | None:
            if "input" not in self.kinds:
                return None
            event = InputRequested(
                request_id=self.next_id(),
                server=server,
                message=message,
                schema=schema,
                url=url,
                tool_use_id=tool_use_id,
            )
            if visit and url is not None:
                self._visits[visit] = event.request_id
                while len(self._visits) > MAX_VISITS:
                    del self._visits[next(iter(self._visits))]
            answer = await self._ask(event)
            if not isinstance(answer, InputGiven) or answer.action != "accept":
                self._visits.pop(visit, None)
            return answer if isinstance(answer, InputGiven) else None

        return await (ask() if self.around is None else self.around(server, message, schema, url or "", ask))

    def visited(self, visit: str) -> None:
        """The person has been there: a question that is still open is answered, and surfaces are told."""
        request_id = self._visits.pop(visit, None)
        if request_id is None:
            return
        pending = self._open.get(request_id)
        if pending is None:
            self._emit(AskWithdrawn(request_id=request_id, reason="completed"))
        elif pending.answer is None:
            pending.completed = True
            pending.answer = InputGiven(request_id, "accept")
            pending.answered.set()
