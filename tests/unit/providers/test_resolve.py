"""Which provider, which model, whose key."""

import pytest

from weft.errors import ProviderError, SettingsError, UsageError, WeftError
from weft.providers.catalogue import LONG_CONTEXT, catalogue, facts
from weft.providers.costs import price
from weft.providers.discover import LocalModel, LocalServer, Place, discover, places
from weft.providers.resolve import Resolved, resolve
from weft.schema.messages import Usage
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_openai import FakeOpenAI
from weft.testing.fake_server import web_page

KEY = {"ANTHROPIC_API_KEY": "k"}
OLLAMA = LocalServer(
    name="ollama",
    url="http://127.0.0.1:11434",
    models=(LocalModel(id="llama3", tools=False), LocalModel(id="qwen3:8b", context_window=40960, tools=True)),
)


async def found(
    wanted: str | None = None,
    env: dict[str, str] | None = None,
    settings: dict[str, object] | None = None,
    local: tuple[LocalServer, ...] = (),
) -> Resolved:
    async def find_local() -> tuple[LocalServer, ...]:
        return local

    async def helper(command: str) -> str:
        return f"key of {command}"

    return await resolve(wanted, settings=settings, env=env or {}, find_local=find_local, helper=helper)


@pytest.mark.parametrize(
    ("wanted", "env", "settings", "expected"),
    [
        (None, KEY, {}, ("anthropic", "claude-opus-5-5", "ANTHROPIC_API_KEY")),
        ("sonnet", KEY, {}, ("anthropic", "claude-sonnet-5-5", "ANTHROPIC_API_KEY")),
        ("haiku", {**KEY, "ANTHROPIC_DEFAULT_HAIKU_MODEL": "small"}, {}, ("anthropic", "small", "ANTHROPIC_API_KEY")),
        ("fable", KEY, {}, ("anthropic", "claude-fable-5-2", "ANTHROPIC_API_KEY")),
        ("sonnet[1m]", KEY, {}, ("anthropic", "claude-sonnet-5-5[1m]", "ANTHROPIC_API_KEY")),
        (None, {**KEY, "ANTHROPIC_MODEL": "sonnet"}, {"model": "haiku"},
         ("anthropic", "claude-sonnet-5-5", "ANTHROPIC_API_KEY")),
        (None, KEY, {"model": "haiku"}, ("anthropic", "claude-haiku-5-5", "ANTHROPIC_API_KEY")),
        ("future-model", KEY, {}, ("anthropic", "future-model", "ANTHROPIC_API_KEY")),
        (None, {**KEY, "ANTHROPIC_AUTH_TOKEN": "t"}, {}, ("anthropic", "claude-opus-5-5", "ANTHROPIC_AUTH_TOKEN")),
        (None, {}, {"apiKeyHelper": "pass"}, ("anthropic", "claude-opus-5-5", "apiKeyHelper")),
        (None, {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, {}, ("anthropic", "claude-opus-5-5", "none")),
        ("gpt-x", {"OPENAI_API_KEY": "k"}, {}, ("openai", "gpt-x", "OPENAI_API_KEY")),
        ("gpt-x", {**KEY, "OPENAI_API_KEY": "k"}, {}, ("openai", "gpt-x", "OPENAI_API_KEY")),
        ("opus", {**KEY, "OPENAI_API_KEY": "k"}, {}, ("anthropic", "claude-opus-5-5", "ANTHROPIC_API_KEY")),
        (None, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "m"}, {}, ("openai", "m", "none")),
        ("a/b", {"OPENROUTER_API_KEY": "k"}, {}, ("openrouter", "a/b", "OPENROUTER_API_KEY")),
        ("openai:opus", {**KEY, "OPENAI_API_KEY": "k"}, {}, ("openai", "claude-opus-5-5", "OPENAI_API_KEY")),
    ],
)  # fmt: skip
async def test_the_wish_the_settings_and_the_environment_decide(
    wanted: str | None, env: dict[str, str], settings: dict[str, object], expected: tuple[str, str, str]
) -> None:
    one = await found(wanted, env, settings)
    assert (one.endpoint, one.model, one.key_source) == expected


