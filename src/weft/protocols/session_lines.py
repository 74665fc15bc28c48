"""A session of ours on a pipe: the host's lines in, the session's lines out. Both ends are Weft, of one version.

    host      Open, then commands, Answered (what the session asked of the host's process), and Close
    session   events, whole; ToolCall, HookCall and Withdrawn (functions of the host's process); Failed (not opened)

Unlike stream-json, which is another product's wire and has no place for much of what an event says, nothing is mapped
here: what is read is equal to what was written.
"""

from typing import Final, TypeAlias

import msgspec

from weft.errors import RemoteProtocolError
from weft.schema.commands import Command
from weft.schema.content import Json
from weft.schema.event_wire import WireCommand, WireEvent, whole_command, whole_event
from weft.schema.events import AgentEvent
from weft.schema.wire import encode


class OwnTool(msgspec.Struct, frozen=True, kw_only=True):
    """A function of the host's as the session is told of it."""

    name: str
    manual: str
    input_schema: Json
    kind: str = "other"
    group: str = "other"
    read_only: bool = False


class Open(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="open"):
    """The first line. `hooks` are the names of the host's functions, by event."""

    options: Json
    tools: tuple[OwnTool, ...] = ()
    hooks: dict[str, tuple[str, ...]] = {}


class Answered(msgspec.Struct, frozen=True, tag_field="line", tag="answered"):
    """How a call went: a value, or a sentence that says what went wrong."""

    id: int
    value: object = None
    error: str | None = None


class Close(msgspec.Struct, frozen=True, tag_field="line", tag="close"):
    """The session is to end. The host answers calls until it has: hooks see the end too."""


class ToolCall(msgspec.Struct, frozen=True, tag_field="line", tag="tool"):
    id: int
    name: str
    input: Json


class HookCall(msgspec.Struct, frozen=True, tag_field="line", tag="hook"):
    id: int
    event: str
    index: int
    input: Json
    tool_use_id: str | None = None


class Withdrawn(msgspec.Struct, frozen=True, tag_field="line", tag="withdrawn"):
    """The turn ended first: the function that runs for this call is to be cancelled."""

    id: int


class Failed(msgspec.Struct, frozen=True, tag_field="line", tag="failed"):
    """The session could not be opened. `kind` is the name of the error's class."""

    kind: str
    message: str
    hint: str | None = None


class _Do(msgspec.Struct, tag_field="line", tag="do"):
    command: WireCommand


class _Told(msgspec.Struct, tag_field="line", tag="told"):
    event: WireEvent


Call: TypeAlias = ToolCall | HookCall
HostLine: TypeAlias = Open | Answered | Close | Command
SessionLine: TypeAlias = Call | Withdrawn | Failed | AgentEvent

_host: Final = msgspec.json.Decoder(Open | Answered | Close | _Do)
_session: Final = msgspec.json.Decoder(ToolCall | HookCall | Withdrawn | Failed | _Told)


def encode_event(event: AgentEvent) -> bytes:
    return b'{"line":"told","event":' + encode(event) + b"}"


def encode_command(command: Command) -> bytes:
    return b'{"line":"do","command":' + encode(command) + b"}"


def encode_line(line: Open | Answered | Close | Call | Withdrawn | Failed) -> bytes:
    return encode(line)


def decode_host_line(data: bytes | str) -> HostLine:
    """
    Raises:
        RemoteProtocolError: not a line of a host.
    """
    try:
        found = _host.decode(data)
        return whole_command(found.command) if isinstance(found, _Do) else found
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"a line of the host cannot be read: {error}") from None


def decode_session_line(data: bytes | str) -> SessionLine:
    """
    Raises:
        RemoteProtocolError: not a line of a session.
    """
    try:
        found = _session.decode(data)
        return whole_event(found.event) if isinstance(found, _Told) else found
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"a line of the agent cannot be read: {error}") from None
