"""A live connection to a server, on the package's client: connect, keep the lists fresh, make requests."""

import logging
import math
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import mcp_types
import msgspec
from mcp import Client
from mcp.client.extension import ClientExtension, advertise
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

from weft import __version__
from weft.errors import TransportError, TransportTimeout
from weft.mcp.answers import Answers
from weft.mcp.catalogue import (
    ProgressCallback,
    decode_prompt,
    decode_resource,
    decode_template,
    decode_tool,
    text_of,
)
from weft.mcp.clock import Clock
from weft.mcp.config import ServerConfig
from weft.mcp.failures import NeedsLogin, flat
from weft.mcp.launch import make_transport, with_inputs
from weft.mcp.legacy_tasks import call_as_task
from weft.mcp.screen import Screen
from weft.mcp.shapes import RAW
from weft.mcp.skills import EXTENSION, METHOD, decode_skills
from weft.mcp.tasks import AnyResult, TasksExtension
from weft.mcp.visible import skeleton, smells
from weft.schema.content import Json

if TYPE_CHECKING:
    from weft.mcp.server import Server

log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_PAGES = 50
MAX_LISTED = 2000
LIST_LIMIT = 30.0
DEBOUNCE = 0.1
IDLE_REMOTE = 300.0
IDLE_LOCAL = 1800.0
APP_MIME = "text/html;profile=mcp-app"
LISTS = ("tools", "prompts", "resources", "skills")