async def test_a_local_server_is_used_when_there_is_no_key() -> None:
    one = await found(local=(OLLAMA,))
    assert (one.endpoint, one.model, one.key_source) == ("ollama", "qwen3:8b", "none")
    assert one.facts.context_window == 40960 and one.facts.tools is True


async def test_a_local_model_is_found_by_its_name() -> None:
    assert (await found("llama3", KEY, local=(OLLAMA,))).endpoint == "ollama"
    assert (await found("ollama:llama3", KEY, local=(OLLAMA,))).model == "llama3"


@pytest.mark.parametrize(
    ("wanted", "settings", "kind", "says"),
    [
        (None, {}, ProviderError, "ANTHROPIC_API_KEY"),
        ("opus", {}, ProviderError, "ANTHROPIC_API_KEY"),
        ("ollama:x", {}, ProviderError, "Start ollama"),
        ("openai:x", {}, ProviderError, "OPENAI_API_KEY"),
        (None, {"provider": "nobody"}, UsageError, "anthropic"),
        ("own:x", {"providers": {"own": {"baseUrl": "http://x", "apiKeyEnv": "OWN_KEY"}}}, ProviderError, "OWN_KEY"),
    ],
)
async def test_what_is_missing_is_named_with_what_to_do(
    wanted: str | None, settings: dict[str, object], kind: type[WeftError], says: str
) -> None:
    with pytest.raises(kind) as caught:
        await found(wanted, {}, settings)
    assert caught.value.hint is not None and says in caught.value.hint


async def test_a_provider_and_its_models_come_from_the_settings() -> None:
    settings = {
        "providers": {
            "own": {
                "baseUrl": "http://127.0.0.1:9/v1",
                "apiKeyEnv": "OWN_KEY",
                "models": {
                    "big": {
                        "contextWindow": 5000,
                        "maxOutput": 100,
                        "aliases": ["b"],
                        "prices": {"input": 1, "output": 2},
                    }
                },
            }
        },
        "models": {"claude-opus-5-5": {"maxOutput": 7}},
    }  # fmt: skip
    one = await found("b", {"OWN_KEY": "secret", **KEY}, settings)
    assert (one.endpoint, one.model, one.key_source) == ("own", "big", "OWN_KEY")
    assert (one.facts.context_window, one.facts.max_output, one.facts.known) == (5000, 100, True)
    assert price("big", Usage(input_tokens=1_000_000), one.catalogue) == 1.0
    assert one.catalogue.facts("claude-opus-5-5").max_output == 7
    assert "secret" not in repr(one)


@pytest.mark.parametrize(
    "settings",
    [{"models": {"x": {"contextWindow": "large"}}}, {"models": [1]}, {"providers": {"x": {"type": "openai"}}}],
)  # fmt: skip
async def test_settings_of_a_wrong_shape_are_told(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"settings: (models|providers)"):
        await found("opus", KEY, settings)


@pytest.mark.parametrize(
    ("model", "window", "output", "known"),
    [
        ("claude-opus-5-5", 1_000_000, 128_000, True),
        ("claude-sonnet-4-5-20250929", 200_000, 64_000, True),
        ("claude-sonnet-4-5[1m]", 1_000_000, 64_000, True),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 64_000, True),
        ("anthropic/claude-sonnet-4.5", 200_000, 64_000, True),
        ("claude-3-5-sonnet-20241022", 200_000, 8192, True),
        ("claude-3-opus-latest", 200_000, 4096, True),
        ("claude-opus-4-1", 200_000, 32_000, True),
        ("claude-haiku-4", 200_000, 64_000, False),
        ("claude-code-20250219", 200_000, 32_000, False),
        ("qwen3:8b", 0, 0, False),
    ],
)
def test_limits_of_models(model: str, window: int, output: int, known: bool) -> None:
    one = facts(model)
    assert (one.context_window, one.max_output, one.known) == (window, output, known)


def test_the_beta_opens_the_long_window() -> None:
    assert facts("claude-sonnet-4-5", (LONG_CONTEXT,)).context_window == 1_000_000


