"""The host of other people's tools, prompts and resources: all servers of a session behind one object.

    async with Host(configs, options) as host: …

Entering returns at once. Servers start in the background, after the first request to the model had its chance; a
tool that was approved earlier can be called before its server is up, and waits for it.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup

from weft.errors import ToolError, TransportError, WeftError
from weft.mcp.catalogue import (
    McpResult,
    ProgressCallback,
    PromptInfo,
    PromptMessage,
    ResourceInfo,
    ResourceText,
    TemplateInfo,
    ToolInfo,
)
from weft.mcp.config import ServerConfig
from weft.mcp.failures import flat
from weft.mcp.loading import Loading
from weft.mcp.names import unique
from weft.mcp.options import HostOptions, LogLine, SampleRequest
from weft.mcp.pins import Change
from weft.mcp.results import decode_messages, decode_read, decode_result
from weft.mcp.running import Running
from weft.mcp.server import Server
from weft.schema.content import Json, Text
from weft.schema.events import ServerInfo

if TYPE_CHECKING:
    from weft.mcp.link import Link
    from weft.mcp.skills import ServerSkill

log = logging.getLogger(__name__)
T = TypeVar("T")


class Host:
    """Keeps every server. Its methods never raise the package's exceptions, only ours."""

    def __init__(self, configs: Iterable[ServerConfig], options: HostOptions) -> None:
        self._options = options
        self._load = Loading(options.start_delay)
        self._login = anyio.Lock()
        self._servers = {config.name: Server(config, options, self._load, self._login) for config in configs}
        self._local = anyio.CapacityLimiter(options.local_batch)
        self._remote = anyio.CapacityLimiter(options.remote_batch)
        self._group: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        if self._servers:
            self._group.start_soon(self._load.run)
        for server in self._servers.values():
            self._group.start_soon(self._own, server)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._group is not None
        self._group.cancel_scope.cancel()
        return await self._group.__aexit__(kind, error, trace)

    async def _own(self, server: Server) -> None:
        await server.run(self._remote if server.config.remote else self._local)

    def begin(self) -> None:
        """The first request is being made: servers may connect once it has left."""
        self._load.begin()

    async def settle(self, limit: float, names: Sequence[str] | None = None) -> None:
        """Waits until every server (of `names`) has connected or failed once, at most `limit` seconds."""
        self._load.hurry()
        with anyio.move_on_after(limit):
            for server in tuple(self._servers.values()):
                if names is None or server.config.name in names:
                    await server.settled()

    def newcomers(self) -> tuple[Server, ...]:
        """Servers that are on their way and were never seen: there is nothing to tell the model of yet."""
        coming = ("disconnected", "connecting", "initializing")
        return tuple(one for one in self._servers.values() if one.state in coming and one.newcomer)

    async def add(self, configs: Sequence[ServerConfig]) -> None:
        """More servers while the session runs; a name that exists is replaced."""
        for config in configs:
            self.remove(config.name)
            server = self._servers[config.name] = Server(config, self._options, self._load, self._login)
            if self._group is not None:
                if len(self._servers) == 1:
                    self._group.start_soon(self._load.run)
                self._group.start_soon(self._own, server)
        self._load.hurry()
        await anyio.lowlevel.checkpoint()

    def remove(self, name: str) -> None:
        old = self._servers.pop(name, None)
        if old is not None:
            old.disable()

    @property
    def shows_apps(self) -> bool:
        return self._options.apps

    # --- what there is

    def servers(self) -> tuple[ServerInfo, ...]:
        return tuple(server.info() for server in self._servers.values())

    def server(self, name: str) -> Server:
        """
        Raises:
            ToolError: there is no such server.
        """
        if name not in self._servers:
            raise ToolError(f"there is no MCP server {name!r}")
        return self._servers[name]

    def tools(self) -> tuple[ToolInfo, ...]:
        """What the model may be told of, all names different; apps' own tools are left out."""
        found = [tool for server in self._servers.values() for tool in server.usable_tools() if not tool.app_only]
        names = unique([(tool.server, tool.name) for tool in found])
        return tuple(msgspec.structs.replace(tool, full_name=names[tool.server, tool.name]) for tool in found)

    def prompts(self) -> tuple[PromptInfo, ...]:
        changed = {(c.server, c.name) for c in self.changes() if c.kind == "prompt"}
        found = (item for server in self._up() for item in server.prompts)
        return tuple(item for item in found if (item.server, item.name) not in changed)

    def resources(self) -> tuple[ResourceInfo, ...]:
        return tuple(item for server in self._up() for item in server.resources)

    def templates(self) -> tuple[TemplateInfo, ...]:
        return tuple(item for server in self._up() for item in server.templates)

    def skills(self) -> tuple["ServerSkill", ...]:
        """Listed, not fetched. One whose listing is not what was approved is left out."""
        changed = {(c.server, c.name) for c in self.changes() if c.kind == "skill"}
        found = (skill for server in self._up() for skill in server.skills)
        return tuple(skill for skill in found if (skill.server, skill.name) not in changed)

    def instructions(self) -> dict[str, str]:
        """What servers say about their own use; data for the prompt, never orders."""
        off = ("disabled", "failed", "needs_auth")
        usable = (server for server in self._servers.values() if server.state not in off)
        return {server.config.name: server.instructions for server in usable if server.instructions}

    def changes(self) -> tuple[Change, ...]:
        """Definitions that are not what was approved. These tools, prompts and instructions are not in use."""
        return tuple(change for server in self._servers.values() for change in server.changes)

    def voided(self) -> tuple[str, ...]:
        """Full names of tools whose definition changed after a rule may have allowed them: such a rule is void."""
        found: list[str] = []
        for server in self._servers.values():
            dropped = set(server.pins.voided())
            names = unique([(tool.server, tool.name) for tool in server.tools])
            found += [names[tool.server, tool.name] for tool in server.tools if tool.name in dropped]
        return tuple(found)

    def log_lines(self, name: str) -> tuple[LogLine, ...]:
        return tuple(self.server(name).lines)

    def samplings(self) -> tuple[SampleRequest, ...]:
        """Every request that a server made to the model, in order: the audit list."""
        links = [server.link for server in self._servers.values() if server.link is not None]
        return tuple(request for link in links for request in link.answers.samplings)

    def _up(self) -> Iterable[Server]:
        return (server for server in self._servers.values() if server.state == "ready")

    # --- use

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Json,
        *,
        progress: ProgressCallback | None = None,
        tool_use_id: str = "",
    ) -> McpResult:
        """Calls a tool. A failure of any kind is a result with `is_error`; only cancellation passes through.

        Raises:
            ToolError: there is no such tool, or its definition changed and waits for approval.
        """
        owner = self.server(server)
        info = self._callable(owner, tool)
        from weft.mcp.schema_check import problem

        given = {name: value for name, value in arguments.items() if value is not None}
        wrong = problem(info.input_schema, given)
        if wrong:
            return _failed(f"The input does not fit the tool's schema: {wrong}")
        limit = owner.config.timeout or self._options.call_timeout
        try:
            link = await owner.ready(self._options.start_timeout + 5)
            meta: Json = {"claudecode/toolUseId": tool_use_id} if tool_use_id else {}

            async def once() -> Json:
                as_task = info.task == "required"
                return await link.call(tool, arguments, report=progress, limit=limit, meta=meta, as_task=as_task)

            try:
                raw = await once()
            except Exception as error:
                if not await link.answers.visited(flat(error)):
                    raise
                raw = await once()
        except Exception as error:  # noqa: BLE001 - a peer's failure is a result that the model reads
            return _failed(self._explain(owner, flat(error)))
        result = decode_result(raw)
        if info.output_schema is not None and not result.is_error:
            wrong = problem(info.output_schema, result.structured) if result.has_structured else "there is none"
            if wrong:
                note = Text(f"The server broke its own contract: its structured output is wrong ({wrong}).")
                return msgspec.structs.replace(result, content=(*result.content, note), is_error=True)
        return result

    def start(
        self,
        server: str,
        tool: str,
        arguments: Json,
        *,
        progress: ProgressCallback | None = None,
        tool_use_id: str = "",
    ) -> Running:
        """Like `call`, but the call belongs to the host: it goes on when nobody waits for it."""
        assert self._group is not None
        running = Running()
        running.start(
            self._group, lambda: self.call(server, tool, arguments, progress=progress, tool_use_id=tool_use_id)
        )
        return running

    def follow(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs something beside the session, as long as the host lives."""
        assert self._group is not None
        self._group.start_soon(work)

    def _callable(self, owner: Server, tool: str) -> ToolInfo:
        for change in owner.changes:
            if change.kind == "tool" and change.name == tool:
                raise ToolError(
                    f"the definition of {tool!r} has changed and waits for the person's approval:\n{change.difference}"
                )
        for info in owner.tools:
            if info.name == tool:
                return info
        raise ToolError(f"the MCP server {owner.config.name!r} has no tool {tool!r}")

    def _explain(self, owner: Server, error: Exception) -> str:
        code = getattr(error, "code", None)
        text = str(error) or type(error).__name__
        if code == -32600 and "back-channel" in text:
            owner.pins.set_era("legacy")
            owner.reconnect()
            return (
                f"{text}\nThe server is connected again in its older protocol, where it can ask; call the tool again."
            )
        if code == -32000 or isinstance(error, TransportError):
            text = (owner.link.problem if owner.link is not None else "") or text
            owner.lost.set()
            return f"The MCP server {owner.config.name!r} did not answer: {text}"
        if type(error).__name__ == "InputRequiredRoundsExceededError":
            return "The server kept asking for more input and was stopped."
        return f"The MCP server {owner.config.name!r} reported an error: {text[:4000]}"

    async def get_prompt(self, server: str, name: str, arguments: dict[str, str]) -> tuple[PromptMessage, ...]:
        """
        Raises:
            ToolError: the prompt cannot be had; the message says why.
        """
        if any(c.server == server and c.kind == "prompt" and c.name == name for c in self.changes()):
            raise ToolError(f"the prompt {name!r} has changed and waits for the person's approval")
        return decode_messages(await self._ask(server, lambda link: link.get_prompt(name, arguments)))

    async def read(self, server: str, uri: str) -> tuple[ResourceText, ...]:
        """A resource's parts. The server resolves the address, never we.

        Raises:
            ToolError: it cannot be read.
        """
        return decode_read(await self._ask(server, lambda link: link.read(uri)))

    async def complete(
        self, server: str, ref: Json, name: str, value: str, context: dict[str, str] | None = None
    ) -> tuple[str, ...]:
        """What a prompt's argument (`ref` has `name`) or a template's variable (`uri`) could be; empty on any doubt."""
        try:
            return await self._ask(server, lambda link: link.complete(ref, name, value, context or {}))
        except ToolError:
            return ()

    async def subscribe(self, server: str, uri: str, *, on: bool = True) -> None:
        """`on_resource` is called when the resource changes.

        Raises:
            ToolError: the server will not.
        """
        await self._ask(server, lambda link: link.watch(uri, on=on))

    async def request(self, server: str, method: str, params: Json) -> Json:
        """Any method of an extension.

        Raises:
            ToolError: the server will not.
        """
        return await self._ask(server, lambda link: link.request(method, params))

    async def _ask(self, name: str, work: "Callable[[Link], Awaitable[T]]") -> T:
        owner = self.server(name)
        try:
            return await work(await owner.ready(self._options.start_timeout + 5))
        except Exception as error:
            raise ToolError(self._explain(owner, flat(error))) from error

    async def roots_changed(self) -> None:
        for server in self._up():
            if server.link is not None:
                try:
                    await server.link.roots_changed()
                except Exception as error:  # noqa: BLE001 - told in vain
                    log.debug("%s: roots: %r", server.config.name, error)

    # --- switches

    async def enable(self, name: str) -> None:
        """Switches a server on. One that waits for approval is asked about first.

        Raises:
            WeftError: it may not run.
        """
        server = self.server(name)
        if server.config.standing in ("pending", "changed"):
            if not await server.ask_approval():
                raise WeftError(f"{name} was not approved", hint=f"weft mcp approve {name}")
            return
        server.enable()
        self._load.hurry()

    async def disable(self, name: str) -> None:
        self.server(name).disable()
        await anyio.lowlevel.checkpoint()

    async def reconnect(self, name: str) -> None:
        server = self.server(name)
        if server.config.standing in ("pending", "changed"):
            await self.enable(name)
        else:
            server.reconnect()
        self._load.hurry()

    def approve_change(self, change: Change) -> None:
        """The person has seen the difference and takes it."""
        server = self.server(change.server)
        source: dict[str, Json] = {}
        if change.kind == "tool":
            source = {tool.name: tool.definition for tool in server.tools}
        elif change.kind == "skill":
            source = {skill.name: skill.definition for skill in server.skills}
        elif change.kind == "prompt":
            source = {prompt.name: prompt.definition for prompt in server.prompts}
        elif server.link is not None and server.link.client is not None:
            text = server.link.client.session.instructions or ""
            source = {"instructions": {"name": "instructions", "description": text}}
            server.instructions = text
        if change.name in source:
            server.pins.approve(change.kind, change.name, source[change.name])
            server.changes = tuple(kept for kept in server.changes if kept != change)
            server.changed("tools")

    async def login(self, name: str) -> None:
        """Logs in to a server with the person's help, and connects.

        Raises:
            ToolError: the login failed.
        """
        server = self.server(name)
        server.interactive_login = True
        try:
            server.reconnect()
            self._load.hurry()
            await anyio.lowlevel.checkpoint()
            while server.state in ("disconnected", "connecting", "initializing", "closing"):
                await server.next_move()
        finally:
            server.interactive_login = False
        if server.state != "ready":
            raise ToolError(f"the login to {name!r} failed: {server.error or server.state}")


def _failed(text: str) -> McpResult:
    return McpResult(content=(Text(text),), is_error=True)