class Link:
    def __init__(self, server: "Server") -> None:
        self._server = server
        self._options = server.options
        self._answers = Answers(server.config.name, server.options, server.pause, server.note)
        self._dirty: set[str] = set()
        self._wake = anyio.Event()
        self._watched: set[str] = set()
        self._relisten = anyio.Event()
        self.client: Client | None = None
        self.problem = ""
        self.wants_login = False

    @property
    def answers(self) -> Answers:
        return self._answers

    async def prepared(self) -> AbstractAsyncContextManager[Any]:
        """The transport, with everything asked that it needs. Nothing is open yet."""
        server = self._server
        config = await with_inputs(server.config, self._options.ask_input)
        auth = None
        if config.transport in ("http", "sse") and not config.socket:
            from weft.mcp.oauth import make_auth

            auth = make_auth(config, server, self)
        return await make_transport(
            config, env=self._options.env, cwd=self._options.cwd, auth=auth, on_stderr=server.on_stderr
        )

    async def run(self, transport: AbstractAsyncContextManager[Any], close: anyio.Event) -> None:
        """Connects and holds the connection until `close` is set or the server is lost.

        Raises:
            TransportTimeout: it was not ready in time.
            TransportError: it was lost.
        """
        server, limit = self._server, self._options.start_timeout
        with anyio.CancelScope(deadline=anyio.current_time() + limit) as scope:
            screen = Screen(
                transport, opened=lambda: server.move("initializing"), ended=self._ended, heard=lambda: None
            )
            try:
                async with self._client(screen, server.config) as client:
                    self.client = client
                    await self._greet(client)
                    scope.deadline = math.inf
                    await self._hold(client, close)
            except Exception as error:
                if self.wants_login:
                    raise NeedsLogin("a login is needed") from error
                if isinstance(flat(error), MCPError) and self.problem:
                    raise TransportError(self._why()) from error
                raise
            finally:
                self.client = None
        if scope.cancelled_caught and anyio.current_time() >= scope.deadline:
            raise TransportTimeout(f"it was not ready within {limit:g} seconds")
        if not close.is_set():
            raise TransportError(self._why() or "the connection was lost")

    def _why(self) -> str:
        """What went wrong, with the last words of a program that ended."""
        said = [line.text for line in self._server.lines if line.level == "stderr" and line.text.strip()]
        return f"{self.problem}; its last words: {said[-1][:300]}" if self.problem and said else self.problem

    def _ended(self, problem: str) -> None:
        self.problem = problem
        self._server.lost.set()

    def _client(self, screen: Screen, config: ServerConfig) -> Client:
        extensions: list[ClientExtension] = [TasksExtension(self._server), advertise(EXTENSION)]
        if self._options.apps:
            extensions.append(advertise("io.modelcontextprotocol/ui", {"mimeTypes": [APP_MIME]}))
        mode = config.protocol if config.protocol != "auto" else self._options.protocol
        # A pinned modern version skips the package's discovery, and with it what the server can do: we always discover.
        if mode != "legacy":
            mode = "legacy" if mode == "auto" and self._server.pins.era == "legacy" else "auto"
        return Client(
            screen,
            mode=mode,
            client_info=mcp_types.Implementation(name="weft", title="Weft", version=__version__),
            elicitation_callback=self._answers.elicit if self._options.ask_input else None,
            sampling_callback=self._answers.sample if self._options.sample else None,
            sampling_capabilities=mcp_types.SamplingCapability(tools=mcp_types.SamplingToolsCapability()),
            list_roots_callback=self._answers.roots,
            logging_callback=self._answers.log,
            log_level="info",
            message_handler=self._heard,
            extensions=extensions,
            input_required_max_rounds=10,
        )

    # --- start

    async def _greet(self, client: Client) -> None:
        server = self._server
        info = client.server_info
        server.version = f"{info.name} {info.version}" if info else ""
        modern = client.protocol_version >= "2026"
        if server.config.protocol == "auto":
            server.pins.set_era("modern" if modern else "legacy")
        instructions = client.session.instructions or ""
        changes = server.pins.check_instructions(instructions) if instructions else ()
        server.changes = (*(change for change in server.changes if change.kind != "instructions"), *changes)
        server.instructions = "" if changes else text_of(instructions)
        if client.server_capabilities.logging is not None and not modern:
            level = mcp_types.SetLevelRequest(params=mcp_types.SetLevelRequestParams(level="info"))
            with anyio.move_on_after(5):
                try:
                    await client.session.send_request(level, mcp_types.EmptyResult)
                except MCPError as error:
                    log.debug("%s: logging/setLevel: %s", server.config.name, error)
        await self.refresh(LISTS)
        server.link = self
        server.move("ready")

    async def _hold(self, client: Client, close: anyio.Event) -> None:
        server = self._server
        async with anyio.create_task_group() as group:
            group.start_soon(self._refresh_when_told)
            if client.protocol_version >= "2026":
                group.start_soon(self._listen, client)
            group.start_soon(_cancel_when, server.lost, group.cancel_scope)
            await close.wait()
            if server.wanted:
                server.move("closing")
            group.cancel_scope.cancel()

    # --- lists

    async def _heard(self, message: object) -> None:
        match message:
            case mcp_types.ToolListChangedNotification():
                self._touch("tools")
            case mcp_types.PromptListChangedNotification():
                self._touch("prompts")
            case mcp_types.ResourceListChangedNotification():
                self._touch("resources")
                self._touch("skills")
            case mcp_types.ElicitCompleteNotification():
                self._options.on_visited(self._server.config.name, message.params.elicitation_id)
            case mcp_types.ResourceUpdatedNotification():
                self._options.on_resource(self._server.config.name, str(message.params.uri))
            case _:
                await anyio.lowlevel.checkpoint()

    def _touch(self, kind: str) -> None:
        self._dirty.add(kind)
        self._wake.set()

    async def _refresh_when_told(self) -> None:
        """Storms of notifications become one refresh at a time, and never more than a few a second."""
        while True:
            await self._wake.wait()
            await anyio.sleep(DEBOUNCE)
            self._wake = anyio.Event()
            dirty, self._dirty = self._dirty, set()
            await self.refresh(dirty)
            await anyio.sleep(DEBOUNCE * 4)

    async def refresh(self, kinds: Iterable[str]) -> None:
        """Reads the lists again. One that cannot be read keeps its old content."""
        server, client = self._server, self.client
        if client is None:
            return
        offered = client.server_capabilities
        name = server.config.name
        if "tools" in kinds and offered.tools is not None:
            raw = await self._all("tools/list", lambda cursor: client.list_tools(cursor=cursor, cache_mode="refresh"))
            if raw is not None:
                self._take_tools(raw)
        if "prompts" in kinds and offered.prompts is not None:
            raw = await self._all("prompts/list", lambda c: client.list_prompts(cursor=c, cache_mode="refresh"))
            if raw is not None:
                self._note_changes("prompt", server.pins.check("prompt", raw))
                server.prompts = tuple(decode_prompt(name, item) for item in raw)
                server.changed("prompts")
        if "resources" in kinds and offered.resources is not None:
            raw = await self._all("resources/list", lambda c: client.list_resources(cursor=c, cache_mode="refresh"))
            if raw is not None:
                server.resources = tuple(decode_resource(name, item) for item in raw)
            raw = await self._all(
                "resources/templates/list",
                lambda cursor: client.list_resource_templates(cursor=cursor, cache_mode="refresh"),
            )
            if raw is not None:
                server.templates = tuple(decode_template(name, item) for item in raw)
            server.changed("resources")

        if "skills" in kinds and EXTENSION in (offered.extensions or {}):
            await self._take_skills()

    async def _take_skills(self) -> None:
        server = self._server
        try:
            found = decode_skills(server.config.name, await self.request(METHOD, {}))
        except (MCPError, TransportError, ValueError) as error:
            log.info("%s: %s failed: %s", server.config.name, METHOD, error)
            return
        first = {skill.name: skill for skill in reversed(found)}
        self._note_changes("skill", server.pins.check("skill", [skill.definition for skill in first.values()]))
        server.skills = tuple(reversed(first.values()))
        server.changed("prompts")

    async def _all(self, what: str, page: Callable[[str | None], Awaitable[Any]]) -> list[Json] | None:
        """All pages of a list, within limits; None when it cannot be read. A cursor that comes again ends it."""
        found: list[Json] = []
        seen: set[str | None] = set()
        cursor: str | None = None
        try:
            with anyio.fail_after(LIST_LIMIT):
                while cursor not in seen and len(seen) < MAX_PAGES and len(found) < MAX_LISTED:
                    seen.add(cursor)
                    result = await page(cursor)
                    found += [item.meta[RAW] for item in _entries(result) if item.meta and RAW in item.meta]
                    cursor = result.next_cursor
                    if cursor is None:
                        break
        except (MCPError, TimeoutError, ValueError) as error:
            log.info("%s: %s failed: %s", self._server.config.name, what, error)
            return None if not found else found[:MAX_LISTED]
        return found[:MAX_LISTED]

    def _take_tools(self, raw: list[Json]) -> None:
        server = self._server
        first: dict[str, Json] = {}
        twins: dict[str, str] = {}
        warned: dict[str, list[str]] = {}
        for item in raw:
            name = str(item["name"])
            if name in first:
                continue
            first[name] = item
            found = list(smells(f"{item.get('description', '')} {item.get('title', '')}"))
            twin = twins.setdefault(skeleton(name), name)
            if twin != name:
                found.append(f"its name looks like {twin!r}")
            warned[name] = found
        changes = server.pins.check("tool", list(first.values()))
        if changes:
            server.pins.void([change.name for change in changes])
        self._note_changes("tool", changes)
        server.tools = tuple(
            msgspec.structs.replace(decode_tool(server.config.name, item), warnings=tuple(warned[name]))
            for name, item in first.items()
        )
        server.changed("tools")

    def _note_changes(self, kind: str, changes: tuple[Any, ...]) -> None:
        server = self._server
        kept = tuple(change for change in server.changes if change.kind != kind)
        if changes or len(kept) != len(server.changes):
            server.changes = (*kept, *changes)
            server.changed("changes")

    # --- modern subscriptions

    async def _listen(self, client: Client) -> None:
        """Keeps one `subscriptions/listen` stream open; after a loss everything is read again."""
        delay = 1.0
        while True:
            self._relisten = anyio.Event()
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(_cancel_when, self._relisten, group.cancel_scope)
                    await self._follow(client)
                    group.cancel_scope.cancel()
                delay = 1.0
            except Exception as error:  # noqa: BLE001 - a server without subscriptions works all the same
                log.debug("%s: listen: %r", self._server.config.name, error)
                plain = flat(error)
                if isinstance(plain, MCPError) and plain.code == -32601:
                    return
            if not self._relisten.is_set():
                await anyio.sleep(delay)
                delay = min(delay * 2, 60.0)
                for kind in LISTS:
                    self._touch(kind)

    async def _follow(self, client: Client) -> None:
        offered = client.server_capabilities
        async with client.listen(
            tools_list_changed=offered.tools is not None,
            prompts_list_changed=offered.prompts is not None,
            resources_list_changed=offered.resources is not None,
            resource_subscriptions=sorted(self._watched),
        ) as events:
            async for event in events:
                match event:
                    case ToolsListChanged():
                        self._touch("tools")
                    case PromptsListChanged():
                        self._touch("prompts")
                    case ResourcesListChanged():
                        self._touch("resources")
                    case ResourceUpdated(uri=uri):
                        self._options.on_resource(self._server.config.name, str(uri))

    async def watch(self, uri: str, *, on: bool) -> None:
        """Subscribes to one resource, or stops."""
        client = self._live()
        (self._watched.add if on else self._watched.discard)(uri)
        if client.protocol_version >= "2026":
            self._relisten.set()
            return
        request = (
            mcp_types.SubscribeRequest(params=mcp_types.SubscribeRequestParams(uri=uri))
            if on
            else mcp_types.UnsubscribeRequest(params=mcp_types.UnsubscribeRequestParams(uri=uri))
        )
        await client.session.send_request(request, mcp_types.EmptyResult, request_read_timeout_seconds=LIST_LIMIT)

    async def roots_changed(self) -> None:
        client = self.client
        if client is not None and client.protocol_version < "2026":
            await client.session.send_notification(mcp_types.RootsListChangedNotification())

    # --- requests

    def _live(self) -> Client:
        if self.client is None:
            raise TransportError("the server is not connected")
        return self.client

    async def call(
        self,
        name: str,
        arguments: Json,
        *,
        report: ProgressCallback | None,
        limit: float | None,
        meta: Json,
        as_task: bool = False,
    ) -> Json:
        """The tool's raw answer. Progress, and a person being asked, hold the idle clock back. `as_task` is for a
        tool that runs as a task only; in the newer protocol the server decides that by itself."""
        client = self._live()
        if as_task and client.protocol_version < "2026" and client.server_capabilities.tasks is not None:
            given: Json = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
            return await self._patiently(limit, lambda clock: call_as_task(self._plainly, given, clock, report))

        async def work(clock: Clock) -> Json:
            async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                clock.touch()
                if report is not None:
                    report(min(progress / total, 1.0) if total else None, text_of(message, 500))

            result = await client.call_tool(
                name, arguments, progress_callback=on_progress, meta=cast("Any", meta) if meta else None
            )
            return _raw(result)

        return await self._patiently(limit, work)

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> Json:
        client = self._live()

        async def work(clock: Clock) -> Json:
            return _raw(await client.get_prompt(name, arguments))

        return await self._patiently(LIST_LIMIT, work)

    async def read(self, uri: str) -> Json:
        client = self._live()

        async def work(clock: Clock) -> Json:
            return _raw(await client.read_resource(uri))

        return await self._patiently(LIST_LIMIT * 2, work)

    async def complete(self, ref: Json, name: str, value: str, context: dict[str, str]) -> tuple[str, ...]:
        client = self._live()
        if client.server_capabilities.completions is None:
            return ()
        target = (
            mcp_types.PromptReference(name=str(ref["name"]))
            if "name" in ref
            else mcp_types.ResourceTemplateReference(uri=str(ref["uri"]))
        )
        with anyio.fail_after(5):
            found = await client.complete(target, {"name": name, "value": value}, context or None)
        return tuple(text_of(item, 500) for item in found.completion.values[:100])

    async def request(self, method: str, params: Json) -> Json:
        """Any other method: what extensions use."""
        return await self._patiently(LIST_LIMIT, lambda _clock: self._plainly(method, params))

    async def _plainly(self, method: str, params: Json) -> Json:
        request = mcp_types.Request[Any, str](method=method, params=params)
        result = await self._live().session.send_request(request, AnyResult)
        return cast("Json", result.model_dump(by_alias=True, mode="json"))

    async def _patiently(self, limit: float | None, work: Callable[[Clock], Awaitable[T]]) -> T:
        """Makes one request under a clock.

        Raises:
            TransportTimeout: the time was up.
        """
        idle = IDLE_REMOTE if self._server.config.remote else IDLE_LOCAL
        clock = Clock(idle, limit)
        self._server.clocks.add(clock)
        try:
            with clock.scope:
                return await work(clock)
        finally:
            self._server.clocks.discard(clock)
        raise TransportTimeout(f"no answer within {limit if limit is not None else idle:g} seconds")


async def _cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def _entries(result: Any) -> list[Any]:
    for key in ("tools", "prompts", "resource_templates", "resources"):
        found = getattr(result, key, None)
        if found is not None:
            return list(found)
    return []


def _raw(result: Any) -> Json:
    """The answer as the server sent it."""
    meta = cast("Json", result.meta or {})
    if RAW in meta:
        return cast("Json", meta[RAW])
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)
