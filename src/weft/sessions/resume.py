"""A session's records become a history again: valid whatever happened to the file.

The conversation is the chain of parents from the last record; what was rewound is a branch that nothing points to.
A reply's lines become one message, tool results follow the reply that asked for them, a tool use that a crash left
without a result gets one that says so, and roles alternate.
"""

import gc
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

import msgspec

from weft.errors import SessionError
from weft.schema.content import AnyBlock, Content, Json, Text, ToolResult, ToolUse, Unknown
from weft.schema.display import Todo
from weft.schema.events import MODES, Mode
from weft.schema.messages import Message
from weft.schema.records import (
    AssistantRecord,
    ChainRecord,
    MarkRecord,
    ProgressRecord,
    Record,
    SystemRecord,
    UserRecord,
)
from weft.sessions.ledger import LedgerState, state_from_mark, state_from_records
from weft.sessions.port import SessionStore

INTERRUPTED = "Interrupted: the session ended before this tool call was finished. It may have run in part."
_PAIRED = (ToolUse, ToolResult)
_NO_START = "(The beginning of this conversation is missing.)"


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """What a session was when it was last written. `records` are the chain, for showing it again; `tip` is the
    parent of the next record."""

    session_id: str
    history: tuple[Message, ...] = ()
    records: tuple[ChainRecord, ...] = ()
    marks: tuple[MarkRecord, ...] = ()
    tip: str | None = None
    title: str = ""
    mode: Mode | None = None
    todos: tuple[Todo, ...] = ()
    ledger: LedgerState = LedgerState()
    cwd: str = ""
    model: str = ""
    counted: int = 0
    """The provider's count of the window at the last reply; 0 when there is none since the last compaction."""
    seen: int = 0
    """How many messages of the history that count is about."""


@runtime_checkable
class ReadsRecent(Protocol):
    """A store that can leave out what was compacted away."""

    def recent(self, session_id: str, cwd: Path | None = None) -> Sequence[Record]: ...


def load(store: SessionStore, session_id: str, cwd: Path | None, *, until: str | None = None) -> Resumed:
    """The session as it stands, or as it stood after the record `until`. The source is only read.

    Raises:
        SessionError: no such session, or no such record in it.
    """
    # Thousands of objects are made and none is garbage: the collector would walk them again and again, now and later.
    collecting = gc.isenabled()
    gc.disable()
    try:
        if until is None and isinstance(store, ReadsRecent):
            recent = store.recent(session_id, cwd)
            if not _points_back(recent) and not any(map(kept_ids, recent)):
                return rebuild(session_id, recent)
        return rebuild(session_id, store.load(session_id, cwd), until=until)
    finally:
        if collecting:
            gc.freeze()
            gc.enable()


def _points_back(records: Iterable[Record]) -> bool:
    """Whether the conversation goes on from before what was read: it was rewound over a compaction."""
    known: set[str] = set()
    lost = False
    for record in records:
        if isinstance(record, MarkRecord):
            target = record.data.get("leafUuid") if record.kind == "rewind" else None
            lost = isinstance(target, str) and target not in known if record.kind == "rewind" else lost
        elif not isinstance(record, Unknown):
            parent = record.origin.parent_uuid
            lost = parent is not None and parent not in known and not record.origin.is_sidechain
            known.add(record.origin.uuid)
            if lost:
                return True
    return lost


def rebuild(session_id: str, records: Sequence[Record], *, until: str | None = None) -> Resumed:
    """As `load`, from records in the order of the file."""
    if until is not None:
        records = _cut(records, until)
    marks = tuple(record for record in records if isinstance(record, MarkRecord))
    chain = chain_of(records)
    history = to_history(chain)
    last = next((r.reply for r in reversed(chain) if isinstance(r, AssistantRecord) and not r.error), None)
    counted = last.usage.context if last is not None else 0
    cost = next((mark for mark in reversed(marks) if mark.kind == "cost-state"), None)
    return Resumed(
        session_id=session_id,
        history=history,
        records=chain,
        marks=marks,
        tip=chain[-1].origin.uuid if chain else None,
        title=_title(marks),
        mode=_mode(chain, marks),
        todos=_todos(chain, marks),
        ledger=state_from_mark(cost) if cost is not None else state_from_records(records),
        cwd=next((record.origin.cwd for record in reversed(chain) if record.origin.cwd), ""),
        model=last.model if last is not None and not last.model.startswith("<") else "",
        counted=counted,
        seen=_seen(history) if counted else 0,
    )


