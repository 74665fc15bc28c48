"""What a model server's refusal means: status, headers and body to one `StreamFailed` with a sentence and a hint."""

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema.content import Json
from weft.schema.stream import StreamFailed

_BY_STATUS: Final[dict[int, ProviderErrorKind]] = {
    400: "invalid_request",
    401: "authentication_failed",
    402: "billing_error",
    403: "authentication_failed",
    404: "model_not_found",
    408: "timeout",
    413: "too_large",
    422: "invalid_request",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_BY_TYPE: Final[dict[str, ProviderErrorKind]] = {
    "api_error": "server_error",
    "authentication_error": "authentication_failed",
    "billing_error": "billing_error",
    "context_length_exceeded": "prompt_too_long",
    "exceed_context_size_error": "prompt_too_long",
    "insufficient_quota": "billing_error",
    "invalid_api_key": "authentication_failed",
    "invalid_request_error": "invalid_request",
    "model_not_found": "model_not_found",
    "not_found_error": "model_not_found",
    "overloaded_error": "overloaded",
    "permission_error": "authentication_failed",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "request_too_large": "too_large",
    "server_error": "server_error",
    "timeout_error": "timeout",
}
_RETRYABLE: Final = ("rate_limit", "overloaded", "server_error", "timeout", "connection", "cut")
_HINTS: Final[dict[ProviderErrorKind, str]] = {
    "authentication_failed": "Check the key: it is missing, wrong, or not allowed to use this model.",
    "billing_error": "Check the account's balance with the provider.",
    "model_not_found": "Check the model's name, and that this server has it.",
    "prompt_too_long": "Shorten the conversation with /compact, or begin a new one.",
    "too_large": "Send fewer or smaller images and files.",
}
_TOO_LONG: Final = (
    "prompt is too long",
    "maximum context length",
    "context window",
    "context length",
    "exceeds the available context",
)


def failure(
    kind: ProviderErrorKind,
    message: str,
    *,
    status: int | None = None,
    hint: str | None = None,
    retryable: bool | None = None,
    retry_after: float | None = None,
    request_id: str | None = None,
) -> StreamFailed:
    """A failure with the hint and the verdict that its kind usually has."""
    return StreamFailed(
        error=kind,
        message=message,
        status=status,
        retryable=kind in _RETRYABLE if retryable is None else retryable,
        retry_after=retry_after,
        request_id=request_id,
        hint=hint or _HINTS.get(kind),
    )


def failure_of_error(
    type: str, message: str, *, status: int | None = None, request_id: str | None = None
) -> StreamFailed:
    """An error object of the stream or of a body, in either dialect."""
    kind = _BY_TYPE.get(type) or _kind_of_status(status)
    if kind in ("invalid_request", "unknown") and any(text in message.lower() for text in _TOO_LONG):
        kind = "prompt_too_long"
    return failure(kind, message or type or "the server gave no reason", status=status, request_id=request_id)


def failure_of_answer(status: int, headers: Mapping[str, str], body: bytes, *, server: str) -> StreamFailed:
    """An answer that is not a reply. `headers` have lower-case names; `server` is its address, for the sentence."""
    request_id = headers.get("request-id") or headers.get("x-request-id")
    error = error_in(body)
    if error is not None:
        type, message = error
        found = failure_of_error(type, message, status=status, request_id=request_id)
    elif status < 400:
        return _failure_of_strange(status, headers, body, server=server, request_id=request_id)
    else:
        what = "a web page" if is_html(headers, body) else "no reason" if not body.strip() else repr(_head(body))
        found = failure(
            _kind_of_status(status),
            f"{server} answered {status} with {what}",
            status=status,
            request_id=request_id,
            hint=_HINTS.get(_kind_of_status(status))
            or "Check that the address is a model server's, and that it is up.",
        )
    retryable = _may_help(status, found, headers)
    return msgspec.structs.replace(found, retryable=retryable, retry_after=retry_after_of(headers))


def _failure_of_strange(
    status: int, headers: Mapping[str, str], body: bytes, *, server: str, request_id: str | None
) -> StreamFailed:
    hint = "Check the base URL: it must be the address of a model API, without a path of its own pages."
    if is_html(headers, body):
        text = f"{server} answered with a web page instead of a model's reply"
    elif not body.strip():
        text, hint = f"{server} answered with an empty body", "Try again; if it stays so, look at the server's log."
    else:
        kind = headers.get("content-type") or "no content type"
        text = f"{server} answered with something that is no model's reply ({kind}): {_head(body)!r}"
    return failure("protocol", text, status=status, hint=hint, request_id=request_id)


def error_in(body: bytes) -> tuple[str, str] | None:
    """(type, message) of the error object that a body is, in any of the shapes that servers use."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return error_in_value(value)


def error_in_value(value: object) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    outer = cast(Json, value)
    inner = outer.get("error", outer if outer.get("type") == "error" or "choices" not in outer else None)
    if isinstance(inner, str):
        return "", inner
    if not isinstance(inner, dict):
        return None
    error = cast(Json, inner)
    message = error.get("message") or error.get("detail") or error.get("error_description")
    if message is None:
        return None
    text = message if isinstance(message, str) else msgspec.json.encode(message).decode()
    for name in (error.get("code"), error.get("type")):
        if isinstance(name, str) and name in _BY_TYPE:
            return name, text
    kind = error.get("type")
    return kind if isinstance(kind, str) else "", text


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Seconds: from `retry-after-ms`, or `retry-after` as a number or a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        text = headers.get("retry-after", "")
        return max(0.0, float(text)) if text else None
    except ValueError:
        return _seconds_until(headers.get("retry-after", ""), headers.get("date", ""))


def _seconds_until(date: str, now: str) -> float | None:
    from email.utils import parsedate_to_datetime  # rare, and it loads half of the email package

    # Both dates are the server's own, so its clock may be wrong.
    try:
        return max(0.0, (parsedate_to_datetime(date) - parsedate_to_datetime(now)).total_seconds())
    except (ValueError, TypeError):
        return None


def is_html(headers: Mapping[str, str], body: bytes) -> bool:
    start = body[:200].lstrip().lower()
    return "text/html" in headers.get("content-type", "").lower() or start.startswith((b"<!doctype html", b"<html"))


def _kind_of_status(status: int | None) -> ProviderErrorKind:
    if status is None:
        return "unknown"
    return _BY_STATUS.get(status, "server_error" if status >= 500 else "unknown" if status < 400 else "invalid_request")


def _may_help(status: int, found: StreamFailed, headers: Mapping[str, str]) -> bool:
    """A 401 may be a key that is just being renewed. `x-should-retry` is the server's own word."""
    said = headers.get("x-should-retry", "").lower()
    if said in ("true", "false"):
        return said == "true"
    return found.retryable or status in (401, 409)


def _head(body: bytes) -> str:
    text = body[:120].decode("utf-8", "replace").strip()
    return text + ("…" if len(body) > 120 else "")
