"""`weft plugin check`: everything that a manifest names is imported and looked at."""

import inspect
from collections.abc import Iterator

from weft.errors import ToolError
from weft.extend.manifest import Manifest
from weft.extend.registry import Registry, own_names


def check(manifest: Manifest) -> Iterator[str]:
    """Sentences about what would not work. The manifest itself was read already."""
    registry = Registry((manifest,), switches={}, keys=dict)
    if manifest.origin != "bundled":
        taken = own_names()
        yield from (f"the tool name {tool.name!r} is Weft's own" for tool in manifest.tool if tool.name in taken)
    for tool in manifest.tool:
        yield from _has(registry, manifest, tool.run, f"tool {tool.name}", "invoke", 2)
        yield from _schema(tool.input_schema, tool.name)
    names = {tool.name for tool in manifest.tool} | {tool.reference_name for tool in manifest.tool}
    for one in manifest.tool_set:
        missing = [name for name in one.tools if name not in names]
        if missing:
            yield f"tool set {one.name}: there is no tool {', '.join(missing)} in this plug-in"
    for participant in manifest.participant:
        yield from _has(registry, manifest, participant.run, f"participant {participant.name}", "handle", 3)
    for model in manifest.model_provider:
        for method in ("models", "respond", "count_tokens"):
            yield from _has(registry, manifest, model.run, f"models of {model.vendor}", method, None)
    for server in manifest.mcp_server_provider:
        yield from _has(registry, manifest, server.run, f"servers {server.id}", "servers", 1)
    for agents in manifest.agent_provider:
        yield from _has(registry, manifest, agents.run, f"agents {agents.id}", "agents", 1)


def _has(
    registry: Registry, manifest: Manifest, target: str, what: str, method: str, count: int | None
) -> Iterator[str]:
    try:
        real = registry.load(manifest, target)
    except ToolError as error:
        yield f"{what}: {error}"
        return
    found = getattr(real, method, real if method in ("invoke", "handle") else None)
    if not callable(found):
        yield f"{what}: {target} has no method {method}"
        return
    if count is not None:
        try:
            inspect.signature(found).bind(*range(count))
        except TypeError:
            yield f"{what}: {method} of {target} must take {count} arguments"


def _schema(schema: dict[str, object], name: str) -> Iterator[str]:
    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield f"tool {name}: input_schema is not a JSON schema: {error.message[:200]}"
