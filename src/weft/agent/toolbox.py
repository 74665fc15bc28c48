"""The tools of one thread of work: which the model is told of, and which it may call."""

from collections.abc import Callable, Iterable, Sequence

from weft.schema.messages import ToolSpec
from weft.tools.port import AnyTool


class ToolBox:
    """`sources` are asked anew for each request, because servers come and go. Earlier sources win a name.

    Deferred tools are left out of `specs` until `reveal` names them; they can be called all the same.
    """

    def __init__(
        self,
        sources: Sequence[Callable[[], Iterable[AnyTool]]],
        *,
        offered: Callable[[AnyTool], bool] = lambda _tool: True,
    ) -> None:
        self._sources = list(sources)
        self._offered = offered
        self._revealed: set[str] = set()
        self._specs: dict[int, ToolSpec] = {}

    def add(self, source: Callable[[], Iterable[AnyTool]]) -> None:
        """One more source, after the others."""
        self._sources.append(source)

    def all(self) -> dict[str, AnyTool]:
        found: dict[str, AnyTool] = {}
        for source in self._sources:
            for tool in source():
                if tool.name not in found and self._offered(tool):
                    found[tool.name] = tool
        return found

    def find(self, name: str) -> AnyTool | None:
        tools = self.all()
        if name in tools:
            return tools[name]
        return next((tool for tool in tools.values() if name in tool.aliases), None)

    def reveal(self, names: Iterable[str]) -> None:
        self._revealed.update(names)

    def deferred(self) -> list[AnyTool]:
        return [tool for tool in self.all().values() if tool.deferred and tool.name not in self._revealed]

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(
            self._spec(tool) for tool in self.all().values() if not tool.deferred or tool.name in self._revealed
        )

    def _spec(self, tool: AnyTool) -> ToolSpec:
        spec = self._specs.get(id(tool))
        if spec is None or spec.name != tool.name:
            spec = self._specs[id(tool)] = ToolSpec(tool.name, tool.manual, tool.input_schema)
        return spec

    def narrowed(
        self,
        names: Sequence[str] | None,
        *,
        without: Sequence[str] = (),
        own: Callable[[], Iterable[AnyTool]] | None = None,
    ) -> "ToolBox":
        """For a subagent: never more than here, besides the tools of servers that are its `own`."""
        above = self._offered

        def offered(tool: AnyTool) -> bool:
            if own is not None and any(tool.name == each.name for each in own()):
                return chosen(tool, None, without)
            return above(tool) and chosen(tool, names, without)

        return ToolBox(([own] if own is not None else []) + self._sources, offered=offered)


def chosen(tool: AnyTool, names: Sequence[str] | None, without: Sequence[str] = ()) -> bool:
    """Whether a definition that lists `names` (None for all) and leaves out `without` has the tool. `mcp__server`
    stands for all tools of that server."""
    known = {tool.name, *tool.aliases}
    server = "__".join(tool.name.split("__")[:2])
    if server.startswith("mcp__"):
        known.add(server)
    return not known & set(without) and (names is None or bool(known & set(names)))
