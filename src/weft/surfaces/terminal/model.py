"""The view model of one conversation: events go in, entries and the state of the status line come out.

`apply` does no I/O and asks no clock, so the same events always give the same model. `touched` has the top-level
entries that changed since the view last took them; `generation` counts the times that entries were removed.
"""

import re
from typing import TypeAlias, assert_never

import msgspec

from weft.schema import events as e
from weft.schema import stream as s
from weft.schema.content import AnyBlock, Content, Document, Image, Text, Thinking, ToolUse, text_of
from weft.schema.display import Todo
from weft.surfaces.terminal.entries import Entry, NoticeEntry, PromptEntry, ReplyEntry, ThinkingEntry, ToolEntry
from weft.surfaces.terminal.pieces import Pieces

Ask: TypeAlias = e.PermissionAsked | e.QuestionAsked | e.PlanProposed | e.InputRequested
_SHELL = re.compile(
    r"\s*<bash-input>(.*?)</bash-input>\s*<bash-std(?:out|err)>(.*?)</bash-std(?:out|err)>\s*\Z", re.DOTALL
)
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_HIDDEN = ("<system-reminder>", "<attached ", "<ide_", "<editor-context>")


class Model:
    def __init__(self) -> None:
        self.info: e.SessionInfo | None = None
        self.entries: list[Entry] = []
        self.touched: dict[int, Entry] = {}
        self.generation = 0
        self.running = False
        self.turn_began = 0.0
        self.activity = ""
        self.asks: dict[str, Ask] = {}
        self.queue: tuple[e.QueuedPrompt, ...] = ()
        self.todos: tuple[Todo, ...] = ()
        self.tasks: dict[str, e.TaskInfo] = {}
        self.context_tokens = 0
        self.context_window = 0
        self.cost = 0.0
        self.cost_known = True
        self.ended: e.TurnEnded | None = None
        self.going_back = ""
        self._tools: dict[str, ToolEntry] = {}
        self._open: dict[tuple[str, int], ReplyEntry | ThinkingEntry] = {}
        self._streamed: set[str] = set()
        self._compacting: NoticeEntry | None = None

    # --- entries ----------------------------------------------------------------------------------------------

    def add(self, entry: Entry, parent: str | None = None) -> None:
        entry.parent = parent
        owner = self._owner(entry)
        (self.entries if owner is None else owner.children).append(entry)
        self.touch(entry)

    def _owner(self, entry: Entry) -> ToolEntry | None:
        return self._tools.get(entry.parent) if entry.parent is not None else None

    def touch(self, entry: Entry) -> None:
        """The top-level entry in which this one stands has to be painted again."""
        entry.version += 1
        owner = self._owner(entry)
        if owner is not None:
            self.touch(owner)
        else:
            self.touched[id(entry)] = entry

    def note(self, text: str, level: str = "info", *, block: bool = False) -> None:
        entry = NoticeEntry(text=text, block=block)
        entry.level = "error" if level == "error" else "warning" if level == "warning" else "info"
        self.add(entry)

    def clear(self) -> None:
        self.entries.clear()
        self.touched.clear()
        self._tools.clear()
        self._open.clear()
        self.todos = ()
        self.generation += 1

    def prompts(self) -> list[PromptEntry]:
        """Those that one may go back to, oldest first."""
        return [entry for entry in self.entries if isinstance(entry, PromptEntry) and entry.shell is None]

    def cut(self, prompt_id: str) -> None:
        """Forgets a prompt and all after it."""
        for at, entry in enumerate(self.entries):
            if isinstance(entry, PromptEntry) and entry.id == prompt_id:
                del self.entries[at:]
                self.touched.clear()
                self.generation += 1
                return

    def tool(self, tool_use_id: str) -> ToolEntry | None:
        return self._tools.get(tool_use_id)

    # --- events -----------------------------------------------------------------------------------------------

    def apply(self, event: e.AgentEvent, now: float = 0.0) -> None:
        match event:
            case e.SessionStarted() | e.SessionChanged() | e.TurnStarted() | e.TurnEnded():
                self._turn(event, now)
            case e.PromptAdded():
                self._prompt(event)
            case e.QueueChanged(prompts=prompts):
                self.queue = prompts
            case e.Streamed(message_id=id, delta=delta, parent=parent):
                self._stream(id, delta, parent, now)
            case e.BlockDone(message_id=id, index=index, block=block, parent=parent):
                self._block_done(id, index, block, parent, now)
            case e.MessageDone():
                self._message_done(event)
            case e.ToolCalled() | e.ToolProgressed() | e.ToolEnded():
                self._tool(event, now)
            case e.PermissionAsked() | e.QuestionAsked() | e.PlanProposed() | e.InputRequested():
                self._ask(event)
            case e.AskWithdrawn(request_id=id):
                self.answered(id)
            case _:
                self._state(event)

    def _turn(self, event: e.SessionStarted | e.SessionChanged | e.TurnStarted | e.TurnEnded, now: float) -> None:
        match event:
            case e.SessionStarted(info=info):
                self.info = info
            case e.SessionChanged(info=info):
                if self.info is not None and self.info.session_id != info.session_id:
                    self.clear()
                    self.context_tokens = 0
                self.info = info
            case e.TurnStarted():
                self.running, self.turn_began, self.ended, self.activity = True, now, None, ""
            case e.TurnEnded():
                self._turn_ended(event, now)

    def _turn_ended(self, event: e.TurnEnded, now: float) -> None:
        self.running, self.ended, self.activity = False, event, ""
        self.asks.clear()
        for entry in self._open.values():
            self._close(entry, now)
        self._open.clear()
        for entry in self._tools.values():
            if not entry.over:
                entry.state = "cancelled"
                self.touch(entry)
        if event.models:
            self.cost = event.total_cost
            self.cost_known = all(model.cost_known for model in event.models.values())
        last = self.entries[-1] if self.entries else None
        said = last.text if isinstance(last, NoticeEntry) else ""
        if event.reason == "cancelled":
            self.note("Interrupted.")
        elif event.reason == "local_command":
            if event.text.strip():
                self.note(event.text, block=True)
        elif event.error and event.error != said:
            self.note(event.error, "error")

    def _prompt(self, event: e.PromptAdded) -> None:
        if event.synthetic or event.parent is not None:
            return
        entry = to_prompt(event)
        if entry is not None:
            self.add(entry)

    def _stream(self, id: str, delta: s.StreamEvent, parent: str | None, now: float) -> None:
        match delta:
            case s.MessageStart():
                self._drop_open(id)
                self._streamed.add(id)
            case s.BlockStart(index=index, block=Text() | Thinking() as block):
                self._begin(id, index, block, parent, now)
            case s.BlockStart(block=ToolUse(name=name)):
                self.activity = name
            case s.BlockDelta(index=index, delta=s.TextDelta(text=text)):
                entry = self._open.get((id, index)) or self._begin(id, index, Text(""), parent, now)
                if isinstance(entry, ReplyEntry) and text:
                    entry.pieces.feed(text)
                    self.touch(entry)
            case s.BlockDelta(index=index, delta=s.ThinkingDelta(thinking=text)):
                entry = self._open.get((id, index)) or self._begin(id, index, Thinking(""), parent, now)
                if isinstance(entry, ThinkingEntry) and text:
                    entry.parts.append(text)
                    self.touch(entry)
            case s.Retry():
                self._drop_open(id)
            case _:
                return

    def _begin(
        self, id: str, index: int, block: Text | Thinking, parent: str | None, now: float
    ) -> ReplyEntry | ThinkingEntry:
        self._streamed.add(id)
        if isinstance(block, Text):
            entry: ReplyEntry | ThinkingEntry = ReplyEntry()
            if block.text:
                entry.pieces.feed(block.text)
        else:
            entry = ThinkingEntry(parts=[block.thinking] if block.thinking else [], began=now)
        self._open[id, index] = entry
        self.add(entry, parent)
        return entry

    def _drop_open(self, id: str) -> None:
        """A request that is made again throws away what came of it."""
        gone = [self._open.pop(key) for key in list(self._open) if key[0] == id]
        if gone:
            self.entries = [entry for entry in self.entries if entry not in gone]
            self.generation += 1

    def _close(self, entry: ReplyEntry | ThinkingEntry, now: float) -> None:
        if isinstance(entry, ReplyEntry):
            entry.pieces.end()
        elif entry.seconds is None:
            entry.seconds = max(0.0, now - entry.began)
        entry.done = True
        self.touch(entry)

    def _block_done(self, id: str, index: int, block: AnyBlock, parent: str | None, now: float) -> None:
        self.activity = ""
        entry = self._open.pop((id, index), None)
        if entry is None:
            if isinstance(block, Text | Thinking):
                self._begin(id, index, block, parent, now)
                entry = self._open.pop((id, index))
            else:
                self._streamed.add(id)
                return
        if isinstance(entry, ReplyEntry) and isinstance(block, Text) and entry.pieces.size != len(block.text):
            entry.pieces = Pieces(block.text)
        self._close(entry, now)

    def _message_done(self, event: e.MessageDone) -> None:
        reply = event.reply
        if event.error is not None:
            self.note(reply.text or str(event.error), "error")
            return
        if not event.replay and reply.id in self._streamed:
            self._streamed.discard(reply.id)
            return
        for block in reply.content:
            if isinstance(block, Text) and block.text.strip():
                self.add(ReplyEntry(pieces=Pieces(block.text), done=True), event.parent)
            elif isinstance(block, Thinking) and block.thinking.strip():
                self.add(ThinkingEntry(parts=[block.thinking], done=True), event.parent)

    def _tool(self, event: e.ToolCalled | e.ToolProgressed | e.ToolEnded, now: float) -> None:
        match event:
            case e.ToolCalled(use=use):
                entry = self._tools.get(use.id)
                if entry is None:
                    entry = ToolEntry(id=use.id, name=use.name, input=use.input)
                    self.add(entry, event.parent)
                    self._tools[use.id] = entry
                entry.title, entry.kind, entry.input = event.title or entry.title, event.kind, use.input
                if event.state == "running":
                    entry.state, entry.began, entry.asked = "running", now, False
                self.touch(entry)
            case e.ToolProgressed(tool_use_id=id):
                entry = self._tools.get(id)
                if entry is None:
                    return
                if event.output:
                    entry.add_output(event.output)
                entry.message = event.message or entry.message
                entry.fraction = event.fraction if event.fraction is not None else entry.fraction
                self.touch(entry)
            case e.ToolEnded(tool_use_id=id):
                self._tool_ended(event)

    def _tool_ended(self, event: e.ToolEnded) -> None:
        entry = self._tools.get(event.tool_use_id)
        if entry is None:
            entry = ToolEntry(id=event.tool_use_id, name=event.name or "Tool", input={})
            self.add(entry, event.parent)
            self._tools[entry.id] = entry
        entry.state = event.outcome
        entry.asked = False
        entry.result = text_of(event.result.content)
        entry.display, entry.edits, entry.duration = event.display, event.edits, event.duration
        self.touch(entry)

    def _ask(self, event: Ask) -> None:
        self.asks[event.request_id] = event
        if isinstance(event, e.PermissionAsked):
            entry = self._tools.get(event.use.id)
            if entry is not None:
                entry.asked = True
                self.touch(entry)

    def answered(self, request_id: str) -> None:
        """The request is closed, by this person or by something else."""
        ask = self.asks.pop(request_id, None)
        entry = self._tools.get(ask.use.id) if isinstance(ask, e.PermissionAsked) else None
        if entry is not None:
            entry.asked = False
            self.touch(entry)

    def _state(self, event: e.StateEvent) -> None:
        match event:
            case e.TodosChanged(todos=todos, parent=parent):
                if parent is None:
                    self.todos = todos
            case e.UsageChanged():
                self.context_tokens, self.context_window = event.context_tokens, event.context_window
                self.cost = event.total_cost
                self.cost_known = all(model.cost_known for model in event.models.values())
            case e.Retrying(message=message, delay=delay, attempt=attempt, max_retries=most):
                self.note(f"{message or event.error} Trying again in {delay:.0f} s ({attempt}/{most}).", "warning")
            case e.Compacted():
                self._compacted(event)
            case e.Notice(text=text, level=level, tag=tag):
                if tag == "rewind" and self.going_back and level != "error":
                    self.cut(self.going_back)
                    self.going_back = ""
                self.note(text, level)
            case e.TaskChanged(task=task):
                self.tasks[task.id] = task
            case e.Reported(report=e.HookRan(outcome="blocked" | "error" | "timeout" as outcome) as ran):
                said = (ran.stderr or ran.stdout).strip()
                self.note(f"Hook {ran.name} ({ran.hook_event}): {outcome}. {said}".strip(), "warning")
            case e.Reported():
                return
            case _:
                assert_never(event)

    def _compacted(self, event: e.Compacted) -> None:
        if event.state == "started" or self._compacting is None:
            self._compacting = NoticeEntry(text="Making the conversation shorter …")
            self.add(self._compacting)
        if event.state == "done":
            self._compacting.text = f"The conversation was made shorter: {event.before:,} tokens to {event.after:,}."
        elif event.state == "failed":
            self._compacting.text = event.message or "The conversation could not be made shorter."
            self._compacting.level = "warning"
        self.touch(self._compacting)
        if event.state != "started":
            self._compacting = None


def to_prompt(event: e.PromptAdded) -> PromptEntry | None:
    """What the person typed, without the marks around it; None for what only the model reads."""
    texts = [block.text for block in event.content if isinstance(block, Text)]
    shown = [text for text in texts if not text.lstrip().startswith(_HIDDEN)]
    attached = _attached(event.content)
    text = "\n".join(shown).strip()
    if shell := _SHELL.match(text):
        return PromptEntry(id=event.id, text=shell[1].strip(), shell=shell[2].strip("\n"))
    if name := _COMMAND.search(text):
        arguments = _ARGUMENTS.search(text)
        text = f"{name[1]} {arguments[1] if arguments else ''}".strip()
    if text.startswith("[Request interrupted by user") or not (text or attached):
        return None
    return PromptEntry(id=event.id, text=text, attached=attached)


def _attached(content: Content) -> tuple[str, ...]:
    found: list[str] = []
    for block in content:
        if isinstance(block, Image):
            found.append("image")
        elif isinstance(block, Document):
            found.append(block.title or "document")
    return tuple(found)


def replace_info(model: Model, **changes: object) -> None:
    """A choice shown before the agent has confirmed it."""
    if model.info is not None:
        model.info = msgspec.structs.replace(model.info, **changes)
