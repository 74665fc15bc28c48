"""Plug-ins at work in one session. Imported only where there is one."""

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from weft.agent.commands.port import Builtin, Desk, Taken
from weft.agent.definitions import AgentDefinition, define
from weft.agent.dispatch import run_tool
from weft.agent.folders import is_name
from weft.agent.permission import Permission
from weft.errors import ToolError, UsageError
from weft.extend import registry as registries
from weft.extend.api import Model, ModelOffer, TextPart, ToolInformation, ToolResult
from weft.extend.consent import Consent
from weft.extend.handing import MARK, HandingThread
from weft.extend.host import PluginHost, Services
from weft.extend.keys import ContextKeys, folder_facts
from weft.extend.models import Access, ModelFactsView, split_id
from weft.extend.participants import Participants
from weft.extend.providing import Providing
from weft.extend.references import tools as named_tools
from weft.extend.tools import PluginTool, PluginTools
from weft.providers.port import Provider
from weft.schema.content import Content, Json, Text, ToolUse, text_of
from weft.schema.content import ToolResult as ResultBlock
from weft.schema.display import Display
from weft.schema.events import ModelInfo, ToolCalled, ToolEnded
from weft.schema.ids import new_id
from weft.schema.messages import Reply
from weft.settings.layers import as_object

if TYPE_CHECKING:
    from weft.agent.session import Session
    from weft.sdk.compose import Chosen, Ground
    from weft.sdk.plugins import Found
    from weft.sdk.workbench import Workbench


