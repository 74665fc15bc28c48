"""What the host sends to a page. Frames travel as JSON lists: whatever waits for a page goes in one message."""

from typing import Literal, TypeAlias

import msgspec

from weft.schema.content import Json
from weft.schema.wire import encode
from weft.surfaces.web.stream import StreamChunk


class Frame(msgspec.Struct, frozen=True, tag_field="type", rename="camel", omit_defaults=True, kw_only=True):
    pass


class Row(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A conversation in the list."""

    id: str
    title: str
    folder: str
    agent: str = "weft"
    updated: float = 0.0
    state: Literal["idle", "running", "asking", "lost"] = "idle"
    live: bool = False


class AgentState(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """An agent that can be talked to. `available` is None until it was checked."""

    name: str
    title: str = ""
    available: bool | None = None
    version: str = ""
    detail: str = ""
    hint: str = ""


class State(Frame, frozen=True, tag="state"):
    """Everything that is not of one conversation, after `ready` and after each change of it."""

    version: str
    folders: tuple[str, ...]
    agents: tuple[AgentState, ...]
    conversations: tuple[Row, ...]
    default_agent: str = "weft"
    panels: tuple[str, ...] = ()


class ConversationList(Frame, frozen=True, tag="conversations"):
    conversations: tuple[Row, ...]


class ConversationOpened(Frame, frozen=True, tag="conversationOpened"):
    """The end of a conversation, whole. `older` is where the part before it begins, for `olderMessages`."""

    row: Row
    seq: int
    chunks: tuple[StreamChunk, ...]
    older: str | None = None
    resumed: bool = False


class ConversationClosed(Frame, frozen=True, tag="conversationClosed"):
    conversation: str


class Older(Frame, frozen=True, tag="older"):
    conversation: str
    chunks: tuple[StreamChunk, ...]
    older: str | None = None


class Chunked(Frame, frozen=True, tag="streamChunk"):
    """`seq` counts the chunks of a conversation, without gaps."""

    conversation: str
    seq: int
    chunk: StreamChunk


class IdeContext(Frame, frozen=True, tag="ideContextChanged"):
    """What the attached editor shows; both None when there is none."""

    active_file: Json | None = None
    selection: Json | None = None


class Reply(Frame, frozen=True, tag="reply"):
    """The answer to a message with a `request` number."""

    request: int
    data: object = None
    error: str | None = None


class Problem(Frame, frozen=True, tag="problem"):
    """A message could not be acted on; a sentence for the person."""

    message: str
    conversation: str | None = None


ToPage: TypeAlias = (
    State | ConversationList | ConversationOpened | ConversationClosed | Older | Chunked | IdeContext | Reply | Problem
)


def encode_frame(frame: ToPage) -> str:
    return encode(frame).decode()


def batch(frames: list[str]) -> str:
    """Encoded frames as one message."""
    return f"[{','.join(frames)}]"
