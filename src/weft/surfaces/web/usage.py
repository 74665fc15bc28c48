"""What was used, counted from the sessions on disk: by day, by model, by conversation."""

import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from weft.errors import SessionError
from weft.providers.costs import price
from weft.schema.content import Json
from weft.schema.messages import Usage
from weft.schema.records import AssistantRecord, Record
from weft.sessions.port import SessionStore

MOST_SESSIONS: Final = 300
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
Price = Callable[[str, Usage], float | None]


class Tally:
    """Tokens and dollars by name."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, float]] = {}

    def add(self, name: str, tokens: int, cost: float) -> None:
        old_tokens, old_cost = self._sums.get(name, (0, 0.0))
        self._sums[name] = (old_tokens + tokens, old_cost + cost)

    def rows(self, *, by_name: bool = False) -> list[Json]:
        rows = sorted(self._sums.items(), key=lambda item: item[0] if by_name else -item[1][0])
        return [{"name": name, "tokens": tokens, "cost": cost} for name, (tokens, cost) in rows]


def replies_of(records: Iterable[Record]) -> list[AssistantRecord]:
    """Each reply once: on disk every block of one is a line of its own, with the reply's usage on each."""
    last: dict[str, AssistantRecord] = {}
    for record in records:
        if isinstance(record, AssistantRecord) and record.error is None and record.reply.model[:1] not in ("", "<"):
            last[record.reply.id or record.origin.uuid] = record
    return list(last.values())


def usage_panel(store: SessionStore, folder: str, price_of: Price = price) -> Json:
    days, models, conversations = Tally(), Tally(), Tally()
    for summary in store.list(Path(folder), limit=MOST_SESSIONS):
        try:
            records = store.load(summary.session_id, Path(folder))
        except SessionError:
            continue
        title = summary.title or " ".join(summary.first_prompt.split())[:60] or summary.session_id[:8]
        for record in replies_of(records):
            used = record.reply.usage
            tokens = used.context
            cost = record.cost if record.cost is not None else price_of(record.reply.model, used) or 0.0
            days.add(record.origin.timestamp[:10] or "?", tokens, cost)
            models.add(record.reply.model, tokens, cost)
            conversations.add(title, tokens, cost)
    return {
        "days": every_day(days.rows(by_name=True)),
        "models": models.rows(),
        "conversations": conversations.rows()[:20],
    }


def every_day(rows: list[Json]) -> list[Json]:
    """The last days without gaps: two weeks at least, a month at most."""
    known = {str(row["name"]): row for row in rows if _DAY.fullmatch(str(row["name"]))}
    if not known:
        return []
    last = date.fromisoformat(max(known))
    first = date.fromisoformat(min(known))
    count = min(30, max(14, (last - first).days + 1))
    names = [(last - timedelta(days=back)).isoformat() for back in reversed(range(count))]
    return [known.get(name, {"name": name, "tokens": 0, "cost": 0.0}) for name in names]
