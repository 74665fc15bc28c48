"""The editor's end of one conversation, without I/O.

MCP's lifecycle: initialize, `notifications/initialized`, then tools. Real agents also say `ide_connected` with their
pid. Whatever can be answered from here is answered; tool calls come out as events.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from weft import __version__
from weft.errors import RemoteProtocolError
from weft.protocols.ide import choose_revision
from weft.protocols.ide.catalogue import BY_NAME, AnyArguments, ToolSpec, decode_arguments, encode_spec
from weft.protocols.ide.frames import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_INITIALIZED,
    PARSE_ERROR,
    Frame,
    Notification,
    Reply,
    Request,
    RequestId,
    decode_frame,
    encode_error,
    encode_result,
)
from weft.protocols.ide.notices import as_object
from weft.schema.content import Json

MAX_CALLS = 256
"""Tool calls of one agent that may wait at once."""


class Send(msgspec.Struct, frozen=True):
    """A frame to be sent."""

    frame: str


class Called(msgspec.Struct, frozen=True):
    """A tool is asked for. `answered` must be told when its answer was sent."""

    id: RequestId
    name: str
    arguments: AnyArguments


class Cancelled(msgspec.Struct, frozen=True):
    """The agent no longer waits for this call: it gets no answer."""

    id: RequestId


class Attached(msgspec.Struct, frozen=True):
    """The agent is ready for notifications; once per conversation."""


class Answered(msgspec.Struct, frozen=True):
    """The agent's answer to a request of ours."""

    reply: Reply


HostEvent: TypeAlias = Send | Called | Cancelled | Attached | Answered


class Host:
    """One agent. `specs` gives the tools of this moment."""

    def __init__(self, specs: Callable[[], Iterable[ToolSpec]]) -> None:
        self._specs = specs
        self._initialized = False
        self._attached = False
        self._open: set[RequestId] = set()
        self.agent_name = ""
        self.agent_pid: int | None = None
        self.revision = ""

    def receive(self, data: str | bytes) -> list[HostEvent]:
        """Never raises: what cannot be understood is refused or passed over, as MCP has it."""
        try:
            frame: Frame = decode_frame(data)
        except RemoteProtocolError as error:
            code = PARSE_ERROR if "not JSON" in str(error) else INVALID_REQUEST
            return [Send(encode_error(None, code, str(error)))]
        match frame:
            case Request():
                return self._request(frame)
            case Notification():
                return self._notification(frame)
            case Reply():
                return [Answered(frame)]

    def answered(self, number: RequestId) -> None:
        self._open.discard(number)

    def _request(self, request: Request) -> list[HostEvent]:
        match request.method:
            case "initialize":
                return [Send(encode_result(request.id, self._initialize(request.params)))]
            case "ping":
                return [Send(encode_result(request.id, {}))]
            case _ if not self._initialized:
                return [Send(encode_error(request.id, NOT_INITIALIZED, "initialize comes first"))]
            case "tools/list":
                listed: Json = {"tools": [encode_spec(spec) for spec in self._specs()]}
                return [Send(encode_result(request.id, listed)), *self._attach()]
            case "tools/call":
                return [*self._attach(), self._call(request)]
            case "prompts/list":
                return [Send(encode_result(request.id, {"prompts": []}))]
            case "resources/list":
                return [Send(encode_result(request.id, {"resources": []}))]
            case "resources/templates/list":
                return [Send(encode_result(request.id, {"resourceTemplates": []}))]
            case "logging/setLevel":
                return [Send(encode_result(request.id, {}))]
            case method:
                return [Send(encode_error(request.id, METHOD_NOT_FOUND, f"Method not found: {method[:80]}"))]

    def _initialize(self, params: Json) -> Json:
        self._initialized = True
        self.agent_name = str(as_object(params.get("clientInfo")).get("name", ""))[:80]
        self.revision = choose_revision(params.get("protocolVersion"))
        return {
            "protocolVersion": self.revision,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "weft", "version": __version__},
        }

    def _call(self, request: Request) -> HostEvent:
        name = request.params.get("name")
        offered = {spec.name for spec in self._specs()}
        if not isinstance(name, str) or name not in offered:
            return Send(encode_error(request.id, INVALID_PARAMS, f"Unknown tool: {str(name)[:80]}"))
        if request.id in self._open or len(self._open) >= MAX_CALLS:
            why = "this id is in use" if request.id in self._open else "too many calls at once"
            return Send(encode_error(request.id, INVALID_REQUEST, why))
        try:
            arguments = decode_arguments(BY_NAME[name], request.params.get("arguments"))
        except msgspec.ValidationError as error:
            return Send(encode_error(request.id, INVALID_PARAMS, f"{name}: {error}"))
        self._open.add(request.id)
        return Called(request.id, name, arguments)

    def _notification(self, notification: Notification) -> list[HostEvent]:
        match notification.method:
            case "ide_connected":
                pid = notification.params.get("pid")
                self.agent_pid = pid if isinstance(pid, int) else None
                return self._attach()
            case "notifications/cancelled":
                number = notification.params.get("requestId")
                if isinstance(number, str | int) and number in self._open:
                    self._open.discard(number)
                    return [Cancelled(number)]
                return []
            case _:
                return []

    def _attach(self) -> list[HostEvent]:
        if self._attached or not self._initialized:
            return []
        self._attached = True
        return [Attached()]
