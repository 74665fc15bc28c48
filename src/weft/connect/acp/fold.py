"""Updates of an ACP agent folded into our events. Pure: it never waits.

ACP streams pieces, our events come in whole messages and whole calls, so this keeps the message that is open and
the calls that are. Both kinds of tool update, and the call inside a permission request, are upserts: agents leave
the first one out, or send it twice. A message ends where another kind of thing begins.
"""

import itertools
import re
from collections.abc import Callable
from typing import Literal

import msgspec

from weft.connect.acp.modes import Controls
from weft.protocols.acp import updates as u
from weft.protocols.acp.content import (
    AudioContent,
    ContentBlock,
    DiffContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TerminalContent,
    TextContent,
    ToolContentBlock,
)
from weft.schema import events as e
from weft.schema.content import AnyBlock, Base64Source, Content, Image, Json, Text, Thinking, ToolResult, ToolUse
from weft.schema.display import DiffView, Display, ImageView, TextView, Todo
from weft.schema.messages import Reply
from weft.schema.stream import BlockDelta, BlockStart, BlockStop, MessageStart, StreamEvent, TextDelta, ThinkingDelta

_SUBAGENT = re.compile(r"^subagent-(.+)-\d+-\d+$")


class _Message:
    def __init__(self, id_: str, wire_id: str | None, parent: str | None) -> None:
        self.id = id_
        self.wire_id = wire_id
        self.parent = parent
        self.blocks: list[AnyBlock] = []
        self.open: list[str] | None = None
        self.thinking = False


class _Tool:
    def __init__(self, use_id: str, parent: str | None) -> None:
        self.fields = u.ToolFields(tool_call_id=use_id)
        self.parent = parent
        self.state = ""
        self.told_input = False
        self.output = ""

    @property
    def name(self) -> str:
        known = self.fields
        return known.name or known.tool_name or known.kind or "tool"

    @property
    def use(self) -> ToolUse:
        known = self.fields
        raw = known.raw_input if known.raw_input is not msgspec.UNSET else known.args
        if raw is None:
            held: Json = {}
        else:
            try:
                held = msgspec.convert(raw, dict[str, object])
            except msgspec.ValidationError:
                held = {"value": raw}
        return ToolUse(known.tool_call_id, self.name, held)


