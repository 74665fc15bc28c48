"""Fields of stream-json messages as our types. Everything a peer sends is optional and may be of the wrong kind."""

from typing import Literal, cast

import msgspec

from weft.protocols.stream_json import is_json
from weft.schema.content import AnyBlock, Json, ToolUse
from weft.schema.events import (
    MODES,
    CommandInfo,
    Denial,
    ModelInfo,
    ModelUsage,
    ServerInfo,
    SessionInfo,
    TaskInfo,
    TurnEnded,
    TurnReason,
)
from weft.schema.messages import Totals, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    Delta,
    MessageDelta,
    MessageStart,
    StreamEvent,
)
from weft.schema.wire import block_from

REASONS: dict[str, TurnReason] = {
    "error_max_turns": "max_turns",
    "error_max_budget_usd": "budget",
    "error_during_execution": "error",
    "error_max_structured_output_retries": "structured_output_failed",
}
ABORTED: dict[str, Literal["streaming", "tools"]] = {"aborted_streaming": "streaming", "aborted_tools": "tools"}
SERVER_STATES = {
    "connected": "ready",
    "failed": "failed",
    "needs-auth": "needs_auth",
    "pending": "connecting",
    "disabled": "disabled",
}


def text(raw: Json, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def number(raw: Json, key: str) -> int:
    value = raw.get(key)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


def amount(raw: Json, key: str) -> float:
    value = raw.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def rows(raw: Json, key: str) -> list[object]:
    value = raw.get(key)
    return cast("list[object]", value) if isinstance(value, list) else []


def names(raw: Json, key: str) -> tuple[str, ...]:
    return tuple(item for item in rows(raw, key) if isinstance(item, str))


def usage_of(value: object) -> Usage:
    if not is_json(value):
        return Usage()
    return Usage(
        input_tokens=number(value, "input_tokens"),
        output_tokens=number(value, "output_tokens"),
        cache_read_input_tokens=number(value, "cache_read_input_tokens"),
        cache_creation_input_tokens=number(value, "cache_creation_input_tokens"),
    )


def session_info(raw: Json, before: SessionInfo, agent_name: str) -> SessionInfo:
    mode = raw.get("permissionMode")
    known = {command.name: command for command in before.commands}
    commands = tuple(known.get(name, CommandInfo(name)) for name in names(raw, "slash_commands"))
    return msgspec.structs.replace(
        before,
        session_id=text(raw, "session_id") or before.session_id,
        cwd=text(raw, "cwd") or before.cwd,
        model=text(raw, "model") or before.model,
        mode=mode if mode in MODES else before.mode,
        directories=names(raw, "additional_directories"),
        tools=names(raw, "tools"),
        commands=commands or before.commands,
        agents=names(raw, "agents"),
        skills=names(raw, "skills"),
        servers=tuple(server_info(row) for row in rows(raw, "mcp_servers") if is_json(row)),
        agent_name=agent_name,
        agent_version=text(raw, "weft_version") or text(raw, "claude_code_version"),
        key_source=text(raw, "apiKeySource") or "none",
    )


def server_info(raw: Json) -> ServerInfo:
    fields = {
        "name": text(raw, "name"),
        "state": SERVER_STATES.get(text(raw, "status"), "disconnected"),
        "scope": text(raw, "source"),
        "error": raw.get("error"),
    }
    return msgspec.convert(fields, ServerInfo)


def initialized(raw: Json, before: SessionInfo) -> SessionInfo:
    """What the answer to `initialize` tells."""
    mode = raw.get("current_permission_mode")
    commands = tuple(
        CommandInfo(text(row, "name"), text(row, "description"), text(row, "argumentHint"))
        for row in rows(raw, "commands")
        if is_json(row)
    )
    models = tuple(
        ModelInfo(text(row, "value"), text(row, "displayName"), text(row, "description"))
        for row in rows(raw, "models")
        if is_json(row)
    )
    agents = tuple(text(row, "name") for row in rows(raw, "agents") if is_json(row))
    return msgspec.structs.replace(
        before,
        commands=commands,
        models=models,
        agents=agents,
        mode=mode if mode in MODES else before.mode,
        agent_version=text(raw, "claude_code_version"),
    )


def stop_reason_of(blocks: list[AnyBlock]) -> str:
    return "tool_use" if any(isinstance(block, ToolUse) for block in blocks) else "end_turn"


def stream_delta(event: Json) -> StreamEvent | None:
    """A raw event of the Messages API; None for what has no place in ours."""
    index = number(event, "index")
    match event.get("type"):
        case "message_start":
            message = event.get("message")
            if not is_json(message):
                return None
            return MessageStart(text(message, "id"), text(message, "model"), usage_of(message.get("usage")))
        case "content_block_start":
            return BlockStart(index, block_from(event.get("content_block")))
        case "content_block_delta":
            try:
                return BlockDelta(index, msgspec.convert(event.get("delta"), Delta))
            except msgspec.ValidationError:
                return None
        case "content_block_stop":
            return BlockStop(index)
        case "message_delta":
            found = event.get("delta")
            delta = found if is_json(found) else {}
            return MessageDelta(text(delta, "stop_reason") or None, usage=usage_of(event.get("usage")))
        case _:
            return None


def turn_ended(raw: Json, turn_id: str) -> TurnEnded:
    subtype, terminal = text(raw, "subtype"), text(raw, "terminal_reason")
    reason: TurnReason = REASONS.get(subtype, "completed")
    interrupted = ABORTED.get(terminal)
    if interrupted is not None:
        reason = "cancelled"
    elif subtype == "success" and raw.get("is_error") is True:
        reason = "prompt_too_long" if terminal == "prompt_too_long" else "error"
    elif terminal in ("hook_stopped", "tool_deferred"):
        reason = "hook_stopped" if terminal == "hook_stopped" else "tool_deferred"
    answer = text(raw, "result")
    errors = "; ".join(names(raw, "errors"))
    failed = reason not in ("completed", "hook_stopped", "tool_deferred")
    status, stop = raw.get("api_error_status"), raw.get("stop_reason")
    return TurnEnded(
        turn_id=turn_id,
        reason=reason,
        text="" if failed else answer,
        error=(errors or answer or reason) if failed else None,
        error_status=status if isinstance(status, int) else None,
        stop_reason=stop if isinstance(stop, str) else None,
        first_token=amount(raw, "ttft_ms") / 1000 if "ttft_ms" in raw else None,
        steps=number(raw, "num_turns"),
        user_messages=max(number(raw, "num_turns") - 1, 0),
        usage=usage_of(raw.get("usage")),
        total_cost=amount(raw, "total_cost_usd"),
        models=models_of(raw),
        totals=_totals(raw.get("session_totals")),
        duration=amount(raw, "duration_ms") / 1000,
        api_duration=amount(raw, "duration_api_ms") / 1000,
        denials=denials_of(raw),
        structured=raw.get("structured_output"),
        has_structured="structured_output" in raw,
        interrupted=interrupted,
        deferred=_deferred(raw.get("deferred_tool_use")),
    )


def _deferred(raw: object) -> ToolUse | None:
    if not is_json(raw):
        return None
    given = raw.get("input")
    return ToolUse(text(raw, "id"), text(raw, "name"), given if is_json(given) else {})


def task_info(raw: Json, before: TaskInfo | None) -> TaskInfo:
    kinds = {"local_bash": "shell", "local_agent": "agent"}
    states = {"completed": "completed", "failed": "failed", "stopped": "stopped", "killed": "stopped"}
    patch = raw.get("patch")
    status = text(raw, "status") or (text(patch, "status") if is_json(patch) else "")
    used = raw.get("usage")
    usage = used if is_json(used) else {}
    old = before or TaskInfo(id=text(raw, "task_id"), kind="agent", description=text(raw, "description"))
    fields: Json = {"state": states.get(status, old.state)}
    if task_type := text(raw, "task_type"):
        fields |= {"kind": kinds.get(task_type, "mcp"), "background": raw.get("is_backgrounded") is True}
    for wire, ours in (
        ("tool_use_id", "tool_use_id"),
        ("subagent_type", "agent"),
        ("prompt", "prompt"),
        ("output_file", "output_file"),
        ("summary", "summary"),
        ("last_tool_name", "last_tool"),
    ):
        if value := text(raw, wire):
            fields[ours] = value
    if usage:
        fields |= {"tool_uses": number(usage, "tool_uses"), "duration": amount(usage, "duration_ms") / 1000}
    return msgspec.structs.replace(old, **fields)


def models_of(raw: Json) -> dict[str, ModelUsage]:
    found = raw.get("modelUsage")
    result: dict[str, ModelUsage] = {}
    for name, row in found.items() if is_json(found) else ():
        if is_json(row):
            usage = Usage(
                input_tokens=number(row, "inputTokens"),
                output_tokens=number(row, "outputTokens"),
                cache_read_input_tokens=number(row, "cacheReadInputTokens"),
                cache_creation_input_tokens=number(row, "cacheCreationInputTokens"),
            )
            result[name] = ModelUsage(
                usage=usage,
                cost=amount(row, "costUSD"),
                context_window=number(row, "contextWindow"),
                max_output=number(row, "maxOutputTokens"),
            )
    return result


def denials_of(raw: Json) -> tuple[Denial, ...]:
    found: list[Denial] = []
    for row in rows(raw, "permission_denials"):
        if is_json(row):
            given = row.get("tool_input")
            found.append(Denial(text(row, "tool_name"), text(row, "tool_use_id"), given if is_json(given) else {}))
    return tuple(found)


def _totals(value: object) -> Totals:
    """What our own agent tells of the whole session; others do not."""
    try:
        return msgspec.convert(value, Totals) if value is not None else Totals()
    except msgspec.ValidationError:
        return Totals()
