"""Editors that answer as real ones were measured to: a VS Code extension and a Neovim plug-in.

They listen on the loopback with a lock file, like the real ones, and differ from each other in all that the
reference names: revisions, tool lists, shapes, errors, tabs. An agent must be at home with both.
"""

import json
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import anyio
import anyio.abc
import msgspec

from weft.protocols.ide import AUTH_HEADER, SUBPROTOCOL
from weft.protocols.ide.uris import to_path, to_uri
from weft.transports.websocket import Access, WebSocketServer, WebSocketStream

_TWELVE = (
    "openFile",
    "openDiff",
    "getCurrentSelection",
    "getLatestSelection",
    "getOpenEditors",
    "getWorkspaceFolders",
    "getDiagnostics",
    "checkDocumentDirty",
    "saveDocument",
    "close_tab",
    "closeAllDiffTabs",
    "executeCode",
)


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class MeasuredEditor:
    """What both have in common. `diffs` are pending by tab name; `decide` answers one as a person would."""

    name = ""
    revision = ""
    tools: tuple[str, ...] = _TWELVE
    lock_extra: Mapping[str, object] = MappingProxyType({})
    lock_mode = 0o600

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.token = "f" * 32
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}
        self.diffs: dict[str, tuple[WebSocketStream, int, dict[str, Any]]] = {}
        self.called: list[str] = []
        self._home = home
        self._streams: list[WebSocketStream] = []
        self._stack = AsyncExitStack()
        self._group: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        access = Access(token=self.token, headers=(AUTH_HEADER,), query=None)
        server = WebSocketServer(self._attend, access=access, subprotocols=(SUBPROTOCOL,), deflate=False)
        await self._stack.enter_async_context(server)
        self.port = server.port
        lock = {
            "pid": os.getpid(),
            "workspaceFolders": [str(self.folder)],
            "ideName": self.name,
            "transport": "ws",
            "authToken": self.token,
            **self.lock_extra,
        }
        path = self._home / ".claude" / "ide" / f"{server.port}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(lock))
        path.chmod(self.lock_mode)
        self._stack.callback(path.unlink)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def notify(self, method: str, params: Mapping[str, object]) -> None:
        for stream in self._streams:
            await self._send(stream, {"method": method, "params": dict(params)})

    async def decide(self, *parts: str) -> None:
        """Answers the oldest pending diff."""
        tab = next(iter(self.diffs))
        stream, number, _ = self.diffs.pop(tab)
        await self._send(stream, {"id": number, "result": self.text(*(part or tab for part in parts))})

    def text(self, *parts: str) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": part} for part in parts]}

    def json(self, value: object) -> dict[str, Any]:
        return self.text(json.dumps(value, indent=2))

    async def _attend(self, stream: WebSocketStream) -> None:
        self._streams.append(stream)
        try:
            while (data := await stream.receive()) is not None:
                await self._handle(stream, msgspec.json.decode(data))
        finally:
            self._streams.remove(stream)

    async def _handle(self, stream: WebSocketStream, message: dict[str, Any]) -> None:
        if "id" not in message or "method" not in message:
            return
        params: dict[str, Any] = message.get("params") or {}
        try:
            result = await self._answer(stream, message["id"], message["method"], params)
        except Refused as error:
            reply: dict[str, Any] = {"error": {"code": error.code, "message": str(error)}}
        else:
            if result is None:
                return
            reply = {"result": result}
        await self._send(stream, {"id": message["id"], **reply})

    async def _answer(
        self, stream: WebSocketStream, number: int, method: str, params: dict[str, Any]
    ) -> dict[str, Any] | None:
        if method == "initialize":
            info = {"name": self.name, "version": "0"}
            return {"protocolVersion": self.revision, "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]}
        if method == "tools/call":
            name: str = params["name"]
            arguments: dict[str, Any] = params.get("arguments") or {}
            self.called.append(name)
            if name == "openDiff":
                self.diffs[arguments["tab_name"]] = (stream, number, arguments)
                return None
            return await self._tool(name, arguments)
        raise Refused(-32601, f"Method not found: {method}")

    async def _tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    async def _close(self, tab: str) -> None:
        found = self.diffs.pop(tab, None)
        if found is not None:
            await self._send(found[0], {"id": found[1], "result": self.text("DIFF_REJECTED", tab)})

    async def _send(self, stream: WebSocketStream, message: Mapping[str, object]) -> None:
        await stream.send(json.dumps({"jsonrpc": "2.0", **message}))


class MeasuredVsCode(MeasuredEditor):
    """VS Code's official extension 1.0.109: pretty JSON, `isError` results, `startText` and `endText` required."""

    name = "Visual Studio Code"
    revision = "2025-06-18"
    lock_extra: Mapping[str, object] = MappingProxyType({"runningInWindows": False})
    lock_mode = 0o644

    async def _tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        match name:
            case "openFile":
                if "startText" not in arguments or "endText" not in arguments:
                    raise Refused(-32602, "startText and endText are required")
                if not await anyio.Path(arguments["filePath"]).exists():
                    return {**self.text(f"File not found: {arguments['filePath']}"), "isError": True}
                return self.text(f"Opened file: {arguments['filePath']}")
            case "getDiagnostics":
                uris = [arguments["uri"]] if arguments.get("uri") else list(self.diagnostics)
                return self.json([{"uri": uri, "diagnostics": self.diagnostics.get(uri, [])} for uri in uris])
            case "getOpenEditors":
                path = str(self.folder / "calc.py")
                tab = {"uri": to_uri(path), "fileName": path, "label": "calc.py", "isActive": True, "isDirty": True}
                return self.json({"tabs": [tab]})
            case "close_tab":
                await self._close(arguments["tab_name"])
                return self.text("TAB_CLOSED")
            case "closeAllDiffTabs":
                count = len(self.diffs)
                for tab in list(self.diffs):
                    await self._close(tab)
                return self.text(f"CLOSED_{count}_DIFF_TABS")
            case "executeCode":
                return self.text("No active notebook editor found.")
            case _:
                return self.json({"success": False, "message": "not available"})


class MeasuredNeovim(MeasuredEditor):
    """claudecode.nvim 0.2.0: escaped slashes, JSON-RPC errors, `close_tab` unlisted, diffs found by their signs."""

    name = "Neovim"
    revision = "2024-11-05"
    tools = tuple(name for name in _TWELVE if name not in ("executeCode", "close_tab"))

    def json(self, value: object) -> dict[str, Any]:
        return self.text(json.dumps(value).replace("/", "\\/"))

    async def _tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        match name:
            case "openFile":
                if not await anyio.Path(arguments["filePath"]).exists():
                    raise Refused(-32000, "File not found")
                return self.text(f"Opened file: {arguments['filePath']}")
            case "getDiagnostics":
                uri = arguments.get("uri")
                if uri and uri not in self.diagnostics:
                    raise Refused(-32001, f"File not open: {to_path(uri)}")
                uris = [uri] if uri else list(self.diagnostics)
                return self.json([{"uri": each, "diagnostics": self.diagnostics[each]} for each in uris])
            case "getOpenEditors":
                tab = {"uri": to_uri(str(self.folder / "calc.py")), "isActive": True, "isDirty": False}
                return self.json({"tabs": [tab]})
            case "close_tab":
                tab = arguments["tab_name"]
                if "✻" not in tab or "⧉" not in tab:
                    return {}
                await self._close(tab)
                return self.text("TAB_CLOSED")
            case "closeAllDiffTabs":
                count = len(self.diffs)
                for tab in list(self.diffs):
                    await self._close(tab)
                return self.text(f"CLOSED_{count}_DIFF_TABS")
            case "executeCode":
                raise Refused(-32601, "Tool not found: executeCode")
            case _:
                return self.json({"success": False, "message": "not available"})