class Fold:
    """`info` and `controls` are the session as it is now. `replaying` marks history that is shown again."""

    def __init__(self, info: e.SessionInfo, controls: Controls | None = None) -> None:
        self.info = info
        self.controls = controls or Controls()
        self.replaying = False
        self.cost = 0.0
        self._ids = itertools.count(1)
        self._messages: dict[str | None, _Message] = {}
        self._tools: dict[str, _Tool] = {}
        self._user: list[AnyBlock] = []
        self.text = ""
        self.terminal_text: Callable[[str], str] = lambda _: ""
        self.denied: set[str] = set()
        """Calls that the person refused: they end as such, not as failures."""

    def feed(self, update: u.AnyUpdate) -> list[e.AgentEvent]:
        """The events of one update, in order."""
        match update:
            case u.UserChunk(content=content):
                if self.replaying:
                    out = self._close_messages()
                    self._user.append(_to_block(content))
                    return out
                return []
            case u.AgentChunk() | u.ThoughtChunk():
                return [*self._close_user(), *self._chunk(update)]
            case u.ToolCall() | u.ToolCallUpdate():
                return [*self._close_user(), *self.tool(update)]
            case u.Plan(entries=entries):
                return [e.TodosChanged(todos=tuple(_to_todo(entry) for entry in entries))]
            case u.AvailableCommands(available_commands=commands):
                infos = tuple(
                    e.CommandInfo(c.name, c.description, c.input.hint if c.input else "", "agent") for c in commands
                )
                return self._changed("commands", commands=infos)
            case u.CurrentMode(current_mode_id=mode):
                return self.set_controls(self.controls.with_mode(mode), "mode")
            case u.ConfigOptions(config_options=options):
                return self.set_controls(msgspec.structs.replace(self.controls, options=options), "config")
            case u.SessionInfoUpdate(title=title):
                return self._changed("title", title=title or "")
            case u.UsageUpdate(used=used, size=size, cost=cost):
                self.cost = cost.amount if cost else self.cost
                return [e.UsageChanged(context_tokens=used, context_window=size, total_cost=self.cost)]
            case u.NoticeUpdate(severity=severity, title=title, description=more):
                level = severity if severity in ("info", "warning", "error") else "notice"
                return [e.Notice(text=f"{title}: {more}" if more else title, level=level, tag="agent")]
            case u.CompactionUpdate(status=status, error=error, compaction_id=id_):
                state = {"in_progress": "started", "completed": "done"}.get(status, "failed")
                told = state if state in ("started", "done") else "failed"
                return [e.Compacted(state=told, message=error or "", uuid=id_)]
            case _:
                return []

    def set_controls(self, controls: Controls, reason: str) -> list[e.AgentEvent]:
        self.controls = controls
        return self._changed(
            reason,
            mode=controls.mode,
            modes=controls.modes,
            model=controls.model or self.info.model,
            models=controls.models,
            thinking=controls.thinking,
        )

    def _changed(self, reason: str, **fields: object) -> list[e.AgentEvent]:
        info = msgspec.structs.replace(self.info, **fields)
        if info == self.info:
            return []
        self.info = info
        return [e.SessionChanged(info=info, reason=reason)]

    # --- messages ---------------------------------------------------------------------------------------------

    def _chunk(self, update: u.AgentChunk | u.ThoughtChunk) -> list[e.AgentEvent]:
        parent = parent_of(update.agent_id)
        out: list[e.AgentEvent] = []
        message = self._messages.get(parent)
        if message and update.message_id and message.wire_id and update.message_id != message.wire_id:
            out += self._close_message(message)
            message = None
        if message is None:
            message = self._messages[parent] = _Message(f"msg_{next(self._ids)}", update.message_id, parent)
            out += self._stream(message, MessageStart(message.id, self.info.model))
        thinking = isinstance(update, u.ThoughtChunk)
        block = _to_block(update.content)
        if not isinstance(block, Text):
            return [*out, *self._close_block(message), *self._whole_block(message, block)]
        if message.open is None or message.thinking != thinking:
            out += self._close_block(message)
            message.open, message.thinking = [], thinking
            empty = Thinking("") if thinking else Text("")
            out += self._stream(message, BlockStart(len(message.blocks), empty))
        message.open.append(block.text)
        delta = ThinkingDelta(block.text) if thinking else TextDelta(block.text)
        return [*out, *self._stream(message, BlockDelta(len(message.blocks), delta))]

    def _stream(self, message: _Message, delta: StreamEvent) -> list[e.AgentEvent]:
        return [] if self.replaying else [e.Streamed(message_id=message.id, delta=delta, parent=message.parent)]

    def _whole_block(self, message: _Message, block: AnyBlock) -> list[e.AgentEvent]:
        index = len(message.blocks)
        message.blocks.append(block)
        return [*self._stream(message, BlockStart(index, block)), *self._block_done(message, index, block)]

    def _close_block(self, message: _Message) -> list[e.AgentEvent]:
        if message.open is None:
            return []
        text = "".join(message.open)
        block = Thinking(text) if message.thinking else Text(text)
        index = len(message.blocks)
        message.blocks.append(block)
        message.open = None
        return self._block_done(message, index, block)

    def _block_done(self, message: _Message, index: int, block: AnyBlock) -> list[e.AgentEvent]:
        if self.replaying:
            return []
        done = e.BlockDone(
            message_id=message.id, index=index, block=block, model=self.info.model, parent=message.parent
        )
        return [done, *self._stream(message, BlockStop(index))]

    def _close_message(self, message: _Message) -> list[e.AgentEvent]:
        out = self._close_block(message)
        self._messages.pop(message.parent, None)
        reply = Reply(message.id, self.info.model, tuple(message.blocks), "end_turn")
        if message.parent is None and reply.text:
            self.text = reply.text
        return [*out, e.MessageDone(reply=reply, replay=self.replaying, parent=message.parent)]

    def _close_messages(self) -> list[e.AgentEvent]:
        return [event for message in list(self._messages.values()) for event in self._close_message(message)]

    def _close_user(self) -> list[e.AgentEvent]:
        if not self._user:
            return []
        content: Content = _joined(self._user)
        self._user = []
        return [e.PromptAdded(id=f"replay_{next(self._ids)}", content=content, replay=True)]

    # --- tools ------------------------------------------------------------------------------------------------

    def tool(self, fields: u.ToolFields) -> list[e.AgentEvent]:
        """One upsert of a call; the call of a permission request comes here too."""
        parent = parent_of(fields.agent_id)
        tool = self._tools.get(fields.tool_call_id)
        out: list[e.AgentEvent] = []
        if tool is None:
            tool = self._tools[fields.tool_call_id] = _Tool(fields.tool_call_id, parent)
        if tool.state == "ended":
            return []
        tool.fields = _merged(tool.fields, fields)
        if tool.state == "":
            out += self._called(tool)
        status = tool.fields.status
        grown = not tool.told_input and tool.use.input
        if tool.state == "pending" and (status in ("in_progress", "completed", "failed") or grown):
            tool.state, tool.told_input = "running", bool(tool.use.input)
            out.append(self._tool_event(tool, "running"))
        out += self._progress(tool)
        if status in ("completed", "failed"):
            out.append(self._ended(tool, "ok" if status == "completed" else "error"))
        return out

    def _called(self, tool: _Tool) -> list[e.AgentEvent]:
        """A call is part of a message: it ends the open one, or is one of its own."""
        message = self._messages.get(tool.parent)
        out: list[e.AgentEvent] = []
        if message is None:
            message = self._messages[tool.parent] = _Message(f"msg_{next(self._ids)}", None, tool.parent)
            out += self._stream(message, MessageStart(message.id, self.info.model))
        out += self._close_block(message)
        out += self._whole_block(message, tool.use)
        out += self._close_message(message)
        tool.state, tool.told_input = "pending", bool(tool.use.input)
        return [*out, self._tool_event(tool, "pending")]

    def _tool_event(self, tool: _Tool, state: str) -> e.ToolCalled:
        known = tool.fields
        return e.ToolCalled(
            use=tool.use,
            state="running" if state == "running" else "pending",
            title=known.title or tool.name,
            kind=to_kind(known.kind),
            locations=tuple(place.path for place in known.locations or ()),
            parent=tool.parent,
            replay=self.replaying,
        )

    def _progress(self, tool: _Tool) -> list[e.AgentEvent]:
        text = _text(tool.fields)
        if text == tool.output:
            return []
        new = text[len(tool.output) :] if text.startswith(tool.output) else text
        tool.output = text
        if not new or self.replaying or tool.fields.status in ("completed", "failed"):
            return []
        return [e.ToolProgressed(tool_use_id=tool.fields.tool_call_id, output=new, parent=tool.parent)]

    def _ended(self, tool: _Tool, outcome: str) -> e.ToolEnded:
        tool.state = "ended"
        known = tool.fields
        shown = [c.terminal_id for c in known.content or () if isinstance(c, TerminalContent)]
        text = _text(known) or "".join(map(self.terminal_text, shown)) or _raw_text(known.raw_output)
        bad = outcome != "ok"
        return e.ToolEnded(
            tool_use_id=known.tool_call_id,
            name=tool.name,
            result=ToolResult(known.tool_call_id, text, bad),
            outcome=_outcome(outcome, denied=known.tool_call_id in self.denied),
            display=_display(known, text),
            data=known.raw_output if known.raw_output is not msgspec.UNSET else None,
            edits=_edits(known),
            parent=tool.parent,
            replay=self.replaying,
        )

    def use_of(self, tool_call_id: str) -> ToolUse:
        tool = self._tools.get(tool_call_id)
        return tool.use if tool else ToolUse(tool_call_id, "tool", {})

    def owner_of(self, terminal_id: str) -> tuple[str, str | None] | None:
        """The call that shows this terminal: its id and its parent."""
        for tool in self._tools.values():
            for content in tool.fields.content or ():
                if isinstance(content, TerminalContent) and content.terminal_id == terminal_id:
                    return tool.fields.tool_call_id, tool.parent
        return None

    def close(self, outcome: str = "ok") -> list[e.AgentEvent]:
        """Ends what is open: at the end of a turn, or of a replay. Some agents never tell that a call has ended."""
        out = [*self._close_user(), *self._close_messages()]
        for tool in self._tools.values():
            if tool.state in ("pending", "running"):
                out.append(self._ended(tool, "error" if tool.fields.tool_call_id in self.denied else outcome))
        self._tools.clear()
        self.denied.clear()
        return out


