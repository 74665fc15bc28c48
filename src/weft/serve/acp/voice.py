"""Our events as `session/update`s: one map, with what must be remembered between events. It never waits.

A tool's content is replaced by each update, so the output so far is kept (the end of it, when it is long).
"""

import os
import re

import msgspec

from weft.protocols.acp import updates as u
from weft.protocols.acp.content import (
    DiffContent,
    ImageContent,
    Location,
    TerminalContent,
    TextContent,
    ToolContent,
    ToolContentBlock,
    text,
)
from weft.schema import events as e
from weft.schema.content import AnyBlock, Base64Source, Content, Image, Json, Text, Thinking, text_of
from weft.schema.display import DiffView, Display, ImageView
from weft.schema.stream import BlockDelta, TextDelta, ThinkingDelta
from weft.serve.acp import config, iflow

KEPT = 30_000
"""Characters of live output that an update repeats."""
_LINE = re.compile(r"^(.*?):(\d+)$")


class Audience(msgspec.Struct, frozen=True, kw_only=True):
    """What the client on the other side understands."""

    iflow: bool = False
    notices: bool = False
    compaction: bool = False


class _Known:
    def __init__(self, name: str, args: Json) -> None:
        self.name = name
        self.args = args
        self.output = ""
        self.terminal: str | None = None


class Voice:
    """One session's. `updates` answers what to send for an event, in order."""

    def __init__(self, audience: Audience, info: e.SessionInfo) -> None:
        self.audience = audience
        self.info = info
        self._tools: dict[str, _Known] = {}
        self._streamed: set[str] = set()
        self._agents = iflow.AgentIds()

    def updates(self, event: e.AgentEvent) -> list[u.Update]:
        match event:
            case e.SessionStarted(info=info):
                self.info = info
                return [self.commands()] if info.commands else []
            case e.SessionChanged(info=info):
                return self._changed(info)
            case e.Streamed():
                return self._streamed_update(event)
            case e.MessageDone():
                return self._message(event)
            case e.PromptAdded(content=content, replay=True):
                return [u.UserChunk(content=block) for block in to_blocks(content)]
            case e.ToolCalled():
                return [self._called(event)]
            case e.ToolProgressed():
                return self._progress(event)
            case e.ToolEnded():
                return [self._ended(event)]
            case e.TodosChanged(todos=todos, parent=None):
                entries = tuple(u.PlanEntry(content=t.content, priority=t.priority, status=t.status) for t in todos)
                return [u.Plan(entries=entries)]
            case e.UsageChanged(context_tokens=used, context_window=size, total_cost=cost) if size > 0:
                shown = u.Cost(amount=cost, currency="USD") if cost else None
                return [u.UsageUpdate(used=used, size=size, cost=shown)]
            case e.Notice(text=words, level=level) if self.audience.notices:
                severity = level if level in ("warning", "error") else "info"
                return [u.NoticeUpdate(severity=severity, title=words)]
            case e.Retrying(message=words, attempt=attempt, delay=delay) if self.audience.notices:
                more = f"attempt {attempt}, again in {delay:.0f} s"
                return [u.NoticeUpdate(severity="warning", title=words or "The model did not answer", description=more)]
            case e.Compacted() if self.audience.compaction:
                return self._compaction(event)
            case _:
                return []

    # --- the session ------------------------------------------------------------------------------------------

    def commands(self) -> u.AvailableCommands:
        return u.AvailableCommands(
            available_commands=tuple(
                u.AvailableCommand(
                    name=command.name,
                    description=command.description or command.name,
                    input=u.CommandInput(hint=command.argument_hint) if command.argument_hint else None,
                )
                for command in self.info.commands
            )
        )

    def _changed(self, info: e.SessionInfo) -> list[u.Update]:
        old, self.info = self.info, info
        out: list[u.Update] = []
        if info.mode != old.mode:
            out.append(u.CurrentMode(current_mode_id=info.mode))
        if config.options(info) != config.options(old):
            out.append(u.ConfigOptions(config_options=config.options(info)))
        if info.title != old.title and info.title:
            out.append(u.SessionInfoUpdate(title=info.title))
        if info.commands != old.commands:
            out.append(self.commands())
        return out

    def _compaction(self, event: e.Compacted) -> list[u.Update]:
        status = {"started": "in_progress", "done": "completed", "failed": "failed"}[event.state]
        summary = (text(event.summary),) if event.summary else None
        id_ = event.uuid or "compaction"
        error = event.message if event.state == "failed" else None
        return [u.CompactionUpdate(compaction_id=id_, status=status, summary=summary, error=error)]

    # --- messages ---------------------------------------------------------------------------------------------

    def _streamed_update(self, event: e.Streamed) -> list[u.Update]:
        if event.parent is not None and not self.audience.iflow:
            return []
        match event.delta:
            case BlockDelta(delta=TextDelta(text=words)) if words:
                self._streamed.add(event.message_id)
                return [u.AgentChunk(content=text(words), **self._about(event.message_id, event.parent))]
            case BlockDelta(delta=ThinkingDelta(thinking=words)) if words:
                self._streamed.add(event.message_id)
                return [u.ThoughtChunk(content=text(words), **self._about(event.message_id, event.parent))]
            case _:
                return []

    def _about(self, message_id: str, parent: str | None) -> dict[str, str | None]:
        if self.audience.iflow:
            return {"agent_id": self._agents.of(parent)}
        return {"message_id": message_id or None}

    def _message(self, event: e.MessageDone) -> list[u.Update]:
        """Only what was not streamed: history that is shown again, and what a slash command said."""
        reply = event.reply
        if reply.id in self._streamed:
            self._streamed.discard(reply.id)
            return []
        if event.error is not None or (event.parent is not None and not self.audience.iflow):
            return []
        out: list[u.Update] = []
        for block in reply.content:
            match block:
                case Text(text=words) if words:
                    out.append(u.AgentChunk(content=text(words), **self._about(reply.id, event.parent)))
                case Thinking(thinking=words) if words:
                    out.append(u.ThoughtChunk(content=text(words), **self._about(reply.id, event.parent)))
                case _:
                    pass
        return out

    # --- tools ------------------------------------------------------------------------------------------------

    def _called(self, event: e.ToolCalled) -> u.Update:
        use = event.use
        first = use.id not in self._tools
        self.fields_of(use.id, use.name, use.input).args = use.input
        fields = u.ToolCall if first else u.ToolCallUpdate
        update = fields(
            tool_call_id=use.id,
            title=event.title or use.name,
            name=use.name,
            kind=event.kind,
            status="in_progress" if event.state == "running" else "pending",
            raw_input=use.input,
            locations=_locations(event.locations, self.info.cwd) or None,
        )
        if self.audience.iflow:
            return iflow.dressed(update, use.name, use.input, self._agents.of(event.parent))
        return update

    def fields_of(self, tool_use_id: str, name: str, args: Json) -> _Known:
        return self._tools.setdefault(tool_use_id, _Known(name, args))

    def terminal(self, terminal_id: str, command: str) -> u.Update | None:
        """The running call that this terminal belongs to now shows it."""
        for id_, known in reversed(self._tools.items()):
            wanted = known.args.get("command")
            if known.terminal is None and isinstance(wanted, str) and wanted and wanted in command:
                known.terminal = terminal_id
                return self._update(id_, known, "in_progress", (TerminalContent(terminal_id=terminal_id),), None)
        return None

    def _progress(self, event: e.ToolProgressed) -> list[u.Update]:
        known = self._tools.get(event.tool_use_id)
        if known is None or not (event.output or event.message):
            return []
        known.output = (known.output + (event.output or event.message + "\n"))[-KEPT:]
        if known.terminal is not None:
            return []
        content = (ToolContentBlock(content=text(known.output)),)
        return [self._update(event.tool_use_id, known, "in_progress", content, event.parent)]

    def _ended(self, event: e.ToolEnded) -> u.Update:
        known = self.fields_of(event.tool_use_id, event.name, {})
        del self._tools[event.tool_use_id]
        content = to_tool_content(event)
        if known.terminal is not None:
            content = (TerminalContent(terminal_id=known.terminal), *content)
        status = "completed" if event.outcome == "ok" else "failed"
        raw = None if self.audience.iflow else event.data
        return self._update(event.tool_use_id, known, status, content, event.parent, raw_output=raw)

    def _update(
        self,
        id_: str,
        known: _Known,
        status: str,
        content: tuple[ToolContent, ...],
        parent: str | None,
        *,
        raw_output: object = None,
    ) -> u.ToolCallUpdate:
        told = msgspec.UNSET if raw_output is None else msgspec.to_builtins(raw_output, enc_hook=str)
        update = u.ToolCallUpdate(tool_call_id=id_, status=status, content=content, raw_output=told)
        if self.audience.iflow:
            return iflow.dressed(update, known.name, known.args, self._agents.of(parent))
        return update


