"""What plug-ins provide when they are asked: models, MCP servers and agent definitions."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

from weft.errors import WeftError
from weft.extend.api import AgentOffer, Host, HttpServer, ModelOffer, ModelProvider, StdioServer
from weft.extend.failures import sentence
from weft.extend.offered import PluginProvider
from weft.extend.registry import Registry
from weft.schema.content import Json


class Providing:
    """Asks the providers of all plug-ins that are on. One that fails is left out, and said."""

    def __init__(self, registry: Registry, host: Callable[[str], Host]) -> None:
        self._registry = registry
        self._host = host
        self.known_models: tuple[tuple[str, ModelOffer], ...] = ()

    async def models(self) -> tuple[tuple[str, ModelOffer], ...]:
        """(vendor, model) of all plug-ins."""
        self.known_models = tuple([(vendor, offer) async for vendor, offer, _, _ in self._offers()])
        return self.known_models

    async def _offers(self) -> AsyncIterator[tuple[str, ModelOffer, ModelProvider, Host]]:
        for manifest, entry in self._registry.entries(lambda manifest: manifest.model_provider):
            host = self._host(manifest.name)
            try:
                source = cast("ModelProvider", self._registry.load(manifest, entry.run))
                offers = tuple(await source.models(host))
            except Exception as error:  # noqa: BLE001 - one plug-in's failure is not the others'; logged
                sentence(manifest.name, error)
                continue
            for offer in offers:
                yield entry.vendor, offer, source, host

    async def model(self, wanted: str) -> tuple[str, ModelOffer, PluginProvider] | None:
        """The model that a name means: `vendor/id` or `vendor:id`, or the id alone."""
        async for vendor, offer, source, host in self._offers():
            if wanted in (f"{vendor}/{offer.id}", f"{vendor}:{offer.id}", offer.id):
                return vendor, offer, PluginProvider(vendor, source, offer, host)
        return None

    async def servers(self) -> tuple[Json, list[str]]:
        """MCP servers by name, in the form of a configuration, and sentences about what could not be had."""
        found: Json = {}
        problems: list[str] = []
        for manifest, entry in self._registry.entries(lambda manifest: manifest.mcp_server_provider):
            host = self._host(manifest.name)
            try:
                source = self._registry.load(manifest, entry.run)
                for server in await cast("Any", source).servers(host):
                    resolved = await _resolved(source, server, host)
                    if resolved is not None:
                        found[_server_name(resolved.label, found)] = _config(resolved)
            except Exception as error:  # noqa: BLE001 - told to the person, and logged by `sentence`
                problems.append(f"The servers of {entry.label or entry.id}: {sentence(manifest.name, error)}")
        return found, problems

    def agents(self) -> Iterator[tuple[AgentOffer, bool]]:
        """Agent definitions, and whether they are the organisation's."""
        for manifest, entry in self._registry.entries(lambda manifest: manifest.agent_provider):
            try:
                source = self._registry.load(manifest, entry.run)
                offers = tuple(cast("Any", source).agents(self._host(manifest.name)))
            except Exception as error:  # noqa: BLE001 - logged by `sentence`; the other agents stay
                sentence(manifest.name, error)
                continue
            # A project's own plug-in does not speak for the organisation.
            yield from ((offer, entry.organization and manifest.origin == "installed") for offer in offers)


async def _resolved(source: object, server: StdioServer | HttpServer, host: Host) -> StdioServer | HttpServer | None:
    resolve = getattr(source, "resolve", None)
    if resolve is None:
        return server
    found = resolve(server, host)
    return await found if inspect.isawaitable(found) else found


def _server_name(label: str, taken: Json) -> str:
    import re

    base = re.sub(r"[^\w-]+", "-", label).strip("-") or "server"
    name, count = base, 2
    while name in taken:
        name, count = f"{base}-{count}", count + 1
    return name


def _config(server: StdioServer | HttpServer) -> Json:
    if isinstance(server, HttpServer):
        if not server.url.startswith(("https://", "http://")):
            raise WeftError(f"{server.label}: {server.url!r} is not the address of a server")
        return {"type": "http", "url": server.url, "headers": dict(server.headers)}
    config: Json = {"type": "stdio", "command": server.command, "args": list(server.args)}
    config["env"] = {key: value if value is not None else "" for key, value in server.env.items()}
    if server.cwd:
        config["cwd"] = server.cwd
    return config
