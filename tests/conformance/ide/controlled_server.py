"""Weft's IDE server behind a control socket: what a test says on the socket, the person at the editor does.

    controlled_server.py --home HOME --workspace DIR --log frames.jsonl --ctl ctl.sock [flags]

Prints its port. The log has one JSON object per frame and event. A connection to the control socket sends one JSON
object and gets one back:

    {"notify": METHOD, "params": {…}}      a notification to every agent
    {"request": METHOD, "params": {…}}     a request to every agent
    {"resolve_text": […]} {"resolve": {…}} {"error": {…}}   the answer to the oldest pending diff, whatever it is
    {"set": {"diff": …, "diagnostics": …, "delay": {tool: seconds}}}
    {"drop": true} {"abort": true} {"wsping": true} {"raw": TEXT} {"state": true}

Answers that our server would never give are made here, in front of it: they test the agent, not us.
"""

import argparse
import json
import signal
import time
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.lockfile import LockFile
from weft.ide.port import Diff
from weft.ide.server import IdeServer
from weft.ide.tools import Toolbox
from weft.protocols.ide import results
from weft.protocols.ide.catalogue import AnyArguments, GetDiagnostics, OpenDiff
from weft.protocols.ide.lock import Lock
from weft.protocols.ide.values import Accepted, Rejected
from weft.transports.websocket import WebSocketStream

PERSON = 1.5
"""What a test has to say between the questions for problems before and after an edit is awaited for so long. The real
command asks the second one 0.1 s after the first was answered, and waits 2 s for it: a test that looks for the first
one in the log ten times a second would come too late every other time."""


class ControlledToolbox(Toolbox):
    """The real tools, with a test's hand on the slow, the odd and the wrong."""

    def __init__(self, editor: HeadlessEditor) -> None:
        super().__init__(editor)
        self.settings: dict[str, Any] = {"diff": "hold", "diagnostics": None, "delay": {}}
        self.odd: dict[str, dict[str, Any]] = {}
        self.spoken = anyio.Event()

    async def call(self, agent: Hashable, name: str, arguments: AnyArguments) -> dict[str, Any]:
        if name in self.settings["delay"]:
            await anyio.sleep(self.settings["delay"][name])
        if isinstance(arguments, GetDiagnostics) and self.settings["diagnostics"] is not None:
            if arguments.uri:
                self.spoken = anyio.Event()
            else:
                with anyio.move_on_after(PERSON):
                    await self.spoken.wait()
            found = self.settings["diagnostics"]
            if isinstance(found, dict):
                found = [{"uri": u, "diagnostics": d} for u, d in found.items() if arguments.uri in (None, u)]
            return results.encode_json(found)
        if isinstance(arguments, OpenDiff):
            return await self._diff(agent, name, arguments)
        return await super().call(agent, name, arguments)

    async def _diff(self, agent: Hashable, name: str, arguments: OpenDiff) -> dict[str, Any]:
        if self.settings["diff"] != "hold":
            chosen = self.settings["diff"]
            return results.text(chosen, arguments.new_file_contents) if chosen == "FILE_SAVED" else results.text(chosen)
        answer = await super().call(agent, name, arguments)
        odd = self.odd.pop(arguments.tab_name, None)
        if odd is not None and "error" in odd:
            raise RuntimeError("a test wants a JSON-RPC error")
        return answer if odd is None else odd

    def answer(self, diff: Diff, line: dict[str, Any]) -> None:
        """Our own answer where it is one that we give; anything else goes out as it is."""
        parts = line.get("resolve_text")
        if parts and parts[0] == "FILE_SAVED" and len(parts) == 2:
            self.diffs.decide(diff.id, Accepted(parts[1]))
        elif parts == ["DIFF_REJECTED", diff.title]:
            self.diffs.decide(diff.id, Rejected())
        else:
            self.odd[diff.title] = results.text(*parts) if parts else line.get("resolve") or {"error": line["error"]}
            self.diffs.decide(diff.id, Rejected())