def _outcome(outcome: str, *, denied: bool) -> Literal["ok", "error", "denied", "cancelled"]:
    if outcome in ("ok", "cancelled"):
        return "ok" if outcome == "ok" else "cancelled"
    return "denied" if denied else "error"


def parent_of(agent_id: str | None) -> str | None:
    """The tool use that started a subagent, from iFlow's `subagent-<task>-<index>-<time>`."""
    if not agent_id:
        return None
    found = _SUBAGENT.match(agent_id)
    return found.group(1) if found else agent_id


def to_kind(kind: str | None) -> e.ToolKind:
    match kind:
        case "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "switch_mode":
            return kind
        case _:
            return "other"


def _merged(old: u.ToolFields, new: u.ToolFields) -> u.ToolFields:
    changed = {
        name: value
        for name in u.ToolFields.__struct_fields__
        if (value := getattr(new, name)) is not None and value is not msgspec.UNSET
    }
    if changed.get("status") not in u.STATUSES:
        changed.pop("status", None)
    return msgspec.structs.replace(old, **changed)


def _to_block(content: ContentBlock) -> AnyBlock:
    match content:
        case TextContent(text=text):
            return Text(text)
        case ImageContent(data=data, mime_type=mime):
            return Image(Base64Source(mime, data))
        case AudioContent(mime_type=mime):
            return Text(f"[audio, {mime}]")
        case ResourceLink(uri=uri, name=name):
            return Text(f"[{name or uri}]({uri})")
        case EmbeddedResource(resource=resource):
            return Text(resource.text if resource.text is not None else f"[{resource.uri}]")