def test_a_person_may_choose_by_name() -> None:
    choices = {choice.id: choice for choice in catalogue().choices()}
    assert "sonnet" in choices["claude-sonnet-5-5"].aliases


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("claude-sonnet-4-6", Usage(input_tokens=1_000_000), 3.0),
        ("claude-sonnet-4-6", Usage(output_tokens=1_000_000), 15.0),
        ("claude-sonnet-4-6", Usage(cache_read_input_tokens=1_000_000), 0.3),
        ("claude-sonnet-4-6", Usage(cache_creation_input_tokens=1_000_000), 3.75),
        ("claude-sonnet-4-5", Usage(input_tokens=200_000, output_tokens=1_000_000), 15.6),
        ("claude-sonnet-4-5[1m]", Usage(input_tokens=1_000_000, output_tokens=1_000_000), 28.5),
        ("claude-haiku-5-5", Usage(input_tokens=100_000, output_tokens=1_000_000), 0.51),
        ("claude-haiku-5-5", Usage(input_tokens=100_001, output_tokens=1_000_000), 2.5500005),
        ("claude-opus-5-5", Usage(web_search_requests=3), 0.03),
        ("claude-fable-5-2", Usage(input_tokens=5), None),
        ("anthropic/claude-sonnet-4.5", Usage(input_tokens=5), None),
        ("qwen3", Usage(input_tokens=5), None),
    ],
)
def test_what_a_reply_costs(model: str, usage: Usage, dollars: float | None) -> None:
    cost = price(model, usage)
    assert cost == (None if dollars is None else pytest.approx(dollars))


async def test_local_servers_are_asked_at_once_and_say_what_their_models_can() -> None:
    show = {"model_info": {"qwen3.context_length": 40960}, "capabilities": ["completion", "tools"]}
    rows = {
        "data": [
            {"id": "lm", "max_context_length": 8192, "loaded_context_length": 4096, "type": "vlm", "state": "loaded"}
        ]
    }
    vllm = {"data": [{"id": "v", "max_model_len": 32768}, {"id": "text-embed", "max_model_len": 512}]}
    async with (
        FakeOpenAI(models=["qwen3"], extra={"/api/show": show}) as ollama,
        FakeOpenAI(models=["lm"], extra={"/api/v0/models": rows}) as lmstudio,
        FakeOpenAI(extra={"/v1/models": vllm}) as served,
        FakeAnthropic([web_page()], extra={"/v1/models": []}) as other,
    ):
        where = [
            Place("ollama", ollama.url),
            Place("lmstudio", lmstudio.url),
            Place("vllm", served.url),
            Place("gpt4all", other.url),
            Place("llamacpp", "http://127.0.0.1:1"),
        ]
        servers = await discover(where=where, limit=5.0)
    assert servers == (
        LocalServer(
            name="ollama", url=ollama.url,
            models=(LocalModel(id="qwen3", context_window=40960, tools=True, images=False),),
        ),
        LocalServer(
            name="lmstudio", url=lmstudio.url,
            models=(LocalModel(id="lm", context_window=4096, images=True, loaded=True),),
        ),
        LocalServer(name="vllm", url=served.url, models=(LocalModel(id="v", context_window=32768),)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("host", "url"),
    [("", "http://127.0.0.1:11434"), ("0.0.0.0:9", "http://127.0.0.1:9"), ("box", "http://box:11434"),
     ("https://box:1/", "https://box:1")],
)  # fmt: skip
def test_ollama_may_live_elsewhere(host: str, url: str) -> None:
    assert places({"OLLAMA_HOST": host})[0].url == url


async def test_the_only_model_of_a_server_need_not_be_named() -> None:
    async with FakeOpenAI(models=["one"]) as server, FakeOpenAI(models=["one", "two"]) as many:
        assert (await found(env=server.env())).model == "one"
        with pytest.raises(UsageError, match="needs a model's name"):
            await found(env=many.env())


async def test_a_key_helper_is_run_and_its_failure_told() -> None:
    async def nothing() -> tuple[LocalServer, ...]:
        return ()

    one = await resolve("opus", settings={"apiKeyHelper": "echo k"}, env={}, find_local=nothing)
    assert one.key_source == "apiKeyHelper"
    with pytest.raises(WeftError, match="failed with 3"):
        await resolve("opus", settings={"apiKeyHelper": "exit 3"}, env={}, find_local=nothing)
    with pytest.raises(ProviderError, match="printed no key"):
        await resolve("opus", settings={"apiKeyHelper": "true"}, env={}, find_local=nothing)
