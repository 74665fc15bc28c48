"""What a session has used: tokens by model, dollars, durations, lines changed, files touched.

`Ledger` counts; `LedgerState` is what is kept with the session, as a `cost-state` mark. A model without a known
price is flagged, never guessed: its tokens are counted, its dollars are not.
"""

import re
import time
from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from weft.schema.content import Json
from weft.schema.events import ModelUsage
from weft.schema.messages import Totals, Usage
from weft.schema.records import AssistantRecord, MarkRecord, Record

Price: TypeAlias = Callable[[str, Usage], float | None]
"""Dollars for these tokens on this model; None where the price is not known."""

_FILES_KEPT = 1000
_COMMIT = r"(?:^|[;&|(\n]\s*|\s)git\s+(?:-\S+\s+(?:\S+\s+)??)*commit\b"
_PULL_REQUEST = r"(?:^|[;&|(\n]\s*|\s)gh\s+pr\s+create\b"


class LedgerState(msgspec.Struct, frozen=True, kw_only=True):
    """Seed 002's SessionState, its numbers. Durations are seconds."""

    models: dict[str, ModelUsage] = {}
    api_duration: float = 0.0
    tool_duration: float = 0.0
    duration: float = 0.0
    lines_added: int = 0
    lines_removed: int = 0
    files: tuple[str, ...] = ()
    replies: int = 0
    turns: int = 0
    commits: int = 0
    pull_requests: int = 0
    last_interaction: float = 0.0

    @property
    def total_cost(self) -> float:
        return sum(model.cost for model in self.models.values())

    @property
    def usage(self) -> Usage:
        return sum((model.usage for model in self.models.values()), Usage())

    @property
    def unknown_models(self) -> tuple[str, ...]:
        return tuple(name for name, model in self.models.items() if not model.cost_known)


class Ledger:
    """Counts one session. `price` is asked once for each reply."""

    def __init__(self, price: Price | None = None, state: LedgerState | None = None) -> None:
        self._price = price
        self.state = state or LedgerState()

    def add(
        self, model: str, usage: Usage, seconds: float = 0.0, *, context_window: int = 0, max_output: int = 0
    ) -> float | None:
        """Counts one reply; returns its dollars, or None when the model's price is not known."""
        cost = self._price(model, usage) if self._price is not None else None
        before = self.state.models.get(model, ModelUsage())
        after = ModelUsage(
            usage=before.usage + usage,
            cost=before.cost + (cost or 0.0),
            cost_known=before.cost_known and cost is not None,
            context_window=context_window or before.context_window,
            max_output=max_output or before.max_output,
        )
        self._change(
            models={**self.state.models, model: after},
            api_duration=self.state.api_duration + seconds,
            replies=self.state.replies + 1,
        )
        return cost

    def add_turn(self, duration: float) -> None:
        self._change(turns=self.state.turns + 1, duration=self.state.duration + duration, last_interaction=time.time())

    def add_tool(self, duration: float) -> None:
        self._change(tool_duration=self.state.tool_duration + duration)

    def add_edit(self, path: str, *, added: int, removed: int) -> None:
        files = self.state.files
        if path not in files and len(files) < _FILES_KEPT:
            files = (*files, path)
        self._change(
            files=files,
            lines_added=self.state.lines_added + added,
            lines_removed=self.state.lines_removed + removed,
        )

    def add_command(self, line: str) -> None:
        """A shell command that ended well: commits and pull requests are counted."""
        if "git" in line and re.search(_COMMIT, line):
            self._change(commits=self.state.commits + 1)
        if "gh" in line and re.search(_PULL_REQUEST, line):
            self._change(pull_requests=self.state.pull_requests + 1)

    @property
    def total_cost(self) -> float:
        return self.state.total_cost

    @property
    def total_usage(self) -> Usage:
        return self.state.usage

    def models(self) -> dict[str, ModelUsage]:
        return dict(self.state.models)

    @property
    def totals(self) -> Totals:
        state = self.state
        return Totals(
            lines_added=state.lines_added,
            lines_removed=state.lines_removed,
            files=len(state.files),
            turns=state.turns,
            commits=state.commits,
            pull_requests=state.pull_requests,
            duration=state.duration,
            api_duration=state.api_duration,
            tool_duration=state.tool_duration,
            unknown_models=state.unknown_models,
        )

    def check_budget(self, limit: float | None) -> str | None:
        """A sentence when the dollars known are over `limit`; None while there is room, or no limit."""
        if limit is None or self.total_cost < limit:
            return None
        return f"The budget of ${limit:.2f} is used up: this session has cost ${self.total_cost:.4f}."

    def to_mark(self) -> tuple[str, Json]:
        """The kind and the fields of the mark that keeps this state."""
        return "cost-state", _to_fields(self.state)

    @classmethod
    def from_mark(cls, mark: MarkRecord, price: Price | None = None) -> "Ledger":
        return cls(price, state_from_mark(mark))

    def _change(self, **changes: object) -> None:
        self.state = msgspec.structs.replace(self.state, **changes)


