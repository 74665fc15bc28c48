"""The parts of the proxy that need no socket."""

import itertools
import json
import os
from base64 import b64encode
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.cli import usage as usage_command
from weft.cli.proxy import options_of, parser, policy_of
from weft.errors import RemoteProtocolError, UsageError
from weft.proxy.calls import Call, CallLog
from weft.proxy.environment import child_environment
from weft.proxy.meter import Meter
from weft.proxy.policy import Account, Policy, Refusal, Reserved
from weft.proxy.question import read_question, with_model
from weft.proxy.scrub import Scrubber
from weft.proxy.tracing import Spans, open_spans
from weft.proxy.upstream import find_upstreams
from weft.schema.messages import Usage

SECRET = "sk-abcabcabd/0+1"


@given(st.lists(st.sampled_from([SECRET, "sk-abc", "abc", "d/0+1", "x", "\n"]), max_size=12), st.data())
def test_a_secret_is_gone_however_the_bytes_are_cut(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts).encode()
    scrub, out, rest = Scrubber([SECRET]), b"", whole
    while rest:
        size = data.draw(st.integers(min_value=1, max_value=len(rest)))
        out += scrub.feed(rest[:size])
        rest = rest[size:]
    out += scrub.finish()
    assert SECRET.encode() not in out and len(out) == len(whole)
    assert out == whole.replace(SECRET.encode(), b"*" * len(SECRET))


def test_other_spellings_of_a_secret_are_hidden_and_other_bytes_are_not_held() -> None:
    scrub = Scrubber([SECRET])
    coded = b64encode(SECRET.encode())
    assert coded.rstrip(b"=") not in scrub.clean(b"basic " + coded)
    assert b"%2F0%2B1" not in scrub.clean(b"key=sk-abcabcabd%2F0%2B1&x")
    data = b"data: plain words\n\n"
    assert scrub.feed(data) is data


ANTHROPIC = [
    b'event: message_start\ndata: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":7,'
    b'"cache_read_input_tokens":3,"output_tokens":1}}}\n\n',
    b'data: {"type":"content_block_delta","delta":{"text":"the \\"usage\\" is {"}}\n\n',
    b'data: {"type":"message_delta","usage":{"output_tokens":42}}\n\n',
]
OPENAI = [
    b'data: {"model":"m","choices":[{"delta":{"content":"hi"}}],"usage":null}\n\n',
    b'data: {"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":42,'
    b'"prompt_tokens_details":{"cached_tokens":3}}}\n\n',
    b"data: [DONE]\n\n",
]


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
@given(cuts=st.lists(st.integers(min_value=1, max_value=400), max_size=6))
def test_the_tokens_of_a_stream_are_read_however_it_is_cut(dialect: str, cuts: list[int]) -> None:
    wire = b"".join(ANTHROPIC if dialect == "anthropic" else OPENAI)
    meter = Meter("anthropic" if dialect == "anthropic" else "openai", stream=True, prompt=99)
    marks = sorted({0, len(wire), *(min(cut, len(wire)) for cut in cuts)})
    for begin, end in itertools.pairwise(marks):
        meter.feed(wire[begin:end])
    found, guessed = meter.result()
    assert (found.input_tokens, found.output_tokens, found.cache_read_input_tokens) == (7, 42, 3)
    assert not guessed and meter.model == "m"


def test_a_stream_that_was_cut_is_estimated() -> None:
    meter = Meter("anthropic", stream=True, prompt=99)
    meter.feed(b"".join(ANTHROPIC[:2]) * 5)
    found, guessed = meter.result()
    assert guessed and found.input_tokens == 7 and found.output_tokens >= 5
    whole = Meter("openai", stream=False, prompt=1)
    whole.feed(b'{"model":"e","usage":{"input_tokens":5,"output_tokens":6}}')
    assert whole.result() == (Usage(input_tokens=5, output_tokens=6), False)


def _price(model: str, usage: Usage) -> float | None:
    return None if model == "odd" else usage.context / 1000


