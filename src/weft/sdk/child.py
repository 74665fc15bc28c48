"""The agent in a child process, with tools and hooks that stay in this one."""

import sys
from collections.abc import Sequence
from pathlib import Path

from weft.connect.stream_json.connection import HostServer, StreamJsonConnection, StreamJsonOptions
from weft.errors import LocalProtocolError
from weft.protocols.stream_json import is_json
from weft.schema.content import Json, text_of
from weft.schema.wire import encode, to_builtins
from weft.sdk.functions import FunctionTool, to_result
from weft.sdk.options import HookFunction, Options, output_schema
from weft.tools.port import AnyTool

OWN = "own"
"""The server that own tools are told under in a child: `mcp__own__name`."""


def open_child(options: Options) -> StreamJsonConnection:
    servers: dict[str, HostServer] = {}
    if options.own_tools:
        servers[OWN] = own_server(options.own_tools)
    hooks, callbacks = _hooks(options)
    return StreamJsonConnection(
        StreamJsonOptions(
            command=(sys.executable, "-m", "weft"),
            cwd=Path(options.cwd).expanduser().resolve(),
            arguments=tuple(_arguments(options, tuple(servers))),
            env=dict(options.env or {}),
            name="weft",
            resume=options.resume or "",
            ask=bool(options.asks),
            initialize={"agents": dict(options.agents)} if options.agents else {},
            hooks=hooks,
            callbacks=callbacks,
            servers=servers,
        )
    )


def _arguments(options: Options, servers: Sequence[str]) -> list[str]:
    found: list[str] = []
    for flag, value in (
        ("--model", options.model),
        ("--fallback-model", options.fallback_model),
        ("--permission-mode", options.mode),
        ("--system-prompt", options.system_prompt),
        ("--append-system-prompt", options.append_system_prompt),
        ("--agent", options.agent),
        ("--session-id", options.session_id),
        ("--settings", options.settings),
        ("--max-turns", options.max_turns),
        ("--max-budget-usd", options.max_budget),
    ):
        if value is not None:
            found += [flag, str(value)]
    for flag, values in (("--allowedTools", options.allowed_tools), ("--disallowedTools", options.disallowed_tools)):
        if values:
            found += [flag, ",".join(values)]
    if options.tools is not None:
        found += ["--tools", ",".join(options.tools)]
    if options.setting_sources is not None:
        found.append(f"--setting-sources={','.join(options.setting_sources)}")
    for folder in options.directories:
        found += ["--add-dir", str(folder)]
    if (schema := output_schema(options.output)) is not None:
        found += ["--json-schema", encode(schema).decode()]
    mcp: Json = {name: {"type": "sdk", "name": name} for name in servers}
    mcp.update(options.mcp_servers or {})
    if mcp:
        found += ["--mcp-config", encode({"mcpServers": mcp}).decode()]
    switches = {
        "--continue": options.continue_latest,
        "--fork-session": options.fork,
        "--no-session-persistence": not options.persist,
        "--trust": options.trust,
    }
    return [*found, *(flag for flag, on in switches.items() if on)]


def _hooks(options: Options) -> tuple[Json, dict[str, HookFunction]]:
    entries: Json = {}
    callbacks: dict[str, HookFunction] = {}
    for event, functions in (options.hooks or {}).items():
        names = [f"{event}_{index}" for index, _function in enumerate(functions)]
        callbacks.update(zip(names, functions, strict=True))
        entries[event] = [{"matcher": "*", "hookCallbackIds": names}]
    return entries, callbacks


def own_server(tools: Sequence[AnyTool]) -> HostServer:
    """Own tools as an MCP server that is reached by messages: three methods are all that is asked of it."""
    by_name = {tool.name: tool for tool in tools}

    async def answer(message: Json) -> Json:
        method, params = message.get("method"), message.get("params")
        given = params if is_json(params) else {}
        match method:
            case "initialize":
                info = {"name": "weft-own-tools", "version": "1"}
                version = given.get("protocolVersion", "2025-11-25")
                result: Json = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": [_described(tool) for tool in tools]}
            case "tools/call":
                result = await _call(by_name.get(str(given.get("name"))), given.get("arguments"))
            case "notifications/initialized" | "notifications/cancelled":
                return {"jsonrpc": "2.0", "result": {}}
            case _:
                error = {"code": -32601, "message": f"there is no method {method}"}
                return {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
        return {"jsonrpc": "2.0", "id": message.get("id"), "result": result}

    return answer


def _described(tool: AnyTool) -> Json:
    annotations = {"readOnlyHint": tool.read_only}
    schema = tool.input_schema
    return {"name": tool.name, "description": tool.manual, "inputSchema": schema, "annotations": annotations}


async def _call(tool: AnyTool | None, value: object) -> Json:
    if not isinstance(tool, FunctionTool):
        raise LocalProtocolError("Only functions with @weft.tool can be tools of an agent in a child process.")
    try:
        result = to_result(await tool.call(value if is_json(value) else {}))
    except Exception as error:
        import logging

        logging.getLogger(__name__).exception("the tool %s failed", tool.name)
        return {"content": [{"type": "text", "text": f"{type(error).__name__}: {error}"}], "isError": True}
    content = result.content
    if isinstance(content, str):
        return {"content": [{"type": "text", "text": content}], "isError": result.is_error}
    return {"content": [{"type": "text", "text": text_of(content)}], "structuredContent": to_builtins(result.data)}
