"""The host's own user lines on their way through a session: queued, started, completed or cancelled."""

from collections.abc import Callable, Iterable

import msgspec

from weft.schema.content import Json

Make = Callable[[str, str], Json]


class _Line(msgspec.Struct):
    """A user line that was taken. Only one that the host named with a uuid is told of."""

    named: bool
    origin: Json | None
    content: object
    told: bool = False
    started: bool = False


class Prompts:
    """`make` makes a `command_lifecycle` message of an id and a state."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._lines: dict[str, _Line] = {}
        self.turn: list[str] = []
        """The named lines that the running turn answers."""
        self.first = True
        """No assistant line of the turn was told yet."""
        self.origin: Json | None = None

    def accept(self, prompt_id: str, *, named: bool, origin: Json | None, content: object, busy: bool) -> list[Json]:
        """A line came. While nothing runs, its turn tells of it."""
        line = self._lines[prompt_id] = _Line(named, origin, content)
        if not named or not busy:
            return []
        line.told = True
        return [self._make(prompt_id, "queued")]

    def drop(self, prompt_id: str) -> list[Json]:
        line = self._lines.pop(prompt_id, None)
        return [self._make(prompt_id, "cancelled")] if line is not None and line.named else []

    def begin(self, prompt_ids: Iterable[str], origin: str) -> list[Json]:
        """A turn starts with these."""
        self.turn, self.first = [], True
        self.origin = {"kind": origin} if origin not in ("", "human") else None
        return [message for prompt_id in prompt_ids for message in self.start(prompt_id)]

    def start(self, prompt_id: str) -> list[Json]:
        line = self._lines.get(prompt_id)
        if line is None or line.started:
            return []
        line.started = True
        self.origin = line.origin or self.origin
        if not line.named:
            return []
        self.turn.append(prompt_id)
        states = ("started",) if line.told else ("queued", "started")
        return [self._make(prompt_id, state) for state in states]

    def end(self) -> list[Json]:
        """The turn is over."""
        for prompt_id in [prompt_id for prompt_id, line in self._lines.items() if line.started]:
            del self._lines[prompt_id]
        turn, self.turn, self.origin = self.turn, [], None
        return [self._make(prompt_id, "completed") for prompt_id in turn]

    def as_sent(self, prompt_id: str) -> object:
        """The line's content as the host wrote it; None for a prompt that is not the host's."""
        line = self._lines.get(prompt_id)
        return line.content if line is not None else None

    def stamps(self) -> Json:
        """What an assistant line and the result say about whom they answer."""
        return {"user_message_uuid": self.turn[0], "user_message_uuids": list(self.turn)} if self.turn else {}
