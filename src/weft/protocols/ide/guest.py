"""The agent's end of one conversation, without I/O: initialize, then tool calls out and notifications in."""

from typing import TypeAlias, assert_never

import msgspec

from weft import __version__
from weft.protocols.ide import REVISIONS
from weft.protocols.ide.notices import (
    AT_MENTIONED,
    SELECTION_CHANGED,
    TOOLS_CHANGED,
    as_object,
    decode_mention,
    decode_selection,
)
from weft.protocols.ide.uris import to_uri
from weft.protocols.ide.values import Mention, Selection
from weft.protocols.jsonrpc import Id, Invalid, Notification, Peer, Request, Response, notification
from weft.schema.content import Json


class Send(msgspec.Struct, frozen=True):
    """A message to be sent."""

    message: Json


class Finished(msgspec.Struct, frozen=True):
    """The answer to a request of ours; `error` is the editor's sentence."""

    id: Id
    result: Json
    error: str | None = None


class Selected(msgspec.Struct, frozen=True):
    selection: Selection | None


class MentionMade(msgspec.Struct, frozen=True):
    mention: Mention


class ToolListStale(msgspec.Struct, frozen=True):
    """The editor offers other tools than before."""


GuestEvent: TypeAlias = Send | Finished | Selected | MentionMade | ToolListStale


class Guest:
    """One editor. `cwd` is our folder, told when it asks for roots; relative mentions are below its own `folder`."""

    def __init__(self, *, cwd: str, folder: str, pid: int) -> None:
        self._peer = Peer(lenient=True)
        self._cwd = cwd
        self._folder = folder
        self._pid = pid

    def initialize(self) -> tuple[Id, Json]:
        return self._peer.request(
            "initialize",
            {
                "protocolVersion": REVISIONS[0],
                "capabilities": {"roots": {"listChanged": False}},
                "clientInfo": {"name": "weft", "version": __version__},
            },
        )

    def initialized(self) -> tuple[Json, ...]:
        """What is sent after initialize was answered."""
        return notification("notifications/initialized"), notification("ide_connected", {"pid": self._pid})

    def list_tools(self) -> tuple[Id, Json]:
        return self._peer.request("tools/list")

    def call(self, name: str, arguments: Json) -> tuple[Id, Json]:
        return self._peer.request("tools/call", {"name": name, "arguments": arguments})

    def give_up(self, id: Id) -> Json:
        """We no longer wait; a late answer is dropped."""
        self._peer.give_up(id)
        return notification("notifications/cancelled", {"requestId": id, "reason": "decided elsewhere"})

    def receive(self, data: str | bytes) -> list[GuestEvent]:
        """Never raises."""
        incoming = self._peer.receive_bytes(data)
        match incoming:
            case Request(id=id, method="ping"):
                return [Send(self._peer.result(id, {}))]
            case Request(id=id, method="roots/list"):
                return [Send(self._peer.result(id, {"roots": [{"uri": to_uri(self._cwd)}]}))]
            case Request(id=id):
                return [Send(self._peer.not_found(id))]
            case Response(id=id, result=result, error=error):
                return [Finished(id, as_object(result), error.message if error else None)]
            case Notification():
                return self._notification(incoming.method, as_object(incoming.params))
            case Invalid(reply=reply):
                return [] if reply is None else [Send(reply)]
        assert_never(incoming)

    def _notification(self, method: str, params: Json) -> list[GuestEvent]:
        if method == SELECTION_CHANGED:
            return [Selected(decode_selection(params))]
        if method == AT_MENTIONED:
            mention = decode_mention(params, self._folder)
            return [] if mention is None else [MentionMade(mention)]
        return [ToolListStale()] if method == TOOLS_CHANGED else []
