"""The host's control requests: one small function each, in a table. What is not in it gets an error, never silence."""

import os
from collections.abc import Awaitable, Callable

from weft.agent.session import Session
from weft.errors import UsageError
from weft.protocols.stream_json import ControlRequest
from weft.schema.commands import Cancel, DropPrompt, Rewind, ServerCommand, SetTitle, StopTask
from weft.schema.content import Json
from weft.schema.events import ServerInfo
from weft.schema.messages import ThinkingConfig
from weft.schema.wire import to_builtins
from weft.serve.stream_json import inquiries
from weft.serve.stream_json.init import SPOKEN_VERSION, STATES

Handler = Callable[[Session, Json], Awaitable[Json | None]]


async def answer(session: Session, request: ControlRequest) -> Json | None:
    """
    Raises:
        UsageError: the request is not known or cannot be done; its `hint` is the code for the host.
    """
    handler = HANDLERS.get(request.subtype)
    if handler is None:
        raise UsageError(f"Unsupported control request subtype: {request.subtype}", hint="unsupported_request")
    return await handler(session, request.body)


async def _initialize(session: Session, body: Json) -> Json:
    info = session.info
    return {
        "commands": [
            {
                "name": one.name,
                "description": one.description,
                "argumentHint": one.argument_hint,
                "aliases": list(one.aliases),
                "builtin": one.source == "builtin",
            }
            for one in info.commands
        ],
        "agents": [
            {"name": one.name, "description": one.description, **({"model": one.model} if one.model else {})}
            for one in info.staff
        ],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": _models(session),
        "account": {"tokenSource": "none", "apiKeySource": info.key_source, "apiProvider": "firstParty"},
        "pid": os.getpid(),
        "claude_code_version": SPOKEN_VERSION,
        "current_permission_mode": info.mode,
        "hook_on_failure_supported": True,
        "session_state": "running" if session.busy else "idle",
        "capabilities": [],
    }


def _models(session: Session) -> list[Json]:
    return [
        {"value": one.id, "resolvedModel": one.id, "displayName": one.name or one.id, "description": one.description}
        for one in session.info.models
    ]


async def _interrupt(session: Session, body: Json) -> Json:
    await session.send(Cancel(drop_queue=body.get("cancel_queued") is True))
    return {"still_queued": [prompt.id for prompt in session.queue()]}


async def _set_mode(session: Session, body: Json) -> Json:
    from weft.permissions.modes import to_mode

    wanted = str(body.get("mode") or "")
    try:
        mode = to_mode(wanted)
    except UsageError as error:
        raise UsageError(str(error), hint="invalid_mode") from None
    try:
        session.state.set_mode(mode)
    except UsageError as error:
        raise UsageError(str(error), hint="bypass_not_launched") from None
    return {"mode": mode}


async def _set_model(session: Session, body: Json) -> Json:
    model = body.get("model")
    await session.control.set_model(model if isinstance(model, str) and model != "default" else None)
    return {"model": session.info.model}


async def _set_thinking(session: Session, body: Json) -> Json:
    tokens = body.get("max_thinking_tokens")
    budget = tokens if isinstance(tokens, int) else None
    session.state.thinking = ThinkingConfig("enabled" if budget else "disabled", budget or None)
    session.state.changed("thinking")
    return {}


async def _mcp_status(session: Session, body: Json) -> Json:
    return {"mcpServers": [_server(one) for one in session.state.offers.servers()]}


def _server(server: ServerInfo) -> Json:
    row: Json = {
        "name": server.name,
        "status": STATES.get(server.state, "pending"),
        "transport": server.transport,
        "scope": server.scope,
        "source": server.scope,
    }
    if server.state == "ready":
        row["serverInfo"] = {"name": server.name, "version": server.version}
        row["tools"] = [{"name": name, "annotations": {}} for name in server.tools]
    if server.error:
        row["error"] = server.error
    return row


async def _mcp_toggle(session: Session, body: Json) -> Json:
    action = "enable" if body.get("enabled") is not False else "disable"
    await session.control.server(ServerCommand(_name(session, body), action))
    return {}


