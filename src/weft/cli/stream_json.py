"""`weft --input-format stream-json`: the agent behind an SDK, on standard input and output."""

import os
import sys
from pathlib import Path
from typing import cast

from weft.agent.options import ALL_ASKS, SessionOptions
from weft.agent.session import Session
from weft.cli.arguments import Arguments
from weft.cli.options import to_options
from weft.errors import RemoteProtocolError, UsageError
from weft.protocols.stream_json import is_json
from weft.schema.content import Json
from weft.serve.stream_json.asking import Ask


def main(arguments: Arguments) -> int:
    import anyio

    try:
        return anyio.run(_run, arguments)
    except RemoteProtocolError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1


async def _run(arguments: Arguments) -> int:
    from weft.cli.signals import run_interruptible
    from weft.sdk.compose import Overrides, build
    from weft.sdk.plugin_dirs import told
    from weft.serve.stream_json.control import QUICK, answer
    from weft.serve.stream_json.init import translator
    from weft.serve.stream_json.server import StreamServer
    from weft.transports.stdio import stdio_stream

    asks = arguments.permission_prompt_tool == "stdio"
    reads_state = os.environ.get("CLAUDE_CODE_SDK_READS_SESSION_STATE") == "1"
    options = to_options(arguments, asks=ALL_ASKS if asks else frozenset())

    async def open_session(initialize: Json, ask: Ask) -> Session:
        nonlocal options
        options = with_initialize(options, initialize)
        mirror = server.mirror if arguments.session_mirror else None
        return await build(options, Overrides(ask_host=ask, mirror=mirror))

    server = StreamServer(
        stdio_stream(),
        translator(
            partial=arguments.include_partial_messages,
            replay=arguments.replay_user_messages,
            hook_events=arguments.include_hook_events,
            state_events=reads_state or os.environ.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "") not in ("", "0"),
            state_for_host=reads_state,
            plugins=lambda: told(options.plugin_dirs) if options.plugin_dirs else [],
        ),
        open_session,
        answer,
        quick=QUICK,
        relay=asks,
        echo=arguments.replay_user_messages,
    )
    return await run_interruptible(server.run, server.interrupt)


def with_initialize(options: SessionOptions, initialize: Json) -> SessionOptions:
    """What `initialize` adds to the flags.

    Raises:
        UsageError: a field of the wrong shape.
    """
    import msgspec

    changes: Json = {}
    agents = initialize.get("agents")
    if is_json(agents):
        changes["agents"] = {**(options.agents or {}), **agents}
    hooks = initialize.get("hooks")
    if is_json(hooks):
        changes["hooks"] = hooks
    for field, name in (("systemPrompt", "system_prompt"), ("appendSystemPrompt", "append_system_prompt")):
        value = initialize.get(field)
        if isinstance(value, str):
            changes[name] = value
    if initialize.get("excludeDynamicSections") is True:
        changes["static_prompt"] = True
    if (skills := _names(initialize.get("skills"))) is not None:
        changes["skills"] = skills
    if servers := _names(initialize.get("sdkMcpServers")):
        given = {name: {"type": "sdk", "name": name} for name in servers}
        changes["mcp_servers"] = {**given, **(options.mcp_servers or {})}
    if folders := _plugins(initialize.get("plugins")):
        changes["plugin_dirs"] = (*options.plugin_dirs, *folders)
    schema = initialize.get("jsonSchema")
    if is_json(schema):
        changes["output_schema"] = schema
    try:
        return msgspec.structs.replace(options, **changes)
    except msgspec.ValidationError as error:
        raise UsageError(f"initialize: {error}") from None


def _names(value: object) -> tuple[str, ...] | None:
    return tuple(str(item) for item in cast("list[object]", value)) if isinstance(value, list) else None


def _plugins(value: object) -> tuple[Path, ...]:
    """Plug-ins on this disk: `{"type": "local", "path": …}` each."""
    rows = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(Path(str(row["path"])).expanduser().resolve() for row in rows if is_json(row) and "path" in row)