def test_calls_under_way_count_against_the_budget() -> None:
    account = Account(Policy(dollars=1.0), _price)
    first = account.admit("m", "m", 600)
    assert isinstance(first, Reserved)
    assert isinstance(account.admit("m", "m", 600), Refusal)
    assert account.settle(first, "m", Usage(input_tokens=100), 1.0) == pytest.approx(0.1)
    assert isinstance(account.admit("m", "m", 600), Reserved)
    unknown = account.admit("odd", "odd", 1)
    assert isinstance(unknown, Refusal) and "not known" in unknown.message
    assert isinstance(account.admit("odd", "odd", 1, free=True), Reserved)


def test_a_rate_is_a_window_that_moves() -> None:
    now = [0.0]
    account = Account(Policy(calls_per_minute=2, tokens_per_minute=1000), _price, lambda: now[0])
    for _ in range(2):
        found = account.admit("m", "m", 10)
        assert isinstance(found, Reserved)
        account.settle(found, "m", Usage(input_tokens=400), 0.1)
    refused = account.admit("m", "m", 10)
    assert isinstance(refused, Refusal) and refused.retry_after == pytest.approx(60)
    now[0] = 61.0
    assert isinstance(account.admit("m", "m", 1001), Refusal)
    assert isinstance(account.admit("m", "m", 900), Reserved)


def test_a_question_keeps_its_other_values_byte_for_byte() -> None:
    body = b'{"model":"a","x":1.10,"y":{"model":"inner", "z":"\\u00e9"},"MODEL":"b"}'
    found = with_model(read_question(body), "c")
    assert found.body == b'{"model":"c","x":1.10,"y":{"model":"inner", "z":"\\u00e9"}}'
    with pytest.raises(RemoteProtocolError):
        with_model(read_question(b'{"model":"a","models":["b"]}'), "c")