async def _mcp_reconnect(session: Session, body: Json) -> Json:
    await session.control.server(ServerCommand(_name(session, body), "reconnect"))
    return {}


def _name(session: Session, body: Json) -> str:
    name = str(body.get("serverName") or "")
    if name not in [server.name for server in session.state.offers.servers()]:
        raise UsageError(f"Server not found: {name}")
    return name


async def _context_usage(session: Session, body: Json) -> Json:
    return await session.control.context_usage()


async def _rewind(session: Session, body: Json) -> Json:
    message_id = str(body.get("user_message_id") or "")
    return await session.control.rewind_files(message_id, dry_run=body.get("dry_run") is True)


async def _rewind_conversation(session: Session, body: Json) -> Json:
    command = Rewind(str(body.get("user_message_id") or ""), files=False)
    return {"message": await session.control.rewind(command)}


async def _stop_task(session: Session, body: Json) -> Json:
    try:
        await session.control.stop_task(StopTask(str(body.get("task_id") or "")).task_id)
    except UsageError:
        return {}
    return {}


async def _rename(session: Session, body: Json) -> Json:
    await session.send(SetTitle(str(body.get("title") or "")))
    return {}


async def _cancel_message(session: Session, body: Json) -> Json:
    message_id = str(body.get("message_uuid") or "")
    waiting = message_id in [prompt.id for prompt in session.queue()]
    await session.send(DropPrompt(message_id))
    return {"cancelled": waiting}


async def _models_list(session: Session, body: Json) -> Json:
    return {"models": _models(session)}


async def _version(session: Session, body: Json) -> Json:
    from weft import __version__

    return {"version": SPOKEN_VERSION, "weft_version": __version__}


async def _cost(session: Session, body: Json) -> Json:
    ledger = session.limits.ledger
    return {"text": f"Total cost: ${ledger.total_cost:.4f}", "total_cost_usd": ledger.total_cost}


async def _usage(session: Session, body: Json) -> Json:
    ledger = session.limits.ledger
    models = {name: to_builtins(used) for name, used in ledger.models().items()}
    return {"total_cost_usd": ledger.total_cost, "models": models}


async def _nothing(session: Session, body: Json) -> Json:
    return {}


QUICK = frozenset(
    (
        "mcp_status",
        "list_models",
        "get_binary_version",
        "get_session_cost",
        "get_usage",
        "set_permission_mode",
        "set_max_thinking_tokens",
        "interrupt",
        "cancel_async_message",
        "rename_session",
        "keep_alive",
    )
)
"""Requests that wait for nobody: they are answered before the next line is read."""

HANDLERS: dict[str, Handler] = {
    "initialize": _initialize,
    "interrupt": _interrupt,
    "set_permission_mode": _set_mode,
    "set_model": _set_model,
    "set_max_thinking_tokens": _set_thinking,
    "mcp_status": _mcp_status,
    "mcp_toggle": _mcp_toggle,
    "mcp_reconnect": _mcp_reconnect,
    "get_context_usage": _context_usage,
    "rewind_files": _rewind,
    "rewind_conversation": _rewind_conversation,
    "stop_task": _stop_task,
    "rename_session": _rename,
    "cancel_async_message": _cancel_message,
    "list_models": _models_list,
    "get_binary_version": _version,
    "get_session_cost": _cost,
    "get_usage": _usage,
    "keep_alive": _nothing,
    "get_settings": inquiries.get_settings,
    "apply_flag_settings": inquiries.apply_flag_settings,
    "list_permission_rules": inquiries.list_permission_rules,
    "get_hooks_listing": inquiries.get_hooks_listing,
    "background_tasks": inquiries.background_tasks,
    "reload_skills": inquiries.reload_files,
    "reload_plugins": inquiries.reload_files,
    "reload_output_styles": inquiries.reload_files,
    "generate_session_title": inquiries.generate_session_title,
    "complete": inquiries.complete,
    "seed_read_state": inquiries.seed_read_state,
    "mcp_set_servers": inquiries.mcp_set_servers,
    "read_file": inquiries.read_file,
    "file_suggestions": inquiries.file_suggestions,
}