def _sum(one: ModelUsage | None, other: ModelUsage) -> ModelUsage:
    if one is None:
        return other
    return ModelUsage(
        usage=one.usage + other.usage,
        cost=one.cost + other.cost,
        cost_known=one.cost_known and other.cost_known,
        context_window=other.context_window or one.context_window,
        max_output=other.max_output or one.max_output,
    )


class _WireModel(msgspec.Struct, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    thinking_tokens: int = 0
    web_search_requests: int = 0
    cost: float = msgspec.field(default=0.0, name="costUSD")
    cost_known: bool = True
    context_window: int = 0
    max_output: int = msgspec.field(default=0, name="maxOutputTokens")


class _WireState(msgspec.Struct, rename="camel", omit_defaults=True):
    model_usage: dict[str, _WireModel] = {}
    total_cost: float = msgspec.field(default=0.0, name="totalCostUSD")
    api_duration: float = msgspec.field(default=0.0, name="totalAPIDuration")
    tool_duration: float = msgspec.field(default=0.0, name="totalToolDuration")
    duration: float = msgspec.field(default=0.0, name="totalDuration")
    lines_added: int = msgspec.field(default=0, name="totalLinesAdded")
    lines_removed: int = msgspec.field(default=0, name="totalLinesRemoved")
    files: list[str] = []
    replies: int = 0
    turns: int = 0
    commits: int = 0
    pull_requests: int = 0
    last_interaction: float = 0.0
    unknown_cost: bool = msgspec.field(default=False, name="hasUnknownModelCost")


def _to_fields(state: LedgerState) -> Json:
    """Durations are milliseconds on disk, as in the sessions of Claude Code."""
    wire_state = _WireState(
        model_usage={
            name: _WireModel(
                **msgspec.structs.asdict(model.usage),
                cost=model.cost,
                cost_known=model.cost_known,
                context_window=model.context_window,
                max_output=model.max_output,
            )
            for name, model in state.models.items()
        },
        total_cost=state.total_cost,
        api_duration=state.api_duration * 1000,
        tool_duration=state.tool_duration * 1000,
        duration=state.duration * 1000,
        lines_added=state.lines_added,
        lines_removed=state.lines_removed,
        files=list(state.files),
        replies=state.replies,
        turns=state.turns,
        commits=state.commits,
        pull_requests=state.pull_requests,
        last_interaction=state.last_interaction,
        unknown_cost=bool(state.unknown_models),
    )
    return msgspec.to_builtins(wire_state)


def state_from_mark(mark: MarkRecord) -> LedgerState:
    """What a mark says; a mark of another shape says nothing."""
    try:
        found = msgspec.convert(mark.data, _WireState, strict=False)
    except msgspec.ValidationError:
        return LedgerState()
    return LedgerState(
        models={
            name: ModelUsage(
                Usage(
                    m.input_tokens,
                    m.output_tokens,
                    m.cache_read_input_tokens,
                    m.cache_creation_input_tokens,
                    m.thinking_tokens,
                    m.web_search_requests,
                ),
                m.cost,
                m.cost_known,
                m.context_window,
                m.max_output,
            )
            for name, m in found.model_usage.items()
        },
        api_duration=found.api_duration / 1000,
        tool_duration=found.tool_duration / 1000,
        duration=found.duration / 1000,
        lines_added=found.lines_added,
        lines_removed=found.lines_removed,
        files=tuple(found.files),
        replies=found.replies,
        turns=found.turns,
        commits=found.commits,
        pull_requests=found.pull_requests,
        last_interaction=found.last_interaction,
    )


def state_from_records(records: Iterable[Record]) -> LedgerState:
    """Counted again from the replies, for a session that kept no numbers: each reply once, however many lines."""
    seen: dict[str, AssistantRecord] = {}
    for record in records:
        if isinstance(record, AssistantRecord) and record.error is None and record.reply.model[:1] not in ("", "<"):
            seen[record.reply.id or record.origin.uuid] = record
    models: dict[str, ModelUsage] = {}
    for record in seen.values():
        one = ModelUsage(record.reply.usage, record.cost or 0.0, record.cost is not None)
        models[record.reply.model] = _sum(models.get(record.reply.model), one)
    return LedgerState(
        models=models, replies=len(seen), api_duration=sum(record.duration or 0.0 for record in seen.values())
    )