def test_variables_that_hold_the_key_do_not_reach_the_child(tmp_path: Path) -> None:
    rg = tmp_path / "rg"
    base = {
        "ANTHROPIC_AUTH_TOKEN": "x", "CLAUDE_CODE_OAUTH_TOKEN": "y", "MINE": f"a {SECRET} b", "PATH": "/usr/bin",
        "NO_PROXY": "corp", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "64000", "BASH_MAX_OUTPUT_LENGTH": "9",
        "OPENAI_API_KEY": "z",
    }  # fmt: skip
    env = child_environment(base, "http://127.0.0.1:1", "n", secrets=[SECRET], dialects=("anthropic",), ripgrep=str(rg))
    assert not {"ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "MINE", "OPENAI_API_KEY"} & set(env)
    assert env["ANTHROPIC_API_KEY"] == "n" and env["USE_BUILTIN_RIPGREP"] == "0"
    assert env["PATH"] == f"{tmp_path}{os.pathsep}/usr/bin" and env["NO_PROXY"] == "corp,127.0.0.1,localhost"
    assert env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "64000" and env["BASH_MAX_OUTPUT_LENGTH"] == "9"


def test_upstreams_come_from_names_settings_and_the_environment() -> None:
    env = {"ANTHROPIC_API_KEY": "a", "OPENROUTER_API_KEY": "r", "MINE": "m", "OLLAMA_HOST": "127.0.0.1:9"}
    assert [one.name for one in find_upstreams(env)] == ["anthropic", "openrouter"]
    settings = {"providers": {"mine": {"type": "anthropic", "baseUrl": "https://m.example", "apiKeyEnv": "MINE"}}}
    mine, ollama = find_upstreams(env, settings, wanted=["mine", "ollama"])
    assert mine.dialect == "anthropic" and ollama.base_url == "http://127.0.0.1:9/v1" and ollama.local
    assert mine.url("/messages") == "https://m.example/v1/messages" and "m" not in repr(mine.credential.secrets())
    assert find_upstreams({}) == ()
    with pytest.raises(UsageError):
        find_upstreams(env, wanted=["nothing"])
    assert find_upstreams({}, {"apiKeyHelper": "echo k"})[0].credential.source == "the key helper"


def test_the_flags_become_options_and_a_policy() -> None:
    given = [
        "--map",
        "claude-haiku-*=ollama:small",
        "--model",
        "big",
        "--budget",
        "2",
        "--allow",
        "x*",
        "--expires",
        "9",
    ]
    options = parser().parse_args(given)
    assert options_of(options).models == {"claude-haiku-*": "ollama:small", "*": "big"}
    assert policy_of(options) == Policy(models=("x*",), dollars=2.0, seconds=9.0)
    with pytest.raises(UsageError):
        options_of(parser().parse_args(["--map", "x"]))


def _call(day: str, who: str, model: str, dollars: float | None, **more: object) -> Call:
    base = Call(
        time=f"{day}T10:00:00.000Z", who=who, nonce="n", dialect="anthropic", upstream="u", path="/v1/messages",
        model=model, status=200, input_tokens=1000, output_tokens=10, dollars=dollars,
    )  # fmt: skip
    return msgspec.structs.replace(base, **more)


def test_usage_adds_up_by_what_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    log = CallLog()
    assert usage_command.main([]) == 0 and "No calls yet" in capsys.readouterr().out
    log.write(_call("2026-10-31", "claude", "haiku", 0.5))
    log.write(_call("2026-11-01", "claude", "haiku", 0.25, status=529, error="overloaded"))
    log.write(_call("2026-11-01", "qwen", "local", None, estimated=True))
    usage_command.main([])
    text = capsys.readouterr().out
    assert "2026-10-31  haiku" in text and "$0.7500+" in text and "~1,000" in text and "not known" in text
    usage_command.main(["--by", "who", "--since", "2026-11-01", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [(row["who"], row["calls"], row["failed"]) for row in found["rows"]] == [("claude", 1, 1), ("qwen", 1, 0)]
    assert found["total"]["calls"] == 2 and found["total"]["unknown"] == 1
    usage_command.main(["--calls", "--json"])
    assert len(capsys.readouterr().out.splitlines()) == 3
    with pytest.raises(UsageError):
        usage_command.main(["--by", "colour"])
    with pytest.raises(UsageError):
        usage_command.main(["--since", "yesterday"])


def test_a_call_is_a_span_with_its_numbers_and_no_words() -> None:
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, Tracer, TracerProvider

    seen: list[dict[str, object]] = []

    class Span(NonRecordingSpan):
        def __init__(self, name: str) -> None:
            super().__init__(SpanContext(1, 1, False, TraceFlags(1)))
            self.found: dict[str, object] = {"name": name}
            seen.append(self.found)

        def set_attribute(self, key: str, value: object) -> None:
            self.found[key] = value

    class Recording(Tracer):
        def start_span(self, name: str, *args: object, **kwargs: object) -> Span:
            return Span(name)

        def start_as_current_span(self, *args: object, **kwargs: object) -> object:
            raise NotImplementedError

    class Provider(TracerProvider):
        def get_tracer(self, *args: object, **kwargs: object) -> Tracer:
            return Recording()

    spans = Spans(Provider())
    spans.record(_call("2026-11-01", "claude", "haiku", 0.5, error="cut", request="words"), end_ns=10**18)
    assert seen[0]["name"] == "chat haiku" and seen[0]["gen_ai.usage.input_tokens"] == 1000
    assert seen[0]["error.type"] == "cut" and "words" not in repr(seen)
    assert open_spans({}) is None and open_spans({"OTEL_TRACES_EXPORTER": "none"}) is None


def test_a_long_stream_is_metered_by_its_beginning_and_its_end() -> None:
    """The middle of a long answer is passed by unread; what the server counts at the end is found all the same."""
    start = b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":7}}}\n\n'
    middle = b'data: {"type":"content_block_delta","delta":{"text":"word"}}\n\n' * 2000
    end = b'data: {"type":"message_delta","usage":{"output_tokens":5}}\n\ndata: {"type":"message_stop"}\n\n'
    for last in ((middle + end,), (middle, end), (middle + end[:30], end[30:])):
        meter = Meter("anthropic", stream=True, prompt=1)
        for piece in (start, *(middle for _ in range(30)), *last):
            meter.feed(piece)
        usage, estimated = meter.result()
        assert (usage.input_tokens, usage.output_tokens, estimated) == (7, 5, False)


def test_a_long_stream_that_nobody_counts_is_guessed_from_a_part_of_it() -> None:
    event = b'data: {"choices":[{"delta":{"content":"word"}}]}\n\n'
    meter = Meter("openai", stream=True, prompt=3)
    for _ in range(100):
        meter.feed(event * 1000)
    usage, estimated = meter.result()
    assert estimated and usage.input_tokens == 3 and 90_000 <= usage.output_tokens <= 110_000
