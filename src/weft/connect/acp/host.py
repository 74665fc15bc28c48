"""The requests that an agent makes of its host's machine: `fs/*` and `terminal/*`."""

from collections.abc import Awaitable, Callable

import msgspec

from weft.connect.acp.files import HostFiles
from weft.connect.acp.terminals import HostTerminals
from weft.protocols.acp import session as s


class Host:
    """`methods` has each by its name: parameters in, result out."""

    def __init__(self, files: HostFiles, terminals: HostTerminals) -> None:
        self._files = files
        self._terminals = terminals
        self.methods: dict[str, Callable[[msgspec.Raw], Awaitable[object]]] = {
            "fs/read_text_file": self._read_file,
            "fs/write_text_file": self._write_file,
            "terminal/create": self._create,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._wait,
            "terminal/kill": self._kill,
            "terminal/release": self._release,
        }

    async def _read_file(self, params: msgspec.Raw) -> object:
        request = msgspec.json.decode(params, type=s.ReadFile)
        return s.FileText(content=await self._files.read(request.path, request.line, request.limit))

    async def _write_file(self, params: msgspec.Raw) -> object:
        request = msgspec.json.decode(params, type=s.WriteFile)
        await self._files.write(request.path, request.content)
        return {}

    async def _create(self, params: msgspec.Raw) -> object:
        request = msgspec.json.decode(params, type=s.CreateTerminal)
        return {"terminalId": await self._terminals.create(request)}

    async def _output(self, params: msgspec.Raw) -> object:
        return self._terminals.output(_id(params))

    async def _wait(self, params: msgspec.Raw) -> object:
        return await self._terminals.wait(_id(params))

    async def _kill(self, params: msgspec.Raw) -> object:
        await self._terminals.kill(_id(params))
        return {}

    async def _release(self, params: msgspec.Raw) -> object:
        await self._terminals.release(_id(params))
        return {}


def _id(params: msgspec.Raw) -> str:
    return msgspec.json.decode(params, type=s.TerminalRef).terminal_id
