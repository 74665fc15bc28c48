"""The `result` message and the fields that several messages share."""

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema.content import Json
from weft.schema.events import ModelUsage, ToolEnded, TurnEnded
from weft.schema.messages import Usage
from weft.schema.wire import to_builtins

SUBTYPES = {
    "max_turns": "error_max_turns",
    "budget": "error_max_budget_usd",
    "cancelled": "error_during_execution",
    "structured_output_failed": "error_max_structured_output_retries",
    "loop": "error_during_execution",
}
TERMINAL = {
    "completed": "completed",
    "local_command": "completed",
    "max_turns": "max_turns",
    "budget": "budget_exhausted",
    "error": "api_error",
    "prompt_too_long": "prompt_too_long",
    "refused": "completed",
    "hook_stopped": "hook_stopped",
    "structured_output_failed": "structured_output_retry_exhausted",
    "loop": "model_error",
    "tool_deferred": "tool_deferred",
}
ERROR_NAMES: dict[ProviderErrorKind, str] = {
    "prompt_too_long": "invalid_request",
    "too_large": "invalid_request",
    "connection": "unknown",
    "timeout": "unknown",
    "cut": "unknown",
    "protocol": "unknown",
}


def error_name(kind: ProviderErrorKind) -> str:
    """The wire's name of a failure."""
    return ERROR_NAMES.get(kind, kind)


def usage_fields(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
        "server_tool_use": {"web_search_requests": usage.web_search_requests, "web_fetch_requests": 0},
        "service_tier": "standard",
    }


def model_fields(model: str, used: ModelUsage) -> Json:
    return {
        "inputTokens": used.usage.input_tokens,
        "outputTokens": used.usage.output_tokens,
        "cacheReadInputTokens": used.usage.cache_read_input_tokens,
        "cacheCreationInputTokens": used.usage.cache_creation_input_tokens,
        "thinkingTokens": used.usage.thinking_tokens,
        "webSearchRequests": used.usage.web_search_requests,
        "costUSD": used.cost,
        "contextWindow": used.context_window,
        "maxOutputTokens": used.max_output,
        "canonicalModel": model,
        "costBasis": "known" if used.cost_known else "unknown",
    }


def result_meta(event: ToolEnded) -> Json:
    """How a tool call came to run, or not to."""
    denied = event.outcome == "denied"
    sources = {"user": "user_reject" if denied else "user_temporary", "hook": "hook"}
    meta: Json = {
        "id": event.tool_use_id,
        "permission_decision": {
            "decision": "reject" if denied else "accept",
            "source": sources.get(event.decision_source, "config"),
            "reason_type": "mode" if event.decision_source == "mode" else "other",
        },
    }
    if denied:
        meta["non_execution_kind"] = "user-rejected" if event.decision_source == "user" else "permission-rule"
    return meta


def api_error_type(kind: ProviderErrorKind) -> str:
    """The provider's own name of a failure, as near as it can be told."""
    return {"authentication_failed": "authentication_error", "rate_limit": "rate_limit_error"}.get(kind, "api_error")


class Counter:
    """Makes `result` messages, counts them, and remembers what was told before."""

    def __init__(self) -> None:
        self._index = 0
        self._told: dict[str, ModelUsage] = {}

    def result(self, event: TurnEnded) -> Json:
        failed = event.reason in ("error", "prompt_too_long")
        subtype = SUBTYPES.get(event.reason, "success")
        turns = 0 if event.steps == 0 else 1 + event.user_messages
        fields: Json = {
            "subtype": subtype,
            "is_error": failed or subtype != "success",
            "duration_ms": round(event.duration * 1000),
            "duration_api_ms": round(event.api_duration * 1000),
            "num_turns": turns,
        }
        if subtype == "success":
            fields["result"] = event.error if failed else event.text
        else:
            fields["errors"] = [event.error or event.reason]
        fields.update(self._details(event))
        self._index += 1
        return fields

    def _details(self, event: TurnEnded) -> Json:
        interrupted = {"streaming": "aborted_streaming", "tools": "aborted_tools", None: ""}[event.interrupted]
        fields: Json = {
            "stop_reason": event.stop_reason,
            "terminal_reason": TERMINAL.get(event.reason) or interrupted or "completed",
            "total_cost_usd": event.total_cost,
            "usage": usage_fields(event.usage),
            "modelUsage": {name: model_fields(name, used) for name, used in event.models.items()},
            "session_totals": to_builtins(event.totals),
            "permission_denials": [
                {"tool_name": row.tool_name, "tool_use_id": row.tool_use_id, "tool_input": row.tool_input}
                for row in event.denials
            ],
            "queued_turn_count": 0,
            "result_index": self._index,
            "safety_stops": 0,
            "fast_mode_state": "off",
            "fast_mode_disabled_reason": None,
            "model_usage_since_last_result": self._since_last(event),
        }
        if event.reason != "max_turns":
            fields["api_error_status"] = event.error_status
        if event.error_kind is not None:
            fields["api_error_type"] = api_error_type(event.error_kind)
        if event.first_token is not None:
            first = round(event.first_token * 1000)
            waited = max(round((event.duration - event.api_duration) * 1000), 0)
            fields |= {"ttft_ms": first, "ttft_stream_ms": first, "first_content_frame_ms": first}
            fields["time_to_request_ms"] = waited
        if event.deferred is not None:
            fields["stop_reason"] = "tool_deferred"
            fields["deferred_tool_use"] = {
                "id": event.deferred.id,
                "name": event.deferred.name,
                "input": event.deferred.input,
            }
        if event.has_structured:
            fields["structured_output"] = event.structured
        return fields

    def _since_last(self, event: TurnEnded) -> Json:
        """Each model's share of this turn: the session's totals less what the result before told."""
        found: Json = {}
        for name, used in event.models.items():
            before = self._told.get(name, ModelUsage())
            usage = Usage(
                *(
                    now - then
                    for now, then in zip(
                        msgspec.structs.astuple(used.usage), msgspec.structs.astuple(before.usage), strict=True
                    )
                )
            )
            if usage != Usage():
                share = msgspec.structs.replace(used, usage=usage, cost=used.cost - before.cost)
                found[name] = model_fields(name, share)
        self._told = dict(event.models)
        return found
