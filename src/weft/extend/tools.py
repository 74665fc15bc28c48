"""Tools of plug-ins as the model's tools: told from the manifest, imported when they are first called."""

import base64
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from weft.errors import ToolError
from weft.extend.manifest import Manifest, ToolEntry
from weft.schema.content import AnyBlock, Base64Source, Image, Json, Text, text_of
from weft.schema.display import Display, ImageView, LinksView, TextView
from weft.sessions import tokens
from weft.tools.port import AnyTool, Progress, Result, Tool, ToolContext

if TYPE_CHECKING:
    from weft.extend.api import Call, Host, Part, Prepared, ToolResult
    from weft.extend.registry import Registry

BUDGET: Final = 25_000
SHOWN: Final = 4_000
PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")


class PluginArgs(msgspec.Struct, frozen=True):
    """What the model sent, checked against the manifest's schema."""

    input: Json


class PluginTool(Tool[PluginArgs]):
    """One tool of one plug-in."""

    name = ""  # Each instance has its own.
    args = PluginArgs

    def __init__(
        self, manifest: Manifest, entry: ToolEntry, load: Callable[[], object], host: "Callable[[], Host]"
    ) -> None:
        self.manifest = manifest
        self.entry = entry
        self._load = load
        self._host = host
        self.__dict__.update(name=entry.name, kind=entry.kind, group=entry.group)

    @property
    def manual(self) -> str:
        return self.entry.model_description

    @property
    def input_schema(self) -> Json:
        return self.entry.input_schema or {"type": "object", "properties": {}}

    def decode(self, value: Json) -> PluginArgs:
        from weft.mcp.schema_check import problem

        found = problem(self.input_schema, value)
        if found is not None:
            raise msgspec.ValidationError(found)
        return PluginArgs(value)

    def is_read_only(self, args: PluginArgs) -> bool:
        """What others say of their own tools is no permission: the person is asked until a rule allows the tool."""
        if self.manifest.origin != "bundled":
            return False
        own = getattr(self._real(), "read_only", None)
        return bool(own(args.input)) if own is not None else self.entry.read_only

    def title(self, args: PluginArgs) -> str:
        return self.entry.display_name

    def paths(self, args: PluginArgs) -> tuple[str, ...]:
        real = self._real() if self.manifest.origin == "bundled" else None
        own = getattr(real, "paths", None)
        if own is not None:
            return tuple(own(args.input))
        found = [value for key in self.entry.paths if isinstance(value := args.input.get(key), str)]
        return tuple(found)

    async def preview(self, args: PluginArgs, context: ToolContext) -> tuple[Display, ...]:
        """The plug-in's own words about the call, then all of its input: neither is taken for the other."""
        own = getattr(self._real(), "preview", None) if self.manifest.origin == "bundled" else None
        if own is not None:
            return await own(args.input, self._call(context))
        views: list[Display] = []
        prepared = await self._prepare(args, context)
        if prepared is not None and (prepared.title or prepared.confirmation):
            head = f"**{prepared.title}**" if prepared.title else ""
            views.append(TextView("\n\n".join(filter(None, (head, prepared.confirmation))), markdown=True))
        shown = msgspec.json.format(msgspec.json.encode(args.input), indent=2).decode()
        return (*views, TextView(shown, language="json"))

    async def run(self, args: PluginArgs, context: ToolContext) -> Result:
        prepared = await self._prepare(args, context)
        if prepared is not None and prepared.message:
            context.progress(Progress(message=prepared.message))
        call = self._call(context)
        real = self._real()
        invoke = cast("Callable[[Json, Call], Awaitable[Any]]", getattr(real, "invoke", real))
        try:
            answer = await invoke(args.input, call)
        except ToolError:
            raise
        except Exception as error:
            from weft.extend.failures import sentence

            raise ToolError(sentence(self.manifest.name, error)) from error
        if isinstance(answer, Result):
            return answer
        return to_result(answer, context, call.token_budget)

    async def _prepare(self, args: PluginArgs, context: ToolContext) -> "Prepared | None":
        prepare = getattr(self._real(), "prepare", None)
        if prepare is None:
            return None
        try:
            found = prepare(args.input, self._call(context))
            return await found if inspect.isawaitable(found) else found
        except ToolError:
            raise
        except Exception as error:
            from weft.extend.failures import sentence

            raise ToolError(sentence(self.manifest.name, error)) from error

    def _real(self) -> object:
        return self._load()

    def _call(self, context: ToolContext) -> "Call":
        from weft.extend.api import Call

        host = self._host()
        wanted = host.settings.get("tokenBudget")
        budget = wanted if isinstance(wanted, int) and wanted > 0 else BUDGET
        return Call(host=host, context=context, token_budget=budget, count_tokens=tokens.of_text)