def _joined(blocks: list[AnyBlock]) -> Content:
    """Text that came in pieces is one text again."""
    out: list[AnyBlock] = []
    for block in blocks:
        if isinstance(block, Text) and out and isinstance(out[-1], Text):
            out[-1] = Text(out[-1].text + block.text)
        else:
            out.append(block)
    return tuple(out)


def _to_todo(entry: u.PlanEntry) -> Todo:
    status = entry.status if entry.status in ("pending", "in_progress", "completed") else "pending"
    priority = entry.priority if entry.priority in ("high", "medium", "low") else "medium"
    return Todo(entry.content, status, priority=priority)


def _edits(fields: u.ToolFields) -> tuple[DiffView, ...]:
    diffs = [content for content in fields.content or () if isinstance(content, DiffContent)]
    return tuple(DiffView(diff.path, diff.old_text, diff.new_text) for diff in diffs)


def _text(fields: u.ToolFields) -> str:
    blocks = [c.content for c in fields.content or () if isinstance(c, ToolContentBlock)]
    return "\n".join(block.text for block in map(_to_block, blocks) if isinstance(block, Text))


def _raw_text(value: object) -> str:
    if value is msgspec.UNSET or value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _display(fields: u.ToolFields, text: str) -> tuple[Display, ...]:
    out: list[Display] = []
    for content in fields.content or ():
        match content:
            case DiffContent(path=path, old_text=old, new_text=new):
                out.append(DiffView(path, old, new))
            case ToolContentBlock(content=ImageContent(mime_type=mime, data=data)):
                out.append(ImageView(mime, data))
            case _:
                pass
    if text:
        out.append(TextView(text))
    return tuple(out)