class ControlledServer(IdeServer):
    """Keeps the sockets for dropping, and logs what passes."""

    def __init__(self, editor: HeadlessEditor, options: argparse.Namespace, **kwargs: Any) -> None:
        super().__init__(editor, tap=self._log_frame, **kwargs)
        self.options = options
        self.sockets: dict[int, Any] = {}
        self.began = time.time()

    def write_log(self, direction: str, frame: object, **more: object) -> None:
        line = {"t": round(time.time() - self.began, 3), "dir": direction, **more, "frame": frame}
        with open(self.options.log, "a") as file:
            file.write(json.dumps(line) + "\n")

    def _log_frame(self, direction: str, frame: str) -> None:
        try:
            value = json.loads(frame)
        except ValueError:
            value = frame
        self.write_log("cli->ide" if direction == "<" else "ide->cli", value)

    async def _attend(self, stream: WebSocketStream) -> None:
        self.write_log("event", "open", headers=dict(stream.headers), subprotocol=stream.subprotocol, path=stream.path)
        socket = stream._socket
        self.sockets[id(stream)] = socket
        try:
            if self.options.mute:
                while await stream.receive() is not None:
                    pass
            else:
                await super()._attend(stream)
        finally:
            del self.sockets[id(stream)]
            self.write_log("event", "close", code=socket.close_code, reason=socket.close_reason)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", required=True)
    parser.add_argument("--workspace", action="append", default=[])
    parser.add_argument("--log", required=True)
    parser.add_argument("--ctl", required=True)
    parser.add_argument("--ide-name", default="FakeIDE")
    parser.add_argument("--pid", type=int)
    parser.add_argument("--no-lock", action="store_true")
    parser.add_argument("--bad-token", action="store_true")
    parser.add_argument("--mute", action="store_true")
    parser.add_argument("--config-dir")
    parser.add_argument("--subprotocol", default="mcp")
    parser.add_argument("--lock-extra", default="{}")
    return parser.parse_args()


def alter_lock(home: Path, lock: Lock, fields: Mapping[str, object], *, remove: bool = False) -> None:
    """The lock files of discovery tests: editors that died, that hide, or that lie."""
    path = LockFile(home, lock).path
    value = {**json.loads(path.read_text()), **fields}
    path.write_text(json.dumps({key: item for key, item in value.items() if item != "absent"}))
    if remove or fields.get("gone"):
        path.unlink()


def asked_fields(options: argparse.Namespace) -> dict[str, object]:
    fields: dict[str, object] = json.loads(options.lock_extra)
    if options.pid is not None:
        fields.setdefault("pid", options.pid)
    if options.bad_token:
        fields["authToken"] = "0" * 36
    return fields


async def control(server: ControlledServer, toolbox: ControlledToolbox, line: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"ok": True}
    for agent in server.agents:
        if "notify" in line:
            agent.notify(line["notify"], line.get("params", {}))
        if "request" in line:
            agent.request(line["request"], line.get("params", {}))
        if "raw" in line:
            agent.send_raw(line["raw"])
    if {"resolve", "resolve_text", "error"} & line.keys():
        pending = toolbox.diffs.pending()
        if pending:
            toolbox.answer(pending[0], line)
        else:
            answer = {"ok": False, "why": "nothing pending"}
    toolbox.settings.update(line.get("set", {}))
    if "set" in line:
        toolbox.spoken.set()
    for socket in list(server.sockets.values()):
        if line.get("drop"):
            await socket.close(line.get("code", 1001), "drop")
        if line.get("abort"):
            socket.transport.abort()
        if line.get("wsping"):
            answer["rtt"] = 0.0 if await WebSocketStream(socket).ping(timeout=5) else None
    answer["peers"] = len(server.agents)
    answer["pending"] = [
        {
            "id": diff.id,
            "args": {
                "old_file_path": diff.path,
                "new_file_path": diff.path,
                "new_file_contents": diff.after,
                "tab_name": diff.title,
            },
        }
        for diff in toolbox.diffs.pending()
    ]
    return answer


async def main() -> None:
    options = read_options()
    folders = [Path(folder) for folder in options.workspace]
    home = Path(options.config_dir or Path(options.home) / ".claude")
    async with HeadlessEditor(folders, name=options.ide_name, servers=()) as editor:
        toolbox = ControlledToolbox(editor)
        server = ControlledServer(editor, options, home=home, toolbox=toolbox)
        if options.subprotocol != "mcp":
            server.subprotocols = ()
        async with server, anyio.create_task_group() as group:
            alter_lock(home, server.lock, asked_fields(options), remove=options.no_lock)

            async def serve(stream: anyio.abc.SocketStream) -> None:
                async with stream:
                    line = json.loads(await stream.receive(1 << 20))
                    await stream.send(json.dumps(await control(server, toolbox, line)).encode() + b"\n")

            listener = await anyio.create_unix_listener(options.ctl)
            group.start_soon(listener.serve, serve)
            print(server.port, flush=True)  # noqa: T201
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    break
            group.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