def to_result(answer: object, context: ToolContext, budget: int) -> Result:
    """What the model reads and what a person sees. What is over the budget goes to a file."""
    made = as_result(answer)
    blocks: list[AnyBlock] = []
    views: list[Display] = []
    links: list[tuple[str, str]] = []
    for part in made.parts:
        _add(part, blocks, views, links)
    if links:
        views.append(LinksView(tuple(links)))
    text = text_of(tuple(blocks))
    if tokens.of_text(text) > budget:
        path = context.session.spill(f"plugin-{context.use.id}.txt", text.encode("utf-8", "replace"))
        note = (
            f"[The answer is long ({len(text)} characters). All of it is in {path}; read the parts that you need.]\n"
            f"It begins:\n{text[:SHOWN]}"
        )
        blocks = [Text(note), *(block for block in blocks if not isinstance(block, Text))]
    if made.display:
        views = [TextView(made.display), *(view for view in views if not isinstance(view, TextView))]
    return Result(content=tuple(blocks) or "(no output)", display=tuple(views), data=made.data)


def as_result(answer: object) -> "ToolResult":
    """Tools may return a result, some parts, one part, a text, or a value that is shown as JSON."""
    from weft.extend.api import Data, JsonPart, Link, TextPart, ToolResult

    if isinstance(answer, ToolResult):
        return answer
    if isinstance(answer, TextPart | JsonPart | Data | Link):
        return ToolResult(parts=(answer,))
    if answer is None:
        return ToolResult()
    if isinstance(answer, str):
        return ToolResult(parts=(TextPart(answer),))
    items = list(cast("Iterable[object]", answer)) if isinstance(answer, list | tuple) else []
    known = [item for item in items if isinstance(item, TextPart | JsonPart | Data | Link)]
    if known and len(known) == len(items):
        return ToolResult(parts=tuple(known))
    value = cast("object", answer)
    return ToolResult(parts=(JsonPart(value),), data=value)


def _add(part: "Part", blocks: list[AnyBlock], views: list[Display], links: list[tuple[str, str]]) -> None:
    from weft.extend.api import Data, JsonPart, Link, TextPart

    match part:
        case TextPart(value=value):
            blocks.append(Text(value))
            views.append(TextView(value))
        case JsonPart(value=value):
            shown = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
            blocks.append(Text(shown))
            views.append(TextView(shown, language="json"))
        case Link(target=target, label=label):
            blocks.append(Text(f"{label}: {target}" if label else target))
            links.append((label or target, target))
        case Data(data=data, mime=mime) if mime in PICTURES:
            encoded = base64.b64encode(data).decode()
            blocks.append(Image(Base64Source(mime, encoded)))
            views.append(ImageView(mime, encoded))
        case Data(data=data, mime=mime) if mime.startswith("text/") or mime == "application/json":
            text = data.decode("utf-8", "replace")
            blocks.append(Text(text))
            views.append(TextView(text))
        case Data(data=data, mime=mime):
            blocks.append(Text(f"[{len(data)} bytes of {mime}]"))


class PluginTools:
    """The tools of all plug-ins that are on. The same objects as long as their entries are the same. `off` are names
    that the person switched off; `named` those that a prompt named, which are on whatever their plug-in's switch."""

    def __init__(self, registry: "Registry", host: "Callable[[str], Host]") -> None:
        self._registry = registry
        self._host = host
        self._made: dict[str, PluginTool] = {}
        self.off: set[str] = set()
        self.named: set[str] = set()

    def __call__(self) -> Iterable[AnyTool]:
        for manifest, entry in self.candidates():
            if entry.name not in self.off and (entry.name in self.named or self._registry.is_on(manifest)):
                yield self._tool(manifest, entry)

    def candidates(self) -> Iterable[tuple[Manifest, ToolEntry]]:
        """Every tool whose clause is true, its plug-in on or off; each name once."""
        seen: set[str] = set()
        for manifest in self._registry.every:
            if self._registry.is_off(manifest):
                continue
            for entry in manifest.tool:
                if entry.name not in seen and (not entry.when or self._registry.true(entry.when, manifest.name)):
                    seen.add(entry.name)
                    yield manifest, entry

    def _tool(self, manifest: Manifest, entry: ToolEntry) -> PluginTool:
        known = self._made.get(entry.name)
        if known is None or known.entry is not entry:
            known = self._made[entry.name] = PluginTool(
                manifest,
                entry,
                lambda: self._registry.load(manifest, entry.run),
                lambda: self._host(manifest.name),
            )
        return known

    # --- `#name` ----------------------------------------------------------------------------------------------

    def referred(self, name: str) -> tuple[str, ...]:
        """The tools that `#name` means: a reference name, a tool set, or nothing."""
        for _, entry in self.candidates():
            if entry.can_be_referenced and name in (entry.reference_name, entry.name):
                return (entry.name,)
        for manifest in self._registry.every:
            if self._registry.is_off(manifest):
                continue
            for one in manifest.tool_set:
                if one.name == name:
                    return self._members(one.tools)
        return ()

    def _members(self, wanted: Iterable[str]) -> tuple[str, ...]:
        known = {entry.name: entry.name for _, entry in self.candidates()}
        known |= {entry.reference_name: entry.name for _, entry in self.candidates() if entry.reference_name}
        return tuple(known.get(name, name) for name in wanted)
