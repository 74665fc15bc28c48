"""OpenTelemetry spans of calls, where a person configured it. The packages are an extra and loaded only then."""

import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from weft.proxy.calls import Call

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

_log = logging.getLogger(__name__)
_SWITCHES: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")


class Spans:
    """Gives each finished call to a tracer, by the conventions for generative AI."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry.trace import SpanKind

        self._tracer = provider.get_tracer("weft.proxy")
        self._kind = SpanKind.CLIENT
        self._provider = provider

    def record(self, call: Call, *, end_ns: int) -> None:
        """The span has the call's real times, and no prompt or answer."""
        from opentelemetry.trace import Status, StatusCode

        begin = end_ns - int(call.duration * 1e9)
        span = self._tracer.start_span(f"chat {call.model}", kind=self._kind, start_time=begin)
        attributes: dict[str, str | int | float] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": call.upstream,
            "gen_ai.request.model": call.asked or call.model,
            "gen_ai.response.model": call.model,
            "gen_ai.usage.input_tokens": call.input_tokens + call.cache_read_tokens + call.cache_write_tokens,
            "gen_ai.usage.output_tokens": call.output_tokens,
            "http.response.status_code": call.status,
            "weft.who": call.who,
            "weft.retries": call.retries,
        }
        if call.dollars is not None:
            attributes["weft.dollars"] = call.dollars
        if call.error or call.status >= 400:
            attributes["error.type"] = call.error or str(call.status)
            span.set_status(Status(StatusCode.ERROR))
        for name, value in attributes.items():
            span.set_attribute(name, value)
        span.end(end_time=end_ns)

    def close(self) -> None:
        shutdown = getattr(self._provider, "shutdown", None)
        if callable(shutdown):
            shutdown()


def open_spans(env: Mapping[str, str]) -> Spans | None:
    """None unless one of OpenTelemetry's own variables asks for it and its SDK is installed."""
    if not any(env.get(name) not in (None, "", "none") for name in _SWITCHES):
        return None
    try:
        from importlib import import_module

        sdk = import_module("opentelemetry.sdk.trace")
        export = import_module("opentelemetry.sdk.trace.export")
        console = env.get("OTEL_TRACES_EXPORTER") == "console"
        otlp = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
        exporter = export.ConsoleSpanExporter(out=sys.stderr) if console else import_module(otlp).OTLPSpanExporter()
        provider = sdk.TracerProvider()
        provider.add_span_processor(export.BatchSpanProcessor(exporter))
    except ImportError as error:
        _log.warning("OpenTelemetry is configured, but not installed (%s): pip install 'weft[otel]'", error.name)
        return None
    return Spans(provider)
