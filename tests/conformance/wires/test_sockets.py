"""Faults on the WebSockets between our own parts: what is asked ends, what was missed comes again."""

import contextlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import msgspec
import pytest
import websockets

from tests.conformance.acp.stage import staged
from tests.conformance.wires.test_wires import ends
from tests.integration.ide.desk import CALC
from tests.integration.web.hosting import Served, served
from weft.connect.acp.connection import AcpConnection
from weft.connect.acp.options import AcpOptions
from weft.connect.acp.start import SocketAgent
from weft.errors import WeftError, WorkspaceError
from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.server import IdeServer
from weft.protocols.ide.answers import decode_json
from weft.schema.commands import Prompt
from weft.testing.connection import Stage
from weft.testing.faulty_socket import FaultySocket
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import find_locks

SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
async def test_between_an_acp_client_and_the_agents_port(seed: int, tmp_path: Path):
    with anyio.fail_after(120):
        async with staged(tmp_path) as stage, stage.listening() as url:
            port = urlsplit(url).port
            assert port is not None
            options = AcpOptions(cwd=stage.work)
            async with FaultySocket(port, seed=seed) as relay:
                for _ in range(3):
                    with contextlib.suppress(WeftError):
                        async with AcpConnection(
                            SocketAgent(url.replace(str(port), str(relay.port))), options
                        ) as spoiled:
                            while (end := await ends(spoiled, "STREAM please")) and end.reason != "completed":
                                assert end.error, end
            async with AcpConnection(SocketAgent(url), options) as connection:
                end = await ends(connection, "STREAM again")
                assert end is not None and end.reason == "completed"


@pytest.mark.parametrize("seed", SEEDS)
async def test_between_an_agent_and_its_editor(seed: int, tmp_path: Path):
    (tmp_path / "calc.py").write_text(CALC)
    with anyio.fail_after(120):
        async with HeadlessEditor([tmp_path], servers=(), kernel=False) as editor:
            async with IdeServer(editor, home=Path.home() / ".claude", keep=Path.home() / ".weft") as server:
                (found,) = find_locks()
                async with FaultySocket(server.port, seed=seed) as relay:
                    lock = msgspec.structs.replace(found.lock, port=relay.port)
                    spoiled = msgspec.structs.replace(found, lock=lock)
                    with contextlib.suppress(WorkspaceError):
                        async with IdeLink(spoiled, cwd=tmp_path) as link:
                            for _ in range(30):
                                with contextlib.suppress(WorkspaceError):
                                    await asks_for_its_folder(link, tmp_path)
                async with IdeLink(found, cwd=tmp_path) as link:
                    await asks_for_its_folder(link, tmp_path)


async def asks_for_its_folder(link: IdeLink, folder: Path) -> None:
    assert decode_json(await link.call("getWorkspaceFolders", {}))["rootPath"] == str(folder)


async def talks(stage: Stage, prompt: Prompt) -> None:
    for number in range(60):
        await stage.say(f"Line {number} of the long reply.\n\n")
        await anyio.sleep(0.01)


class Reader:
    """A page that comes back after every break, and says what it saw last."""

    def __init__(self, site: Served, relay: FaultySocket) -> None:
        self.conversation = ""
        self.numbers: list[int] = []
        self.over = False
        self._taken = False
        self._site = site
        self._relay = relay

    async def read_on(self) -> None:
        """Until the turn is over, or the socket breaks."""
        own = f"127.0.0.1:{self._site.host.port}"
        opening = websockets.connect(
            f"ws://{own}/socket",
            origin=f"http://{own}",  # pyright: ignore[reportArgumentType]
            additional_headers={"Cookie": self._site.cookie},
            port=self._relay.port,
            max_size=None,
        )
        async with opening as socket:
            seen = {self.conversation: self.numbers[-1]} if self.numbers else {}
            await socket.send(json.dumps({"type": "ready", "seen": seen}))
            if not self.conversation:
                await socket.send(json.dumps({"type": "newConversation"}))
            told = False
            while not self.over:
                for frame in json.loads(await socket.recv()):
                    self.take(frame)
                if self.conversation and not self._taken and not told:
                    told = True
                    message = {"type": "sendMessage", "conversation": self.conversation, "text": "Talk"}
                    await socket.send(json.dumps({**message, "key": "the only one", "request": 1}))

    def take(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "conversationOpened" and not self.conversation:
            self.conversation = frame["row"]["id"]
            self.numbers.append(frame["seq"])
        elif frame["type"] == "reply":
            self._taken = True
        elif frame["type"] == "streamChunk" and frame["conversation"] == self.conversation:
            self.numbers.append(frame["seq"])
            self.over = self.over or frame["chunk"]["type"] == "turn_end"


@pytest.mark.parametrize("seed", SEEDS)
async def test_between_a_page_and_its_host(seed: int, tmp_path: Path):
    with anyio.fail_after(120):
        async with served(tmp_path, [talks]) as site:
            await site.log_in()
            async with FaultySocket(site.host.port, seed=seed) as relay:
                page = Reader(site, relay)
                while not page.over:
                    with contextlib.suppress(OSError, websockets.WebSocketException, EOFError):
                        await page.read_on()
            assert len([command for command in site.agents[-1].commands if isinstance(command, Prompt)]) == 1
            assert page.numbers == list(range(page.numbers[0], page.numbers[-1] + 1)), relay.faults