def _seen(history: Sequence[Message]) -> int:
    return next((at + 1 for at in range(len(history) - 1, -1, -1) if history[at].role == "assistant"), 0)


def _cut(records: Sequence[Record], until: str) -> Sequence[Record]:
    for index, record in enumerate(records):
        if _uuid(record) == until:
            return records[: index + 1]
    raise SessionError(f"The session has no message {until}.", hint="`weft sessions show ID --json` has the ids.")


def _uuid(record: Record) -> str | None:
    return None if isinstance(record, MarkRecord | Unknown) else record.origin.uuid


# --- the chain ----------------------------------------------------------------------------------------------


def chain_of(records: Iterable[Record]) -> tuple[ChainRecord, ...]:
    """The main conversation, oldest first. A parent that was lost with a torn line is the record before."""
    members: list[ChainRecord] = []
    place: dict[str, int] = {}
    leaf: int | None = None
    straight, before = True, None
    for record in records:
        if isinstance(record, MarkRecord):
            if record.kind == "rewind":
                target = record.data.get("leafUuid")
                leaf = place.get(target) if isinstance(target, str) else None
                straight = False
            continue
        if isinstance(record, Unknown | ProgressRecord) or record.origin.is_sidechain:
            continue
        origin = record.origin
        straight = straight and origin.parent_uuid == before
        before = origin.uuid
        leaf = len(members)
        place[before] = leaf
        members.append(record)
    # Most conversations never went back: the file is the chain.
    chain = tuple(members) if straight else _with_branches(members, _walk(members, place, leaf))
    kept = kept_ids(chain[0]) if chain else ()
    if not kept:
        return chain
    # They stand where the summary left off, in front of what was said since.
    at = 2 if len(chain) > 1 and isinstance(chain[1], UserRecord) and chain[1].summary else 1
    return (*chain[:at], *(members[place[each]] for each in kept if each in place), *chain[at:])


def kept_ids(record: Record) -> tuple[str, ...]:
    """The records that a compaction of Claude Code's kept, by name: it does not write them again after the boundary,
    as we do."""
    if not isinstance(record, SystemRecord) or record.subtype != "compact_boundary":
        return ()
    try:
        details = msgspec.convert(record.data.get("compactMetadata"), dict[str, object])
        kept = msgspec.convert(details.get("preservedMessages"), dict[str, object])
        return msgspec.convert(kept.get("uuids"), tuple[str, ...])
    except msgspec.ValidationError:
        return ()


def _walk(members: Sequence[ChainRecord], place: dict[str, int], leaf: int | None) -> list[int]:
    picked: list[int] = []
    at = leaf
    while at is not None:
        picked.append(at)
        parent = members[at].origin.parent_uuid
        if parent is None:
            break
        # A parent must stand before its child; anything else is a broken file and could go round for ever.
        known = place.get(parent)
        at = known if known is not None and known < at else (at - 1 if at else None)
    return picked[::-1]


def _with_branches(members: Sequence[ChainRecord], picked: Sequence[int]) -> tuple[ChainRecord, ...]:
    """Parallel tool calls are branches of the file: the other lines of a reply in the chain, and the results of
    its tool uses, belong to it too."""
    if not picked:
        return ()
    if len(picked) == len(members):
        return tuple(members)
    chosen = set(picked)
    reply_of: dict[str, str] = {}
    uses: set[str] = set()
    for index in range(picked[0], picked[-1] + 1):
        member = members[index]
        if isinstance(member, AssistantRecord):
            # A line of a reply follows another line of it. The id alone would not do: some servers use one twice.
            if index in chosen or reply_of.get(member.origin.parent_uuid or "") == (member.reply.id or None):
                chosen.add(index)
                reply_of[member.origin.uuid] = member.reply.id
                uses.update(use.id for use in member.reply.tool_uses)
        elif isinstance(member, UserRecord) and index not in chosen and _answers(member, uses):
            chosen.add(index)
    return tuple(members[index] for index in sorted(chosen))


