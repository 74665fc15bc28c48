"""The editor's end of one conversation, without I/O.

MCP's lifecycle: initialize, `notifications/initialized`, then tools. Real agents also say `ide_connected` with their
pid. Whatever can be answered from here is answered; tool calls come out as events.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias, assert_never

import msgspec

from weft import __version__
from weft.protocols.ide import choose_revision
from weft.protocols.ide.catalogue import BY_NAME, AnyArguments, ToolSpec, decode_arguments, encode_spec
from weft.protocols.ide.notices import as_object
from weft.protocols.jsonrpc import INVALID_PARAMS, Id, Invalid, Notification, Peer, Request, Response
from weft.schema.content import Json

NOT_INITIALIZED = -32002
MAX_CALLS = 256
"""Tool calls of one agent that may wait at once."""


class Send(msgspec.Struct, frozen=True):
    """A message to be sent."""

    message: Json


class Called(msgspec.Struct, frozen=True):
    """A tool is asked for; answer with `result` or `error`."""

    id: Id
    name: str
    arguments: AnyArguments


class Cancelled(msgspec.Struct, frozen=True):
    """The agent no longer waits for this call: it gets no answer."""

    id: Id


class Attached(msgspec.Struct, frozen=True):
    """The agent is ready for notifications; once per conversation."""


class Answered(msgspec.Struct, frozen=True):
    """The agent's answer to a request of ours."""

    response: Response


HostEvent: TypeAlias = Send | Called | Cancelled | Attached | Answered


class Host:
    """One agent. `specs` gives the tools of this moment."""

    def __init__(self, specs: Callable[[], Iterable[ToolSpec]]) -> None:
        self._specs = specs
        self._peer = Peer(max_open=MAX_CALLS, lenient=True)
        self._initialized = False
        self._attached = False
        self.agent_name = ""
        self.agent_pid: int | None = None
        self.revision = ""

    def receive(self, data: str | bytes) -> list[HostEvent]:
        """Never raises: what cannot be understood is refused or passed over."""
        incoming = self._peer.receive_bytes(data)
        match incoming:
            case Request():
                return self._request(incoming)
            case Notification():
                return self._notification(incoming)
            case Response():
                return [Answered(incoming)]
            case Invalid(reply=reply):
                return [] if reply is None else [Send(reply)]
        assert_never(incoming)

    def request(self, method: str, params: Json | None = None) -> tuple[Id, Json]:
        return self._peer.request(method, params)

    def result(self, id: Id, result: Json) -> Json:
        return self._peer.result(id, result)

    def error(self, id: Id, code: int, message: str) -> Json:
        return self._peer.error(id, code, message)

    def _request(self, request: Request) -> list[HostEvent]:
        params = as_object(request.params)
        match request.method:
            case "initialize":
                return [Send(self._peer.result(request.id, self._initialize(params)))]
            case "ping" | "logging/setLevel":
                return [Send(self._peer.result(request.id, {}))]
            case _ if not self._initialized:
                return [Send(self._peer.error(request.id, NOT_INITIALIZED, "initialize comes first"))]
            case "tools/list":
                listed: Json = {"tools": [encode_spec(spec) for spec in self._specs()]}
                return [Send(self._peer.result(request.id, listed)), *self._attach()]
            case "tools/call":
                return [*self._attach(), self._call(request.id, params)]
            case "prompts/list":
                return [Send(self._peer.result(request.id, {"prompts": []}))]
            case "resources/list":
                return [Send(self._peer.result(request.id, {"resources": []}))]
            case _:
                return [Send(self._peer.not_found(request.id))]

    def _initialize(self, params: Json) -> Json:
        self._initialized = True
        self.agent_name = str(as_object(params.get("clientInfo")).get("name", ""))[:80]
        self.revision = choose_revision(params.get("protocolVersion"))
        return {
            "protocolVersion": self.revision,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "weft", "version": __version__},
        }

    def _call(self, id: Id, params: Json) -> HostEvent:
        name = params.get("name")
        offered = {spec.name for spec in self._specs()}
        if not isinstance(name, str) or name not in offered:
            return Send(self._peer.error(id, INVALID_PARAMS, f"Unknown tool: {str(name)[:80]}"))
        try:
            arguments = decode_arguments(BY_NAME[name], params.get("arguments"))
        except msgspec.ValidationError as error:
            return Send(self._peer.error(id, INVALID_PARAMS, f"{name}: {error}"))
        return Called(id, name, arguments)

    def _notification(self, notification: Notification) -> list[HostEvent]:
        params = as_object(notification.params)
        match notification.method:
            case "ide_connected":
                pid = params.get("pid")
                self.agent_pid = pid if isinstance(pid, int) else None
                return self._attach()
            case "notifications/cancelled":
                number = params.get("requestId")
                if isinstance(number, str | int) and self._peer.drop(number):
                    return [Cancelled(number)]
                return []
            case _:
                return []

    def _attach(self) -> list[HostEvent]:
        if self._attached or not self._initialized:
            return []
        self._attached = True
        return [Attached()]
