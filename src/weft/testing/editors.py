"""Editors that answer as real ones were measured to: a VS Code extension and a Neovim plug-in.

They listen on the loopback with a lock file, like the real ones, and differ from each other in all that the
reference names: revisions, tool lists, shapes, errors, tabs. An agent must be at home with both.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import anyio
import msgspec

from weft.exits import ExitStack
from weft.ide.editors.headless.languages import language_of
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
    """What both have in common. `diffs` are pending by tab name; `decide` answers one as a person would. `select` is
    what the person marks; `dirty` are files with unsaved changes."""

    name = ""
    revision = ""
    tools: tuple[str, ...] = _TWELVE
    lock_extra: Mapping[str, object] = MappingProxyType({})
    lock_mode = 0o600
    refuses_before_the_upgrade = True

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.token = "f" * 32
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}
        self.diffs: dict[str, tuple[WebSocketStream, int, dict[str, Any]]] = {}
        self.called: list[str] = []
        self.opened: list[str] = [str(folder / "calc.py")]
        self.dirty: set[str] = set()
        self.selected: dict[str, Any] | None = None
        self._home = home
        self._streams: list[WebSocketStream] = []
        self._stack = ExitStack()

    async def __aenter__(self) -> Self:
        token = self.token if self.refuses_before_the_upgrade else None
        access = Access(token=token, headers=(AUTH_HEADER,), query=None)
        server = WebSocketServer(self._attend, access=access, subprotocols=(SUBPROTOCOL,), deflate=False)
        await self._stack.enter_async_context(server)
        self.port = server.port
        self.write_lock(self.token)
        self._stack.callback(self.lock_path.unlink)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    @property
    def lock_path(self) -> Path:
        return self._home / ".claude" / "ide" / f"{self.port}.lock"

    def write_lock(self, token: str) -> None:
        lock = {
            "pid": os.getpid(),
            "workspaceFolders": [str(self.folder)],
            "ideName": self.name,
            "transport": "ws",
            "authToken": token,
            **self.lock_extra,
        }
        self.lock_path.parent.mkdir(parents=True, exist_ok=True)
        self.lock_path.write_text(json.dumps(lock))
        self.lock_path.chmod(self.lock_mode)

    @property
    def clients(self) -> int:
        return len(self._streams)

    async def notify(self, method: str, params: Mapping[str, object]) -> None:
        for stream in self._streams:
            await self._send(stream, {"method": method, "params": dict(params)})

    async def select(self, path: str, text: str, start: tuple[int, int], end: tuple[int, int]) -> None:
        places = [{"line": line, "character": character} for line, character in (start, end)]
        marked = {"start": places[0], "end": places[1], "isEmpty": start == end}
        self.selected = {"text": text, "filePath": path, "fileUrl": to_uri(path), "selection": marked}
        await self.notify("selection_changed", self.selected)

    async def decide(self, *parts: str) -> None:
        """Answers the oldest pending diff."""
        tab = next(iter(self.diffs))
        stream, number, _ = self.diffs.pop(tab)
        await self._send(stream, {"id": number, "result": self.text(*(part or tab for part in parts))})

    def text(self, *parts: str) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": part} for part in parts]}

    def json(self, value: object) -> dict[str, Any]:
        return self.text(json.dumps(value, indent=2))

    # --- the conversation

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

    async def _close(self, tab: str) -> None:
        found = self.diffs.pop(tab, None)
        if found is not None:
            await self._send(found[0], {"id": found[1], "result": self.text("DIFF_REJECTED", tab)})

    async def _send(self, stream: WebSocketStream, message: Mapping[str, object]) -> None:
        await stream.send(json.dumps({"jsonrpc": "2.0", **message}))

    # --- the tools on whose answers both agree

    async def _tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        match name:
            case "getCurrentSelection":
                if self.selected is None:
                    return self.json({"success": False, "message": "No active editor found"})
                return self.json({"success": True, **self.selected})
            case "getLatestSelection":
                return self.json(self.selected or {"success": False, "message": "No selection available"})
            case "getOpenEditors":
                return self.json({"tabs": [self._tab(path) for path in self.opened]})
            case "checkDocumentDirty" | "saveDocument":
                return self.json(self._one_file(name, arguments["filePath"]))
            case "closeAllDiffTabs":
                count = len(self.diffs)
                for tab in list(self.diffs):
                    await self._close(tab)
                return self.text(f"CLOSED_{count}_DIFF_TABS")
            case _:
                raise Refused(-32601, f"Tool not found: {name}")

    def _one_file(self, name: str, path: str) -> dict[str, Any]:
        if path not in self.opened:
            return {"success": False, "message": f"Document not open: {path}"}
        if name == "checkDocumentDirty":
            return {"success": True, "filePath": path, "isDirty": path in self.dirty, "isUntitled": False}
        self.dirty.discard(path)
        return {"success": True, "filePath": path, "saved": True, "message": "Document saved successfully"}

    def _tab(self, path: str) -> dict[str, Any]:
        active = path == self.opened[-1]
        tab: dict[str, Any] = {
            "uri": to_uri(path),
            "isActive": active,
            "isPinned": False,
            "isPreview": False,
            "isDirty": path in self.dirty,
            "label": Path(path).name,
            "groupIndex": 0,
            "viewColumn": 1,
            "isGroupActive": True,
            "fileName": path,
            "languageId": language_of(path),
            "lineCount": Path(path).read_text().count("\n") + 1,
            "isUntitled": False,
        }
        if active and self.selected is not None:
            tab["selection"] = self.selected["selection"]
        return tab

    def _opened(self, path: str) -> dict[str, Any]:
        """The four keys of a file that was opened behind the others."""
        lines = Path(path).read_text().count("\n")
        return {"success": True, "filePath": path, "languageId": language_of(path), "lineCount": lines}

    def _folder(self) -> dict[str, Any]:
        return {"name": self.folder.name, "uri": to_uri(str(self.folder)), "path": str(self.folder)}


class MeasuredVsCode(MeasuredEditor):
    """VS Code's official extension 1.0.109: pretty JSON, `isError` results, `startText` and `endText` required. It has
    one client: a second one takes the place of the first. A wrong token is let in, and closed with 1008."""

    name = "Visual Studio Code"
    revision = "2025-06-18"
    lock_extra: Mapping[str, object] = MappingProxyType({"runningInWindows": False})
    lock_mode = 0o644
    refuses_before_the_upgrade = False

    async def _attend(self, stream: WebSocketStream) -> None:
        given = {name.lower(): value for name, value in stream.headers.items()}
        if given.get(AUTH_HEADER) != self.token:
            await stream.close(1008, "Unauthorized")
            return
        for other in tuple(self._streams):
            await other.close(1000, "")
        await super()._attend(stream)

    async def _answer(
        self, stream: WebSocketStream, number: int, method: str, params: dict[str, Any]
    ) -> dict[str, Any] | None:
        return {} if method == "ping" else await super()._answer(stream, number, method, params)

    async def _tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        match name:
            case "openFile":
                return await self._open(arguments)
            case "getWorkspaceFolders":
                folders = [{**self._folder(), "index": 0}]
                root = str(self.folder)
                return self.json({"success": True, "folders": folders, "rootPath": root, "workspaceFile": None})
            case "getDiagnostics":
                uris = [arguments["uri"]] if arguments.get("uri") else list(self.diagnostics)
                return self.json([{"uri": uri, "diagnostics": self.diagnostics.get(uri, [])} for uri in uris])
            case "close_tab":
                await self._close(arguments["tab_name"])
                return self.text("TAB_CLOSED")
            case "executeCode":
                return self.text("No active notebook editor found.")
            case _:
                return await super()._tool(name, arguments)

    async def _open(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if "startText" not in arguments or "endText" not in arguments:
            raise Refused(-32602, "startText and endText are required")
        path: str = arguments["filePath"]
        if not await anyio.Path(path).exists():
            return {**self.text(f"File not found: {path}"), "isError": True}
        self.opened = [*(each for each in self.opened if each != path), path]
        said = f"Opened file: {path}"
        if arguments.get("makeFrontmost", True):
            return self.text(said)
        found = self._opened(path)
        more = {"isDirty": path in self.dirty, "isUntitled": False, "isClosed": False}
        lines = {"lineCount": found["lineCount"] + 1}
        return self.json({**found, "fileUrl": to_uri(path), "message": said, **lines, **more})


class MeasuredNeovim(MeasuredEditor):
    """claudecode.nvim 0.2.0: escaped slashes, JSON-RPC errors, `close_tab` unlisted, diffs found by their signs. It has
    many clients, knows no ping, and closes the diffs of one that goes away."""

    name = "Neovim"
    revision = "2024-11-05"
    tools = tuple(name for name in _TWELVE if name not in ("executeCode", "close_tab"))

    def json(self, value: object) -> dict[str, Any]:
        return self.text(json.dumps(value).replace("/", "\\/"))

    async def _attend(self, stream: WebSocketStream) -> None:
        try:
            await super()._attend(stream)
        finally:
            self.diffs = {tab: found for tab, found in self.diffs.items() if found[0] is not stream}

    async def _tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        match name:
            case "openFile":
                path: str = arguments["filePath"]
                if not await anyio.Path(path).exists():
                    raise Refused(-32000, "File not found")
                self.opened = [*(each for each in self.opened if each != path), path]
                in_front = arguments.get("makeFrontmost", True)
                return self.text(f"Opened file: {path}") if in_front else self.json(self._opened(path))
            case "getWorkspaceFolders":
                return self.json({"success": True, "folders": [self._folder()], "rootPath": str(self.folder)})
            case "getDiagnostics":
                uri = arguments.get("uri")
                if uri and uri not in self.diagnostics:
                    raise Refused(-32001, f"File not open: {to_path(uri)}")
                uris = [uri] if uri else list(self.diagnostics)
                return self.json([{"uri": each, "diagnostics": self.diagnostics[each]} for each in uris])
            case "close_tab":
                tab = arguments["tab_name"]
                if "✻" not in tab or "⧉" not in tab:
                    return {}
                await self._close(tab)
                return self.text("TAB_CLOSED")
            case _:
                return await super()._tool(name, arguments)
