"""The client's end of the Language Server Protocol, without I/O, over plain dicts.

Only what diagnostics need: framing, initialize, document sync with whole texts, pushed and pulled diagnostics.
Servers ask their client for settings and registrations; those requests are answered here.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias, cast

import msgspec

from weft import __version__
from weft.errors import RemoteProtocolError
from weft.protocols.ide.answers import decode_severity
from weft.protocols.ide.notices import as_object, decode_position
from weft.protocols.ide.values import Diagnostic
from weft.schema.content import Json

MAX_FRAME = 64 << 20
MAX_HEADER = 8192


class Framing:
    """`Content-Length` frames out of a byte stream, however it is cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Json]:
        """
        Raises:
            RemoteProtocolError: no length, too long, or not a JSON object.
        """
        self._buffer += data
        found: list[Json] = []
        while (message := self._next()) is not None:
            found.append(message)
        return found

    def _next(self) -> Json | None:
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            if len(self._buffer) > MAX_HEADER:
                raise RemoteProtocolError("the language server sent no frame header")
            return None
        length = _content_length(bytes(self._buffer[:head]))
        start = head + 4
        if len(self._buffer) < start + length:
            return None
        body = bytes(self._buffer[start : start + length])
        del self._buffer[: start + length]
        try:
            value = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RemoteProtocolError(f"the language server sent a frame that is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise RemoteProtocolError("the language server sent a frame that is not an object")
        return cast("Json", value)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
            if length <= MAX_FRAME:
                return length
    raise RemoteProtocolError("the language server sent a frame without a usable length")


def encode_frame(message: Json) -> bytes:
    body = msgspec.json.encode(message)
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Replied(msgspec.Struct, frozen=True):
    """The answer to a request of ours; `error` is the server's sentence."""

    id: int
    result: object = None
    error: str | None = None


class Published(msgspec.Struct, frozen=True):
    """Pushed diagnostics. `version` is that of the text they are about, when the server says."""

    uri: str
    version: int | None
    diagnostics: tuple[Diagnostic, ...]


class RefreshAsked(msgspec.Struct, frozen=True):
    """Pulled diagnostics are out of date, or the server now wants to be asked."""


LspEvent: TypeAlias = Replied | Published | RefreshAsked


class LspClient:
    """One server. Methods return the bytes to send; `feed` returns events and the bytes of answers."""

    def __init__(self, *, root_uri: str, pid: int | None, settings: Json | None = None) -> None:
        self._framing = Framing()
        self._root_uri = root_uri
        self._pid = pid
        self._settings = settings or {}
        self._next_id = 0
        self._versions: dict[str, int] = {}
        self.pulls = False
        """Whether the server wants to be asked for diagnostics; known after initialize."""

    def initialize(self) -> tuple[int, bytes]:
        folder = {"uri": self._root_uri, "name": self._root_uri.rsplit("/", 1)[-1]}
        return self.request(
            "initialize",
            {
                "processId": self._pid,
                "clientInfo": {"name": "weft", "version": __version__},
                "rootUri": self._root_uri,
                "workspaceFolders": [folder],
                "capabilities": {
                    "general": {"positionEncodings": ["utf-16"]},
                    "textDocument": {
                        "synchronization": {"didSave": True},
                        "publishDiagnostics": {"versionSupport": True, "relatedInformation": False},
                        "diagnostic": {"dynamicRegistration": True},
                    },
                    "workspace": {
                        "configuration": True,
                        "workspaceFolders": True,
                        "didChangeConfiguration": {"dynamicRegistration": True},
                        "diagnostics": {"refreshSupport": True},
                    },
                    "window": {"workDoneProgress": True},
                },
                "initializationOptions": self._settings,
            },
        )

    def initialized(self, result: object) -> bytes:
        """Call with the result of initialize, then send what comes back."""
        capabilities = as_object(as_object(result).get("capabilities"))
        self.pulls = bool(capabilities.get("diagnosticProvider"))
        return self.notify("initialized", {})

    def open(self, uri: str, language: str, text: str) -> bytes:
        self._versions[uri] = 1
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        return self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, text: str) -> bytes:
        self._versions[uri] = version = self._versions.get(uri, 1) + 1
        return self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]},
        )

    def save(self, uri: str) -> bytes:
        return self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> bytes:
        self._versions.pop(uri, None)
        return self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def version(self, uri: str) -> int:
        """The version of the text that the server was given last; 0 when it is not open."""
        return self._versions.get(uri, 0)

    def pull(self, uri: str) -> tuple[int, bytes]:
        return self.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})

    def shutdown(self) -> bytes:
        return self.request("shutdown", None)[1] + self.notify("exit", None)

    def request(self, method: str, params: object) -> tuple[int, bytes]:
        self._next_id += 1
        return self._next_id, encode_frame(_message(id=self._next_id, method=method, params=params))

    def notify(self, method: str, params: object) -> bytes:
        return encode_frame(_message(method=method, params=params))

    def feed(self, data: bytes) -> tuple[list[LspEvent], bytes]:
        """
        Raises:
            RemoteProtocolError: the server broke the framing; it cannot be used any further.
        """
        events: list[LspEvent] = []
        answers = bytearray()
        for message in self._framing.feed(data):
            method, number = message.get("method"), message.get("id")
            if isinstance(method, str) and number is not None:
                pulled = self.pulls
                answers += encode_frame(self._answer(number, method, as_object(message.get("params"))))
                if method == "workspace/diagnostic/refresh" or self.pulls != pulled:
                    events.append(RefreshAsked())
            elif method == "textDocument/publishDiagnostics":
                events.append(_published(as_object(message.get("params"))))
            elif isinstance(number, int) and method is None:
                error = message.get("error")
                said = str(as_object(error).get("message", "error")) if error is not None else None
                events.append(Replied(number, message.get("result"), said))
        return events, bytes(answers)

    def _answer(self, number: object, method: str, params: Json) -> Json:
        if method == "workspace/configuration":
            items = params.get("items")
            sections = cast("list[object]", items) if isinstance(items, list) else []
            return {"jsonrpc": "2.0", "id": number, "result": [self._section(item) for item in sections]}
        if method == "client/registerCapability":
            registered = params.get("registrations")
            for item in cast("list[object]", registered) if isinstance(registered, list) else []:
                self.pulls = self.pulls or as_object(item).get("method") == "textDocument/diagnostic"
            return {"jsonrpc": "2.0", "id": number, "result": None}
        if method == "workspace/workspaceFolders":
            return {"jsonrpc": "2.0", "id": number, "result": [{"uri": self._root_uri, "name": "root"}]}
        if method == "workspace/applyEdit":
            return {"jsonrpc": "2.0", "id": number, "result": {"applied": False}}
        if method.startswith(("window/", "client/", "workspace/")):
            return {"jsonrpc": "2.0", "id": number, "result": None}
        return {"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": f"no such method: {method}"}}

    def _section(self, item: object) -> object:
        name = as_object(item).get("section")
        value: object = self._settings
        for key in name.split(".") if isinstance(name, str) and name else []:
            value = as_object(value).get(key)
        return value


