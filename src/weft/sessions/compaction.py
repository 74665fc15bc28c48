"""Making a conversation shorter: what is dropped, what is summarised, what stays word for word. Pure planning.

Old tool results go first. Then a summary takes the place of the oldest part; the first request, what the person said
since, the open todos and the last turns stay in their own words. The log keeps everything; a boundary is a record.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from weft.schema.content import AnyBlock, Content, Text, ToolResult, ToolUse, text_of
from weft.schema.display import Todo
from weft.schema.messages import Message, Reply, Request, Usage
from weft.schema.records import AssistantRecord, Origin, Record, SystemRecord, UserRecord
from weft.sessions import tokens

DROPPED: Final = "[An old result, left out to save room. Run the tool again if you need it.]"
DROPPED_RECORD: Final = "results_dropped"
"""The record that says whose results (`toolUseIds`) are not sent any more."""
_FIRST: Final = "<first-request>"
_SAID: Final = "<said-since>"
_SUMMARY: Final = "<summary>"
_TODOS: Final = "<open-todos>"
_MARKS: Final = (_FIRST, _SAID, _SUMMARY, _TODOS)
_REMINDER: Final = "<system-reminder>"
_KEEP_RESULTS: Final = 6
_SMALL_RESULT: Final = 60
_LONGEST_SAID: Final = 600
_MOST_KEPT: Final = 40_000
"""Of a large window a quarter would be more than a summary is worth."""

ASK: Final = """\
The conversation is about to outgrow its window. Write a summary that lets you, or a colleague, go on without the part \
above. Do not call tools and do not go on with the work now; write only the summary.

Put down, each only if there is something to say:
1. Instructions: every wish, rule, limit and preference that the person has stated, as close to their words as you can.
2. The task: what is wanted, and what counts as done.
3. State: what is finished, what is under way, what is left, in which files. Full paths, names, commands, numbers.
4. Findings: what was learned about the code and the machine; errors met and how they were solved; what was tried and \
did not work.
5. Next: the very next step.

Be exact and complete rather than short, but leave out greetings, repeats and raw output."""


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """A history cut in two. `first` and `said` are the person's words out of `old`, which stay as they are."""

    first: Content
    said: tuple[str, ...]
    old: tuple[Message, ...]
    kept: tuple[Message, ...]


def estimate(messages: Sequence[Message]) -> int:
    return tokens.of_messages(messages)


