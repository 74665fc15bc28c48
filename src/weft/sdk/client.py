"""A conversation with the agent, from Python."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

import msgspec

from weft.connect.port import Connection
from weft.errors import ConnectionLost, WeftError
from weft.schema.commands import (
    Cancel,
    Command,
    PermissionAnswered,
    PlanAnswered,
    Prompt,
    QuestionAnswered,
    Rewind,
    SetMode,
    SetModel,
    SetThinking,
)
from weft.schema.content import Content
from weft.schema.events import (
    GOOD_ENDS,
    AgentEvent,
    Denial,
    PermissionAsked,
    PlanProposed,
    QuestionAsked,
    SessionInfo,
    TurnEnded,
    TurnReason,
)
from weft.schema.messages import ThinkingConfig, Usage
from weft.sdk.options import Options, to_session_options
from weft.tools.port import PlanVerdict


class TurnFailed(WeftError):
    """A turn did not end well; `ended` says how."""

    def __init__(self, ended: TurnEnded) -> None:
        super().__init__(ended.error or f"The turn ended: {ended.reason}.")
        self.ended = ended


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A whole turn. `value` is the structured output, when a type or a schema was asked for."""

    text: str
    value: Any = None
    reason: TurnReason = "completed"
    session_id: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    steps: int = 0
    duration: float = 0.0
    denials: tuple[Denial, ...] = ()


class Client:
    """`async with Client(options) as client`: the session lives as long as the block.

    `send` then `receive` for a turn as events; `ask` for a turn as an `Answer`. Callbacks of the options answer what
    the agent asks; without one, look for `PermissionAsked` and its like in the events and `answer` them.
    """

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self._connection: Connection | None = None

    async def __aenter__(self) -> Self:
        connection = await open_for(self.options)
        self._connection = await connection.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        connection, self._connection = self.connection, None
        return await connection.__aexit__(kind, error, trace)

    @property
    def connection(self) -> Connection:
        if self._connection is None:
            raise ConnectionLost("The client was not entered.", hint="Use it as: async with weft.Client() as client")
        return self._connection

    @property
    def info(self) -> SessionInfo:
        return self.connection.info

    async def send(self, prompt: str | Content, *, steer: bool = True) -> None:
        """Never waits for a turn. While one runs, the prompt joins it after its tools, or waits (`steer=False`)."""
        await self.connection.send(Prompt(prompt, steer=steer))

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """The events up to the end of the turn, `TurnEnded` included."""
        async for event in self.events():
            yield event
            if isinstance(event, TurnEnded):
                return

    async def events(self) -> AsyncIterator[AgentEvent]:
        """Every event, for ever."""
        async for event in self.connection.events():
            command = await self._reply(event)
            if command is not None:
                await self.connection.send(command)
            yield event

    async def ask(self, prompt: str | Content) -> Answer:
        """
        Raises:
            TurnFailed: the turn ended in an error, at a limit, or was cancelled.
        """
        await self.send(prompt)
        async for event in self.receive():
            if isinstance(event, TurnEnded):
                return to_answer(event, self.info.session_id, self.options.output)
        raise ConnectionLost("The agent went away in the middle of a turn.")

    async def _reply(self, event: AgentEvent) -> Command | None:
        options = self.options
        if isinstance(event, PermissionAsked) and options.permission is not None:
            verdict = await options.permission(event)
            if isinstance(verdict, PermissionAnswered):
                return msgspec.structs.replace(verdict, request_id=event.request_id)
            allowed = verdict is True
            reason = verdict if isinstance(verdict, str) else ""
            return PermissionAnswered(event.request_id, "allow" if allowed else "deny", message=reason)
        if isinstance(event, QuestionAsked) and options.questions is not None:
            answers = await options.questions(event)
            return QuestionAnswered(event.request_id, dict(answers or {}), declined=answers is None)
        if isinstance(event, PlanProposed) and options.plans is not None:
            plan = await options.plans(event)
            found = plan if isinstance(plan, PlanVerdict) else PlanVerdict(approved=plan)
            return PlanAnswered(event.request_id, found.approved, found.mode, found.feedback)
        return None

    async def answer(self, command: Command) -> None:
        """Answers a question that was seen in the events."""
        await self.connection.send(command)

    async def interrupt(self) -> None:
        """Ends the turn, not the session."""
        await self.connection.send(Cancel())

    async def set_model(self, model: str | None) -> None:
        await self.connection.send(SetModel(model))

    async def set_mode(self, mode: str) -> None:
        from weft.permissions.modes import to_mode

        await self.connection.send(SetMode(to_mode(mode)))

    async def set_thinking(self, thinking: ThinkingConfig | int | None) -> None:
        """A configuration, a budget of tokens, or None to switch it off."""
        if not isinstance(thinking, ThinkingConfig):
            thinking = ThinkingConfig("enabled", thinking) if thinking else ThinkingConfig()
        await self.connection.send(SetThinking(thinking))

    async def rewind(self, message_id: str, *, files: bool = True, conversation: bool = True) -> None:
        await self.connection.send(Rewind(message_id, files, conversation))


def to_answer(event: TurnEnded, session_id: str, output: Any) -> Answer:
    if event.reason not in GOOD_ENDS:
        raise TurnFailed(event)
    value = event.structured
    if event.has_structured and output is not None and not isinstance(output, dict):
        value = msgspec.convert(value, output)
    return Answer(
        text=event.text,
        value=value,
        reason=event.reason,
        session_id=session_id,
        usage=event.usage,
        cost=event.cost,
        steps=event.steps,
        duration=event.duration,
        denials=event.denials,
    )


async def open_for(options: Options) -> Connection:
    """The connection that the options ask for, not yet entered."""
    from weft.sdk.compose import Overrides, open_connection

    if options.process:
        from weft.sdk.child import open_child

        return open_child(options)
    overrides = Overrides(provider=options.provider, tools=options.own_tools, hook_functions=options.hooks)
    return await open_connection(to_session_options(options), overrides)