def to_tool_content(event: e.ToolEnded) -> tuple[ToolContent, ...]:
    """Differences first: some clients look at the first item only."""
    out: list[ToolContent] = [_diff(edit) for edit in event.edits]
    if not out:
        out += to_preview(event.display)
    words = text_of(event.result.content) if not isinstance(event.result.content, str) else event.result.content
    if words and (event.outcome != "ok" or not any(isinstance(one, DiffContent) for one in out)):
        out.append(ToolContentBlock(content=text(words)))
    return tuple(out)


def to_preview(display: tuple[Display, ...]) -> list[ToolContent]:
    out: list[ToolContent] = []
    for view in display:
        match view:
            case DiffView():
                out.append(_diff(view))
            case ImageView(media_type=mime, data=data):
                out.append(ToolContentBlock(content=ImageContent(data=data, mime_type=mime)))
            case _:
                pass
    return out


def _diff(view: DiffView) -> DiffContent:
    return DiffContent(path=view.path, old_text=view.before, new_text=view.after or "")


def _locations(places: tuple[str, ...], cwd: str) -> tuple[Location, ...]:
    """ACP wants absolute paths; a line may follow."""
    out: list[Location] = []
    for place in places:
        found = _LINE.match(place)
        path = os.path.join(cwd, found.group(1) if found else place)
        out.append(Location(path=path, line=int(found.group(2)) if found else None))
    return tuple(out)


def to_blocks(content: Content) -> list[TextContent | ImageContent]:
    """A prompt shown again."""
    out: list[TextContent | ImageContent] = []
    for block in content:
        shown = _shown(block)
        if shown is not None:
            out.append(shown)
    return out


def _shown(block: AnyBlock) -> TextContent | ImageContent | None:
    match block:
        case Text(text=words):
            return text(words)
        case Image(source=Base64Source(media_type=mime, data=data)):
            return ImageContent(data=data, mime_type=mime)
        case _:
            return None
