"""Whether an agent can be used: found, which version, whether it answers. Asked rarely, because asking starts it."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import msgspec

from weft import __version__
from weft.connect.acp.start import ChildAgent, Opener
from weft.connect.discovery import find
from weft.connect.process import PortAgent
from weft.connect.registry import KnownAgent
from weft.errors import ConnectionLost, TransportError
from weft.protocols.acp import session as s
from weft.protocols.acp.frames import RpcError
from weft.transports.process import spawn
from weft.transports.rpc import RpcPeer

GOOD_FOR = 120.0
BAD_FOR = 15.0
ANSWER_LIMIT = 30.0
VERSION_LIMIT = 10.0


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """`answers` is None when it was not asked. `problem` is a sentence, `hint` what to do."""

    name: str
    title: str
    installed: bool = False
    path: str = ""
    how: str = ""
    version: str = ""
    answers: bool | None = None
    agent_name: str = ""
    protocols: tuple[str, ...] = ()
    problem: str = ""
    hint: str = ""

    @property
    def usable(self) -> bool:
        return self.installed and self.answers is not False


class AvailabilityCache:
    """What was found out stays true for two minutes, a failure for 15 seconds. One check of a name at a time: those
    who ask meanwhile get its result."""

    def __init__(
        self, check: Callable[[str], Awaitable[Availability]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._check = check
        self._clock = clock
        self._known: dict[str, tuple[float, Availability]] = {}
        self._locks: dict[str, anyio.Lock] = {}

    async def get(self, name: str) -> Availability:
        async with self._locks.setdefault(name, anyio.Lock()):
            held = self._known.get(name)
            if held is not None and self._clock() < held[0]:
                return held[1]
            found = await self._check(name)
            self._known[name] = (self._clock() + (GOOD_FOR if found.usable else BAD_FOR), found)
            return found

    def clear(self, name: str | None = None) -> None:
        if name is None:
            self._known.clear()
        else:
            self._known.pop(name, None)


async def check(agent: KnownAgent, *, ask: bool = True, cwd: Path | None = None) -> Availability:
    """Finds the program, its version, and (with `ask`) starts it to see whether it answers. Never raises."""
    kinds = (("acp", agent.acp), ("acp-port", agent.port), ("stream-json", agent.stream))
    base = Availability(
        name=agent.name,
        title=agent.title,
        protocols=tuple(name for name, arguments in kinds if arguments is not None),
    )
    found = await find(agent.command)
    if found is None:
        return msgspec.structs.replace(base, problem=f"{agent.command} was not found", hint=agent.install)
    base = msgspec.structs.replace(base, installed=True, path=found.path, how=found.how)
    if agent.version:
        base = msgspec.structs.replace(base, version=await read_version((*found.argv, *agent.version)))
    if not ask or (agent.acp is None and agent.port is None):
        return base
    where = cwd or Path.cwd()
    if agent.acp is not None:
        opener: Opener = ChildAgent((*found.argv, *agent.acp), cwd=where, env=agent.env)
    else:
        opener = PortAgent(agent, where)
    try:
        told = await ask_once(opener)
    except (ConnectionLost, TransportError, RpcError, TimeoutError, msgspec.MsgspecError) as error:
        said = str(error) or f"no answer in {ANSWER_LIMIT:g} s"
        return msgspec.structs.replace(base, answers=False, problem=said)
    named = told.agent_info
    return msgspec.structs.replace(
        base,
        answers=True,
        agent_name=named.name if named else "",
        version=base.version or (named.version if named else ""),
    )


async def read_version(argv: tuple[str, ...]) -> str:
    """The first line with a digit in it that the program prints, or nothing."""
    try:
        child = await spawn(argv)
    except TransportError:
        return ""
    said = b""
    with anyio.move_on_after(VERSION_LIMIT):
        while child.stdout is not None and (data := await child.stdout.receive()) and len(said) < 10_000:
            said += data
    await child.kill(grace=0.2)
    child.close()
    lines = said.decode("utf-8", "replace").splitlines()
    return next((line.strip()[:80] for line in lines if any(letter.isdigit() for letter in line)), "")


async def ask_once(opener: Opener) -> s.Initialized:
    """Starts the agent and says hello, nothing more.

    Raises:
        TransportError, RpcError, TimeoutError, msgspec.MsgspecError: it does not answer as an ACP agent does.
    """

    async def refuse(method: str, params: msgspec.Raw, id_: object) -> object:
        raise RpcError(-32601, "Method not found")

    async def ignore(method: str, params: msgspec.Raw) -> None:
        return None

    asked = s.Initialize(
        protocol_version=s.VERSION,
        client_capabilities=s.ClientCapabilities(),
        client_info=s.Implementation(name="weft", title="Weft", version=__version__),
    )
    async with opener as stream:
        peer = RpcPeer(stream, on_request=refuse, on_notification=ignore)
        found: list[msgspec.Raw] = []
        failed: list[Exception] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.run)
            try:
                found.append(await peer.call("initialize", asked, timeout=ANSWER_LIMIT))
            except (TransportError, RpcError, TimeoutError) as error:
                failed.append(error)
            tasks.cancel_scope.cancel()
        if failed:
            raise failed[0]
        return msgspec.json.decode(found[0], type=s.Initialized)