def threshold(window: int) -> int:
    """The fill at which a conversation is compacted: room stays for a reply and for the summary."""
    return window - min(max(window // 5, 4_000), 33_000)


def needs_compaction(usage: Usage | int, added: int, window: int) -> bool:
    """Whether the provider's last count and an estimate of what was added since come near the window's end."""
    used = usage if isinstance(usage, int) else usage.context
    return window > 0 and used + added >= threshold(window)


def drop_old_results(history: Sequence[Message], *, keep: int = _KEEP_RESULTS) -> tuple[Message, ...]:
    """The history without the content of old tool results; the last `keep` of them, and small ones, stay."""
    total = sum(isinstance(block, ToolResult) for message in history for block in message.content)
    left = total - keep
    result: list[Message] = []
    for message in history:
        content: list[AnyBlock] = []
        for block in message.content:
            if isinstance(block, ToolResult):
                left -= 1
                if left >= 0 and tokens.of_block(block) > _SMALL_RESULT:
                    block = ToolResult(block.tool_use_id, DROPPED, block.is_error)
            content.append(block)
        result.append(Message(message.role, tuple(content)))
    return tuple(result)


def dropped_ids(before: Sequence[Message], after: Sequence[Message]) -> list[str]:
    """The tool uses whose results are left out in the second history and not in the first."""
    old = {id(block) for message in before for block in message.content}
    blocks = (block for message in after for block in message.content)
    return [block.tool_use_id for block in blocks if isinstance(block, ToolResult) and id(block) not in old]


# --- the cut ------------------------------------------------------------------------------------------------


def split(history: Sequence[Message], *, window: int, everything: bool = False, tight: bool = False) -> Split:
    """Cuts before a turn or a step, so that what is kept fits a quarter of the window. What the model must answer
    next is always kept; when that alone is too long, its results are shortened. A `tight` cut keeps nothing else. With
    `everything` nothing is kept: between turns there is nothing to answer."""
    budget = 1 if tight else min(max(window // 4, 1_000), _MOST_KEPT)
    at = len(history) if everything else _cut(history, budget)
    old, kept = tuple(history[:at]), tuple(history[at:])
    return Split(
        first=_first(old or kept, max(window // 6, 500)),
        said=_said(old, max(window // 12, 300)),
        old=old,
        kept=_shortened(kept, max(window // 3, 1_000)),
    )


def _cut(history: Sequence[Message], budget: int) -> int:
    """Where the kept part begins: never between a tool use and its result. A turn's start is better than a step's."""
    best: int | None = None
    best_turn: int | None = None
    total = 0
    for index in range(len(history) - 1, -1, -1):
        message = history[index]
        total += tokens.of_message(message)
        if any(isinstance(block, ToolResult) for block in message.content):
            continue
        if total > budget and best is not None:
            break
        best = index
        if message.role == "user":
            best_turn = index
            if total > budget:
                break
    if best_turn is not None and best is not None and best_turn - best < 8:
        return best_turn
    return best or 0


def _first(messages: Sequence[Message], budget: int) -> Content:
    """The first request, or what an earlier compaction kept of it."""
    for message in messages:
        carried = [b for b in message.content if isinstance(b, Text) and b.text.startswith(_FIRST)]
        if carried:
            return tuple(carried)
        if message.role == "user":
            break
    if not messages or messages[0].role != "user":
        return ()
    texts = [block.text for block in messages[0].content if isinstance(block, Text) and block.text.strip()]
    words = shorten("\n\n".join(text for text in texts if not text.startswith(_REMINDER)), budget)
    # Reminders follow their own order of weight: memory stands first, and stays as long as it fits.
    told: list[str] = []
    left = budget + budget // 2 - tokens.of_text(words)
    for text in (text for text in texts if text.startswith(_REMINDER)):
        left -= tokens.of_text(text)
        if left > 0:
            told.append(text)
    body = "\n\n".join([*told, words]).strip()
    return (Text(f"{_FIRST}\n{body}\n</first-request>"),) if body else ()


def _said(messages: Sequence[Message], budget: int) -> tuple[str, ...]:
    """What the person said after the first request, oldest first. When it is too much, the middle goes."""
    said: list[str] = []
    for index, message in enumerate(messages):
        if message.role != "user":
            continue
        for block in message.content:
            if not isinstance(block, Text):
                continue
            if block.text.startswith(_SAID):
                said += [line[2:] for line in block.text.split("\n") if line.startswith("- ")]
            elif index and not block.text.startswith((_REMINDER, "<attached", "<command-message", *_MARKS)):
                line = " ".join(block.text.split())
                said.append(line if len(line) <= _LONGEST_SAID else line[:_LONGEST_SAID] + "…")
    said = [line for line in dict.fromkeys(said) if line]
    costs = [tokens.of_text(line) + 2 for line in said]
    while said and sum(costs) > budget:
        middle = len(said) // 3
        del said[middle], costs[middle]
    return tuple(said)


def _shortened(kept: Sequence[Message], budget: int) -> tuple[Message, ...]:
    total = estimate(kept)
    if total <= budget:
        return tuple(kept)
    kept = drop_old_results(kept, keep=2)
    total = estimate(kept)
    if total <= budget:
        return tuple(kept)
    count = sum(isinstance(b, ToolResult) for m in kept for b in m.content) or 1
    share = max(budget // (2 * count), 200)
    return tuple(Message(m.role, tuple(_short_result(b, share) for b in m.content)) for m in kept)


def _short_result(block: AnyBlock, budget: int) -> AnyBlock:
    if not isinstance(block, ToolResult) or tokens.of_block(block) <= budget:
        return block
    return ToolResult(block.tool_use_id, shorten(text_of(block.content), budget) or DROPPED, block.is_error)


def shorten(text: str, budget: int) -> str:
    """The text within about `budget` tokens: its beginning and its end."""
    count = tokens.of_text(text)
    if count <= budget:
        return text
    letters = max(len(text) * budget // count, 80)
    head, tail = letters * 2 // 3, letters // 3
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"


# --- the summary --------------------------------------------------------------------------------------------


def summary_request(request: Request, old: Sequence[Message], instructions: str = "", *, window: int = 0) -> Request:
    """The question for a summary: the same prefix as the conversation's own requests, so that a cache helps.

    When even that is too long, old results are dropped from it, then its beginning.
    """
    messages = list(old)
    room = (window * 3) // 4 if window else 0
    if room and estimate(messages) > room:
        messages = list(drop_old_results(messages, keep=0))
        while len(messages) > 2 and estimate(messages) > room:
            messages = _without_head(messages)
    ask = ASK + (f"\n\nThe person asks you to keep in particular: {instructions}" if instructions.strip() else "")
    if messages and messages[-1].role == "user":
        messages[-1] = Message("user", (*messages[-1].content, Text(ask)))
    else:
        messages.append(Message("user", (Text(ask),)))
    max_tokens = min(request.max_tokens, max(window // 6, 1_000)) if window else request.max_tokens
    return msgspec.structs.replace(
        request, messages=tuple(messages), max_tokens=max_tokens, output_schema=None, tool_choice=None
    )


def _without_head(messages: Sequence[Message]) -> list[Message]:
    """Half of the messages, beginning with one of the person's."""
    for index in range(max(len(messages) // 2, 1), len(messages)):
        message = messages[index]
        if message.role == "user" and not any(isinstance(block, ToolResult) for block in message.content):
            return list(messages[index:])
    rest = [m for m in messages[len(messages) // 2 :] if m.role == "assistant"]
    return [Message("user", (Text("\n".join(m.text for m in rest)),))]


def fallback_summary(old: Sequence[Message]) -> str:
    """A summary without a model, for when it cannot give one: which tools were used on what, and the last words."""
    rows: list[str] = []
    for message in old:
        for block in message.content:
            if isinstance(block, ToolUse):
                target = next((str(v) for v in block.input.values() if isinstance(v, str)), "")
                rows.append(f"- {block.name} {' '.join(target.split())[:120]}".rstrip())
    last = next((message.text for message in reversed(old) if message.role == "assistant" and message.text), "")
    used = list(dict.fromkeys(rows))
    more = [f"- … and {len(used) - 60} more"] if len(used) > 60 else []
    parts = ["No model could summarise this part. The tools that were used in it:", *used[:60], *more]
    return "\n".join([*parts, *(["The last words before the cut:", shorten(last, 500)] if last else [])])


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """A shorter conversation. `summary` is its opening as it is logged, `kept` what follows word for word."""

    summary: Message
    kept: tuple[Message, ...]
    text: str

    @property
    def messages(self) -> tuple[Message, ...]:
        """The new history: roles alternate, so the opening joins a user message that follows."""
        if self.kept and self.kept[0].role == "user":
            return (Message("user", self.summary.content + self.kept[0].content), *self.kept[1:])
        return (self.summary, *self.kept)


def apply(summary: str, parts: Split, *, todos: Sequence[Todo] = (), window: int = 0) -> Compaction:
    """The conversation after a compaction."""
    text = shorten(summary.strip(), max(window // 5, 1_000)) if window else summary.strip()
    blocks: list[AnyBlock] = list(parts.first)
    if parts.said:
        blocks.append(Text(_SAID + "\n" + "\n".join(f"- {line}" for line in parts.said) + "\n</said-since>"))
    blocks.append(
        Text(
            f"{_SUMMARY}\nThe earlier part of this conversation is summarised here. What the person said above still "
            f"holds.\n\n{text}\n</summary>"
        )
    )
    open_todos = [f"- [{todo.status}] {todo.content}" for todo in todos if todo.status != "completed"]
    if open_todos:
        blocks.append(Text(_TODOS + "\n" + "\n".join(open_todos) + "\n</open-todos>"))
    return Compaction(summary=Message("user", tuple(blocks)), kept=parts.kept, text=text)


def report(done: Compaction, parts: Split, *, todos: Sequence[Todo], before: int, after: int) -> str:
    """What was done, in a sentence or two for the person who asked for it."""
    open_todos = sum(todo.status != "completed" for todo in todos)
    kept = [
        *(["the first request"] if parts.first else []),
        *([_counted(len(parts.said), "later message of yours", "later messages of yours")] if parts.said else []),
        *([_counted(open_todos, "open todo", "open todos")] if open_todos else []),
        *([_counted(len(parts.kept), "last message", "last messages", "the ")] if parts.kept else []),
    ]
    words = tokens.of_text(done.text)
    rest = f"A summary of about {words:,} tokens stands for {_counted(len(parts.old), 'message', 'messages')}."
    stays = f" Kept word for word: {', '.join(kept)}." if kept else ""
    return f"The conversation was compacted: about {before:,} tokens before, {after:,} after. {rest}{stays}"


def _counted(count: int, one: str, many: str, before: str = "") -> str:
    return f"{before}{count} {one if count == 1 else many}"


class Progress:
    """Stops a compaction that does not shrink from being tried for ever."""

    def __init__(self) -> None:
        self._useless = 0

    @property
    def may_try(self) -> bool:
        return self._useless < 2

    def note(self, before: int, after: int) -> bool:
        """Takes down one compaction; false when it was of no use."""
        useful = after < before * 0.9
        self._useless = 0 if useful else self._useless + 1
        return useful

    def grew(self) -> None:
        """The conversation went on: a new compaction may help again."""
        self._useless = 0


def to_records(
    done: Compaction,
    new_origin: Callable[[], Origin],
    *,
    logical_parent: str | None,
    trigger: Literal["auto", "manual"],
    before: int,
) -> Iterator[Record]:
    """The records of a compaction, to be appended in order. `new_origin` gives each a place after the one before;
    the boundary's has no parent."""
    lines = sum(1 if message.role == "user" else len(message.content) for message in done.kept)
    details = {"trigger": trigger, "preTokens": before, "keptRecords": lines}
    yield SystemRecord(
        origin=msgspec.structs.replace(new_origin(), parent_uuid=None),
        subtype="compact_boundary",
        content="Conversation compacted",
        data={"compactMetadata": details, "level": "info", "isMeta": False},
        logical_parent=logical_parent,
    )
    yield UserRecord(origin=new_origin(), message=done.summary, summary=True)
    for message in done.kept:
        origin = new_origin()
        if message.role == "user":
            yield UserRecord(origin=origin, message=message)
        else:
            yield AssistantRecord(origin=origin, reply=Reply(f"kept-{origin.uuid}", "<kept>", message.content))