class JoinedPlugins:
    """Built early, because a plug-in's model may be the session's; joined to the session when that is built."""

    def __init__(self, ground: "Ground", found: "Found") -> None:
        self._ground = ground
        problems: list[str] = []
        manifests = [*registries.bundled(problems), *registries.installed(found.seen, problems)]
        if found.local is not None:
            manifests += registries.local(found.local, problems)
        self.keys = self._keys()
        self.registry = registries.Registry(manifests, switches=found.switches, keys=lambda: self.keys)
        ground.notes += [*problems, *self.registry.problems]
        self._hosts: dict[str, PluginHost] = {}
        self.tools = PluginTools(self.registry, self.host)
        detect = ground.settings.values.get("detectParticipants") is not False
        self.participants = Participants(self.registry, self.tools, self.host, detect=detect)
        self.providing = Providing(self.registry, self.host)
        self._bench: Workbench | None = None
        self._session: Session | None = None
        self._services: Services | None = None

    def _keys(self) -> ContextKeys:
        ground = self._ground
        options = ground.options
        facts: dict[str, Callable[[], object]] = {
            **folder_facts(lambda: (options.cwd, *options.directories), self._looked_at),
            "weft.client": lambda: options.client,
            "weft.interactive": lambda: bool(options.asks),
            "weft.mode": lambda: ground.gate.mode,
            "weft.model": lambda: ground.state.model,
            "weft.trusted": lambda: ground.settings.trusted,
            "weft.editorAttached": lambda: self._link() is not None,
        }
        return ContextKeys(facts, lambda: ground.settings.values)

    def _link(self) -> object | None:
        return getattr(self._bench.workspace, "link", None) if self._bench is not None else None

    def _looked_at(self) -> str:
        selection = getattr(self._link(), "selection", None)
        return str(getattr(selection, "path", "") or "")

    def host(self, plugin: str) -> PluginHost:
        if plugin not in self._hosts:
            self._hosts[plugin] = PluginHost(plugin, self._made_services())
        return self._hosts[plugin]

    # --- before the session -------------------------------------------------------------------------------------

    async def choose(self, wanted: str | None) -> "Chosen | None":
        """The session's model, when a plug-in offers it: `vendor/id`, `vendor:id`, or an id that nobody else has."""
        ground = self._ground
        wanted = wanted or ground.env.get("WEFT_MODEL") or ground.settings.text("model")
        if not wanted:
            return None
        found = await self.providing.model(wanted)
        if found is None:
            return None
        from weft.providers.catalogue import catalogue
        from weft.sdk.compose import Chosen

        vendor, offer, provider = found
        known = catalogue().extended(
            {wanted: {"contextWindow": offer.max_input_tokens, "maxOutput": offer.max_output_tokens}}, family=vendor
        )
        return Chosen(provider=provider, model=wanted, key_source="plugin", catalogue=known)

    async def servers(self) -> Json:
        found, problems = await self.providing.servers()
        self._ground.notes += problems
        return found

    def agents(self) -> tuple[list[AgentDefinition], list[AgentDefinition]]:
        """Definitions that plug-ins provide: the organisation's, and the others."""
        managed: list[AgentDefinition] = []
        others: list[AgentDefinition] = []
        for offer, organization in self.providing.agents():
            if is_name(offer.name):
                origin = "managed" if organization else "user"
                made = define(offer.name, offer.description, offer.prompt, offer.fields, origin, None).harmless()
                (managed if organization else others).append(made)
        return managed, others

    # --- with the session ---------------------------------------------------------------------------------------

    def join(self, bench: "Workbench", session: "Session") -> None:
        self._bench, self._session = bench, session
        bench.box.add(self.tools)
        thread = HandingThread(
            session.thread,
            self.participants,
            emit=bench.emit,
            asks=self._ground.asks,
            edit=self._edit,
            model=self._current,
        )
        session.thread = thread
        resumed = self._ground.conversation.resumed
        if resumed is not None:
            self.participants.restore(mark.data for mark in resumed.marks if mark.kind == MARK)
        desk = session.intake.desk
        desk.referred = self.referred

        async def handed(text: str) -> bool:
            asked = self.participants.take(text)
            thread.hand(asked)
            return asked is not None

        desk.handed = handed
        for command in self._commands():
            session.intake.add(command)

    async def _current(self, plugin: str) -> Model | None:
        return await self.host(plugin).lm.current()

    async def referred(self, text: str) -> Content:
        """`#name` in a prompt: the tools are switched on, and the model is told that the person wants them used."""
        wanted: dict[str, None] = {}
        for span in named_tools(text):
            wanted.update(dict.fromkeys(self._meant(span.name)))
        if not wanted:
            return ()
        self.tools.named.update(wanted)
        self.tools.off.difference_update(wanted)
        if self._bench is not None:
            self._bench.box.reveal(wanted)
        names = ", ".join(wanted)
        return (Text(f"<system-reminder>The person asks for these tools to be used: {names}.</system-reminder>"),)

    def _meant(self, name: str) -> Sequence[str]:
        """A tool or a set of plug-ins; `server/*` and `server/tool` of MCP servers; a group of Weft's own tools."""
        found = self.tools.referred(name)
        if found or self._bench is None:
            return found
        known = self._bench.box.all()
        server, slash, tool = name.partition("/")
        if slash:
            prefix = f"mcp__{server}__"
            return [each for each in known if each.startswith(prefix) and tool in ("*", each.removeprefix(prefix))]
        from weft.agent.definitions import TOOL_SETS

        return [each for each in TOOL_SETS.get(name, ()) if each in known]

    # --- what hosts reach ----------------------------------------------------------------------------------------

    def _made_services(self) -> Services:
        if self._services is None:
            ground = self._ground
            consent = Consent(ground.home, lambda use, questions: ground.asks.question(use, questions))
            own = as_object(ground.settings.values.get("plugins"))

            async def allowed(plugin: str, justification: str) -> bool:
                wish = self._said_by_the_person(plugin, "models")
                return wish if isinstance(wish, bool) else await consent.models(plugin, justification)

            self._services = Services(
                home=ground.home,
                folders=lambda: (ground.options.cwd, *ground.options.directories),
                settings=lambda plugin: as_object(own.get(plugin)),
                set_context=self.keys.set,
                spawn=self._spawn,
                tools=self._tool_list,
                invoke=self._invoke,
                models=self._models,
                current=lambda: ground.state.model,
                may_send=consent.known,
                access=Access(consent=allowed, open=self._provider, account=self._account, before=self._budget),
            )
        return self._services

    def _said_by_the_person(self, plugin: str, key: str) -> object:
        """A setting of a plug-in that no project may decide."""
        found: object = None
        for layer in self._ground.settings.layers:
            if layer.scope not in ("project", "local"):
                found = as_object(as_object(layer.data.get("plugins")).get(plugin)).get(key, found)
        return found

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._session is None:
            raise UsageError("The session has not begun: nothing can run beside it yet.")
        self._session.group.start_soon(work)

    def _tool_list(self) -> tuple[ToolInformation, ...]:
        if self._bench is None:
            return ()
        return tuple(
            ToolInformation(
                tool.name, tool.manual, tool.input_schema, tool.entry.tags if isinstance(tool, PluginTool) else ()
            )
            for tool in self._bench.box.all().values()
        )

    async def _models(self) -> Sequence[ModelFactsView]:
        ground = self._ground
        ids = dict.fromkeys((ground.state.model, *(info.id for info in ground.resolved.catalogue.choices())))
        found = [_offered(vendor, offer) for vendor, offer in await self.providing.models()]
        offered = {view.id for view in found}
        for id in ids:
            if id in offered:
                continue
            facts = ground.facts(id)
            known = ground.resolved.catalogue.facts(id)
            family, version = split_id(id)
            vendor = known.family or ground.provider().name
            found.append(
                ModelFactsView(
                    id=id,
                    name=known.name or id,
                    vendor=vendor,
                    family=family,
                    version=version,
                    max_input_tokens=facts.context_window,
                    max_output_tokens=min(facts.max_output or 4096, 32_000),
                )
            )
        return found

    async def _provider(self, id: str) -> tuple[Provider, str]:
        ground = self._ground
        if id == ground.state.model:
            return ground.provider(), id
        chosen = await ground.find_model(id)
        return chosen.provider, chosen.model

    def _account(self, reply: Reply, seconds: float) -> None:
        if self._bench is not None:
            cost = self._bench.ledger.add(reply.model, reply.usage, seconds)
            turn = self._session.turn if self._session is not None else None
            if turn is not None:
                turn.usage += reply.usage
                turn.cost += cost or 0.0

    def _budget(self) -> None:
        if self._bench is not None:
            self._bench.limits.check_budget()

    async def _edit(self, name: str, input: Json) -> str:
        result = await self._invoke(name, input)
        return "\n".join(part.value for part in result.parts if isinstance(part, TextPart))

    async def _invoke(self, name: str, input: Json) -> ToolResult:
        """A plug-in calls a tool: hooks, rules and the person have their say, and surfaces see it."""
        if self._bench is None:
            raise ToolError("the session has not begun")
        work = self._bench.thread.work
        tool = work.box.find(name)
        if tool is None:
            raise ToolError(f"there is no tool {name!r}")
        use = ToolUse(f"plugin_{new_id()}", tool.name, input)
        context = work.context(use)
        try:
            args = tool.decode(input)
        except msgspec.ValidationError as error:
            raise ToolError(f"{name} does not take this input: {error}") from error

        async def preview(value: Json) -> tuple[Display, ...]:
            return await tool.preview(tool.decode(value), context)

        work.emit(ToolCalled(use=use, title=tool.title(args), kind=tool.kind, locations=tool.paths(args)))
        permission = Permission(gate=work.gate, hooks=work.hooks, asks=work.asks, state=work.state, emit=work.emit)
        ruling = await permission.rule(tool, use, preview)
        if not ruling.allowed:
            denied = ResultBlock(use.id, ruling.message, is_error=True)
            work.emit(ToolEnded(tool_use_id=use.id, name=tool.name, result=denied, outcome="denied"))
            raise ToolError(ruling.message)
        if work.before_edit is not None and tool.group == "edit":
            for path in tool.paths(tool.decode(ruling.input)):
                await work.before_edit(use.id, path)
        result = await run_tool(tool, ruling.input, msgspec.structs.replace(context, sandbox=ruling.sandbox))
        block = ResultBlock(use.id, result.content, is_error=result.is_error)
        work.emit(
            ToolEnded(
                tool_use_id=use.id,
                name=tool.name,
                result=block,
                outcome="error" if result.is_error else "ok",
                display=result.display,
                data=result.data,
                edits=result.edits,
            )
        )
        if result.is_error:
            raise ToolError(text_of(result.content))
        return ToolResult(parts=(TextPart(text_of(result.content)),), data=result.data)

    # --- what the person types -----------------------------------------------------------------------------------

    def models(self) -> tuple[ModelInfo, ...]:
        """What plug-ins have told of their models so far, for pickers."""
        return tuple(
            ModelInfo(f"{vendor}/{offer.id}", offer.name or offer.id, offer.detail, offer.max_input_tokens)
            for vendor, offer in self.providing.known_models
        )

    def _commands(self) -> tuple[Builtin, ...]:
        tools = "switch plug-ins' tools on and off"
        feedback = "tell a participant what its last answer was worth"
        return (
            Builtin(name="tools", description=tools, hint="[on|off NAME]", run=self._switch),
            Builtin(name="feedback", description=feedback, hint="good|bad [words]", run=self._feedback),
            Builtin(name="plugins", description="the plug-ins of this session", run=self._list),
        )

    async def _switch(self, arguments: str, desk: Desk) -> Taken:
        action, _, name = arguments.strip().partition(" ")
        known = {entry.name: manifest for manifest, entry in self.tools.candidates()}
        if not action:
            on = {tool.name for tool in self.tools()}
            rows = [f"{'on ' if name in on else 'off'} {name} ({manifest.name})" for name, manifest in known.items()]
            return Taken(local="\n".join(rows) or "No plug-in brings tools here.")
        wanted = self.tools.referred(name.strip()) or ((name.strip(),) if name.strip() in known else ())
        if action not in ("on", "off") or not wanted:
            return Taken(local=f"There is no such tool. There are: {', '.join(known) or 'none'}.")
        if action == "on":
            self.tools.named.update(wanted)
            self.tools.off.difference_update(wanted)
        else:
            self.tools.off.update(wanted)
            self.tools.named.difference_update(wanted)
        self._ground.state.changed("tools")
        return Taken(local=f"{', '.join(wanted)}: {action}.")

    async def _feedback(self, arguments: str, desk: Desk) -> Taken:
        word, _, rest = arguments.strip().partition(" ")
        if word not in ("good", "bad", "helpful", "unhelpful"):
            return Taken(local="Say /feedback good or /feedback bad, with words if you like.")
        helpful = word in ("good", "helpful")
        return Taken(local=await self.participants.feedback(helpful=helpful, words=rest.strip()))

    async def _list(self, arguments: str, desk: Desk) -> Taken:
        rows: list[str] = []
        for manifest in self.registry.every:
            state = "on" if self.registry.is_on(manifest) else "off"
            rows.append(f"{manifest.name} {manifest.version} ({manifest.origin}, {state}): {manifest.description}")
        return Taken(local="\n".join(rows) or "There are no plug-ins.")


def _offered(vendor: str, offer: ModelOffer) -> ModelFactsView:
    family, version = split_id(offer.id)
    return ModelFactsView(
        id=f"{vendor}/{offer.id}",
        name=offer.name or offer.id,
        vendor=vendor,
        family=offer.family or family,
        version=offer.version or version,
        max_input_tokens=offer.max_input_tokens,
        max_output_tokens=offer.max_output_tokens,
    )
