"""What plug-in code gets of a session: one `Host` for each plug-in."""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec

from weft.extend.api import Model, ToolInformation, ToolResult
from weft.extend.models import Access, ModelFactsView, SessionModel, choose
from weft.schema.content import Json

logger = logging.getLogger(__name__)


class Services(msgspec.Struct, kw_only=True):
    """The session's side of every host."""

    home: Path
    folders: Callable[[], tuple[Path, ...]]
    settings: Callable[[str], Json]
    set_context: Callable[[str, object], None]
    spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
    tools: Callable[[], tuple[ToolInformation, ...]]
    invoke: Callable[[str, Json], Awaitable[ToolResult]]
    models: Callable[[], Awaitable[Sequence[ModelFactsView]]]
    current: Callable[[], str]
    """The id of the model that the session uses."""
    may_send: Callable[[str], bool | None]
    access: Access


class PluginHost:
    """Implements `api.Host`."""

    def __init__(self, plugin: str, services: Services) -> None:
        self.plugin = plugin
        self._services = services
        self.lm = PluginModels(plugin, services)

    @property
    def folders(self) -> tuple[Path, ...]:
        return self._services.folders()

    @property
    def storage(self) -> Path:
        folder = self._services.home / "plugins" / self.plugin
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def settings(self) -> Json:
        return self._services.settings(self.plugin)

    def set_context(self, key: str, value: object) -> None:
        self._services.set_context(f"{self.plugin}.{key}", value)

    def spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        async def guarded() -> None:
            try:
                await work()
            except Exception:
                logger.exception("background work of the plug-in %s failed", self.plugin)

        self._services.spawn(guarded)


class PluginModels:
    """Implements `api.LanguageModels`."""

    def __init__(self, plugin: str, services: Services) -> None:
        self._plugin = plugin
        self._services = services

    @property
    def tools(self) -> tuple[ToolInformation, ...]:
        return self._services.tools()

    async def invoke_tool(self, name: str, input: Json) -> ToolResult:
        return await self._services.invoke(name, input)

    async def select(self, *, vendor: str = "", family: str = "", version: str = "", id: str = "") -> list[Model]:
        found: list[Model] = [
            SessionModel(facts, self._plugin, self._services.access) for facts in await self._services.models()
        ]
        return choose(found, vendor=vendor, family=family, version=version, id=id)

    async def current(self) -> Model | None:
        """The model that the person chose for the session."""
        found = await self.select(id=self._services.current())
        return found[0] if found else None

    def can_send(self) -> bool | None:
        return self._services.may_send(self._plugin)
