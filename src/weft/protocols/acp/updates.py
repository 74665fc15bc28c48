"""`session/update`: what an agent tells while it works."""

from typing import Any, Final, TypeAlias, cast, get_args

import msgspec

from weft.protocols.acp.content import ContentBlock, Location, TextContent, ToolContent, Wire
from weft.schema.content import Json, Unknown

STATUSES: Final = frozenset({"pending", "in_progress", "completed", "failed"})
KINDS: Final = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
)


class Update(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate"):
    """The base of all kinds."""


class _Chunk(Update, frozen=True, kw_only=True):
    content: ContentBlock
    message_id: str | None = None
    agent_id: str | None = None


class UserChunk(_Chunk, frozen=True, kw_only=True, tag="user_message_chunk"):
    pass


class AgentChunk(_Chunk, frozen=True, kw_only=True, tag="agent_message_chunk"):
    pass


class ThoughtChunk(_Chunk, frozen=True, kw_only=True, tag="agent_thought_chunk"):
    pass


class ToolFields(Wire, frozen=True, kw_only=True):
    """What a call is known by. In an update, a field that is None has not changed."""

    tool_call_id: str
    title: str | None = None
    name: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[ToolContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: object = msgspec.UNSET
    raw_output: object = msgspec.UNSET
    tool_name: str | None = None
    args: Json | None = None
    agent_id: str | None = None
    type: str | None = None
    """iFlow only, in a permission request: what its JS SDK looks at."""


class ToolCall(ToolFields, Update, frozen=True, kw_only=True, tag="tool_call"):
    pass


class ToolCallUpdate(ToolFields, Update, frozen=True, kw_only=True, tag="tool_call_update"):
    pass


class PlanEntry(Wire, frozen=True, kw_only=True, omit_defaults=False):
    content: str
    priority: str = "medium"
    status: str = "pending"


class Plan(Update, frozen=True, kw_only=True, tag="plan"):
    entries: tuple[PlanEntry, ...]


class CommandInput(Wire, frozen=True, kw_only=True):
    hint: str


class AvailableCommand(Wire, frozen=True, kw_only=True):
    name: str
    description: str
    input: CommandInput | None = None


class AvailableCommands(Update, frozen=True, kw_only=True, tag="available_commands_update"):
    available_commands: tuple[AvailableCommand, ...]


class CurrentMode(Update, frozen=True, kw_only=True, tag="current_mode_update"):
    current_mode_id: str


class SelectOption(Wire, frozen=True, kw_only=True):
    value: str
    name: str = msgspec.field(name="name")
    description: str | None = None


class ConfigOption(Wire, frozen=True, kw_only=True):
    """A select (`options` flat or in groups, read by `choices`) or a switch (`type` is `boolean`)."""

    id: str
    name: str
    type: str
    current_value: str | bool
    category: str | None = None
    description: str | None = None
    options: tuple[object, ...] | None = None


class ConfigOptions(Update, frozen=True, kw_only=True, tag="config_option_update"):
    config_options: tuple[ConfigOption, ...]


class SessionInfoUpdate(Update, frozen=True, kw_only=True, tag="session_info_update"):
    title: str | None = None
    updated_at: str | None = None


class Cost(Wire, frozen=True, kw_only=True):
    amount: float
    currency: str


class UsageUpdate(Update, frozen=True, kw_only=True, tag="usage_update"):
    used: int
    size: int
    cost: Cost | None = None


class NoticeUpdate(Update, frozen=True, kw_only=True, tag="notice"):
    severity: str
    title: str
    description: str | None = None


class CompactionUpdate(Update, frozen=True, kw_only=True, tag="compaction_update"):
    compaction_id: str
    status: str
    summary: tuple[ContentBlock, ...] | None = None
    error: str | None = None


class CompactionChunk(Update, frozen=True, kw_only=True, tag="compaction_summary_chunk"):
    compaction_id: str
    content: ContentBlock


KnownUpdate: TypeAlias = (
    UserChunk
    | AgentChunk
    | ThoughtChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | AvailableCommands
    | CurrentMode
    | ConfigOptions
    | SessionInfoUpdate
    | UsageUpdate
    | NoticeUpdate
    | CompactionUpdate
    | CompactionChunk
)
AnyUpdate: TypeAlias = KnownUpdate | Unknown

_decoder: Final = msgspec.json.Decoder(KnownUpdate)
_tags: Final = {str(kind.__struct_config__.tag) for kind in get_args(KnownUpdate)}


def decode_update(raw: bytes | msgspec.Raw) -> AnyUpdate:
    """One update. Real agents send kinds, statuses and contents that no schema has: what is wrong in a known kind is
    left out of it, and a kind that we do not know is kept."""
    try:
        return _decoder.decode(raw)
    except msgspec.DecodeError:
        pass
    try:
        value: object = msgspec.json.decode(raw)
        return msgspec.convert(_mended(value), KnownUpdate)
    except msgspec.MsgspecError:
        return Unknown(bytes(raw))


def _mended(value: object) -> object:
    if not isinstance(value, dict):
        return value
    update = {key: item for key, item in cast(dict[str, Any], value).items() if item is not None}
    if "currentModeId" not in update and "modeId" in update:
        update["currentModeId"] = update["modeId"]
    for key, item in (("content", ToolContent), ("locations", Location), ("options", Json)):
        held = update.get(key)
        if isinstance(held, list):
            update[key] = [one for one in cast(list[object], held) if _fits(one, item)]
    return update


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def choices(option: ConfigOption) -> tuple[SelectOption, ...]:
    """The values of a select, whether they came flat or in groups."""
    found: list[SelectOption] = []
    for item in option.options or ():
        if isinstance(item, SelectOption):
            found.append(item)
            continue
        group = cast(Json, item) if isinstance(item, dict) else {}
        inner = group.get("options")
        held: list[object] = cast(list[object], inner) if isinstance(inner, list) else [group]
        for one in held:
            if _fits(one, SelectOption):
                found.append(msgspec.convert(one, SelectOption))
    return tuple(found)


def agent_text(value: str) -> AgentChunk:
    return AgentChunk(content=TextContent(text=value))