def _answers(record: UserRecord, uses: set[str]) -> bool:
    return any(isinstance(block, ToolResult) and block.tool_use_id in uses for block in record.message.content)


# --- the history --------------------------------------------------------------------------------------------


def to_history(chain: Iterable[ChainRecord]) -> tuple[Message, ...]:
    """Messages for a model: since the last compaction, valid, in turns of user and assistant."""
    messages: list[tuple[str, Message]] = []
    for record in chain:
        if isinstance(record, UserRecord):
            if record.sent:
                messages.append(("", record.message))
        elif isinstance(record, AssistantRecord):
            if record.error is None:
                messages.append((record.reply.id, Message("assistant", record.reply.content)))
        elif isinstance(record, SystemRecord):
            if record.subtype == "compact_boundary":
                messages.clear()
            elif record.subtype == "results_dropped":
                messages = _without_results(messages, record.data.get("toolUseIds"))
    return repair(_merged(messages))


def _without_results(messages: list[tuple[str, Message]], ids: object) -> list[tuple[str, Message]]:
    """As the conversation went on at that point: without the content of these results."""
    from weft.sessions.compaction import DROPPED

    gone: set[object] = set(cast("list[object]", ids)) if isinstance(ids, list) else set()

    def lean(block: AnyBlock) -> AnyBlock:
        if isinstance(block, ToolResult) and block.tool_use_id in gone:
            return ToolResult(block.tool_use_id, DROPPED, block.is_error)
        return block

    return [(name, Message(one.role, tuple([lean(block) for block in one.content]))) for name, one in messages]


def _merged(messages: Iterable[tuple[str, Message]]) -> list[Message]:
    """One message for all lines of a reply. Only results of its own tools may stand between them on disk."""
    merged: list[Message] = []
    last_id, last_at = "", 0
    for reply_id, message in messages:
        if message.role == "user":
            if last_id and not all(isinstance(block, ToolResult) for block in message.content):
                last_id = ""
        elif reply_id and reply_id == last_id:
            merged[last_at] = Message("assistant", merged[last_at].content + message.content)
            continue
        else:
            last_id, last_at = reply_id, len(merged)
        merged.append(message)
    return merged