def _message(*, method: str, params: object, id: int | None = None) -> Json:
    message: Json = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message["id"] = id
    if params is not None:
        message["params"] = params
    return message


def _published(params: Json) -> Published:
    version = params.get("version")
    return Published(
        uri=str(params.get("uri", "")),
        version=version if isinstance(version, int) else None,
        diagnostics=decode_diagnostics(params.get("diagnostics")),
    )


def decode_pulled(result: object) -> tuple[Diagnostic, ...] | None:
    """The items of a pulled report; None for "unchanged"."""
    report = as_object(result)
    return None if report.get("kind") == "unchanged" else decode_diagnostics(report.get("items"))


def decode_diagnostics(value: object) -> tuple[Diagnostic, ...]:
    items: Iterable[object] = cast("list[Any]", value) if isinstance(value, list) else ()
    return tuple(_diagnostic(cast("Json", item)) for item in items if isinstance(item, dict))


def _diagnostic(item: Json) -> Diagnostic:
    span = as_object(item.get("range"))
    code, source = item.get("code"), item.get("source")
    return Diagnostic(
        message=str(item.get("message", "")),
        severity=decode_severity(item.get("severity", 1)),
        start=decode_position(span.get("start")),
        end=decode_position(span.get("end")),
        code=str(code) if isinstance(code, str | int) else None,
        source=source if isinstance(source, str) else None,
    )