def repair(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The same conversation made valid: every tool use is answered once, in the message right after it; nothing is
    answered that was not asked; no message is empty; roles alternate and the first is the user's."""
    merged = list(messages)
    joined = _joined(merged)
    return tuple(joined) if _is_valid(joined) else mended(merged)


def mended(merged: Sequence[Message]) -> tuple[Message, ...]:
    """As `repair`, without looking first whether there is anything to mend."""
    answers = _Answers(merged)
    fixed: list[Message] = []
    for place, message in enumerate(merged):
        if message.role == "user":
            content = message.content
            if any(type(block) in _PAIRED for block in content):
                content = tuple([block for block in content if type(block) not in _PAIRED])
            _add(fixed, "user", content)
            continue
        content, uses = _unique_uses(message.content)
        if not fixed and content:
            _add(fixed, "user", (Text(_NO_START),))
        _add(fixed, "assistant", content)
        if uses:
            _add(fixed, "user", tuple([answers.to(use, place) for use in uses]))
    return tuple(fixed)


def _joined(messages: Iterable[Message]) -> list[Message]:
    """Neighbours of one role as one message; empty ones are none."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            joined[-1] = Message(message.role, joined[-1].content + message.content)
        elif message.content:
            joined.append(message)
    return joined


def _is_valid(messages: Sequence[Message]) -> bool:
    """Whether a conversation of alternating roles needs no repair, as nearly every one does not: each reply's uses
    are answered right after it, in their order, before anything else is said."""
    asked: list[str] = []
    for at, message in enumerate(messages):
        kinds = [type(block) for block in message.content]
        if message.role == "user":
            answered = len(asked)
            if ToolUse in kinds or ToolResult in kinds[answered:] or kinds[:answered] != [ToolResult] * answered:
                return False
            if asked and [cast(ToolResult, block).tool_use_id for block in message.content[:answered]] != asked:
                return False
            asked = []
        else:
            if at == 0 or ToolResult in kinds:
                return False
            asked = [block.id for block in message.content if isinstance(block, ToolUse)] if ToolUse in kinds else []
            if len(set(asked)) != len(asked):
                return False
    return not asked


class _Answers:
    """Tool results by where they stand: a server may use the same id again in a later reply."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._results: dict[str, list[tuple[int, ToolResult]]] = {}
        self._uses: dict[str, list[int]] = {}
        for place, message in enumerate(messages):
            from_user = message.role == "user"
            for block in message.content:
                if from_user:
                    if isinstance(block, ToolResult):
                        self._results.setdefault(block.tool_use_id, []).append((place, block))
                elif isinstance(block, ToolUse):
                    self._uses.setdefault(block.id, []).append(place)

    def to(self, use: ToolUse, place: int) -> ToolResult:
        results = self._results.get(use.id, [])
        if len(self._uses[use.id]) > 1:
            end = next((at for at in self._uses[use.id] if at > place), 10**9)
            results = [(at, result) for at, result in results if place < at < end]
        return results[0][1] if results else ToolResult(use.id, INTERRUPTED, True)


def _unique_uses(content: Content) -> tuple[tuple[AnyBlock, ...], list[ToolUse]]:
    if not any(type(block) in _PAIRED for block in content):
        return content, []
    kept: list[AnyBlock] = []
    uses: dict[str, ToolUse] = {}
    for block in content:
        if isinstance(block, ToolResult) or (isinstance(block, ToolUse) and block.id in uses):
            continue
        if isinstance(block, ToolUse):
            uses[block.id] = block
        kept.append(block)
    return tuple(kept), list(uses.values())


def _add(messages: list[Message], role: str, content: tuple[AnyBlock, ...]) -> None:
    if not content:
        return
    if messages and messages[-1].role == role:
        messages[-1] = Message(messages[-1].role, messages[-1].content + content)
    else:
        messages.append(Message("user" if role == "user" else "assistant", content))


# --- what else a session was --------------------------------------------------------------------------------


def _title(marks: Sequence[MarkRecord]) -> str:
    for key in ("customTitle", "aiTitle", "summary"):
        for mark in reversed(marks):
            value = mark.data.get(key)
            if mark.kind in ("custom-title", "ai-title", "summary") and isinstance(value, str) and value:
                return value
    return ""


def _mode(chain: Sequence[ChainRecord], marks: Sequence[MarkRecord]) -> Mode | None:
    said = (str(mark.data.get("mode", "")) for mark in reversed(marks) if mark.kind == "mode")
    noted = (r.permission_mode for r in reversed(chain) if isinstance(r, UserRecord) and r.permission_mode)
    name = next(said, None) or next(noted, None)
    return next((mode for mode in MODES if mode == name), None)


class _WireTodo(msgspec.Struct, rename="camel"):
    content: str
    status: str = "pending"
    active_form: str = ""
    priority: str = "medium"


def _todos(chain: Sequence[ChainRecord], marks: Sequence[MarkRecord]) -> tuple[Todo, ...]:
    for mark in reversed(marks):
        if mark.kind == "todos":
            return todos_from(mark.data)
    for record in reversed(chain):
        if isinstance(record, AssistantRecord):
            for block in reversed(record.reply.content):
                if isinstance(block, ToolUse) and block.name == "TodoWrite":
                    return todos_from(block.input)
    return ()


def todos_from(data: Json) -> tuple[Todo, ...]:
    """A todo list as TodoWrite's input or our mark spells it; one that cannot be read is empty."""
    try:
        found = msgspec.convert(data.get("todos"), list[_WireTodo])
        return tuple(
            msgspec.convert(
                {"content": t.content, "status": t.status, "active_form": t.active_form, "priority": t.priority}, Todo
            )
            for t in found
        )
    except msgspec.ValidationError:
        return ()


def todos_mark(session_id: str, todos: Iterable[Todo]) -> MarkRecord:
    return MarkRecord(
        kind="todos",
        session_id=session_id,
        data={
            "todos": [
                {"content": t.content, "status": t.status, "activeForm": t.active_form, "priority": t.priority}
                for t in todos
            ]
        },
    )
