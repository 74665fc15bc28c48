"""Which model, at which server, with whose key: from what was asked for, the settings and the environment."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, cast

import msgspec

from weft.errors import ProviderError, SettingsError, UsageError
from weft.providers.catalogue import Catalogue, ModelFacts, catalogue
from weft.providers.port import Provider
from weft.providers.retry import RetryingProvider, RetryPolicy
from weft.schema.content import Json
from weft.transports.http import HttpLimits

if TYPE_CHECKING:
    from weft.providers.discover import LocalServer

_OPENROUTER: Final = "https://openrouter.ai/api/v1"
_LOCAL: Final = ("ollama", "lmstudio", "llamacpp", "vllm", "gpt4all")
_GGUF: Final = "gguf"
_OLLAMA_WINDOW: Final = 8192
NO_MODEL_HINT: Final = (
    "Set ANTHROPIC_API_KEY, or OPENAI_API_KEY (with OPENAI_BASE_URL for another server), "
    "or start a local model server such as Ollama, or `weft model add` one. `weft demo` needs none of them."
)

Discover = Callable[[], Awaitable["Sequence[LocalServer]"]]
Helper = Callable[[str], Awaitable[str]]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A server and the right to ask it. The secrets are never shown: see `__repr__`."""

    name: str
    dialect: Literal["anthropic", "openai"]
    base_url: str
    key: str | None = None
    token: str | None = None
    headers: dict[str, str] = {}
    key_source: str = "none"
    local: bool = False
    """A server that was found on this machine, or a file that runs here."""
    constraint: str = "json_schema"
    """One of `openai_chat.Constraint`."""

    def __repr__(self) -> str:
        return f"Endpoint({self.name} at {self.base_url}, key from {self.key_source})"


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """`key_source` names where the credential came from, never what it is. `facts.known` is False for a model that
    no catalogue lists."""

    provider: Provider
    model: str
    key_source: str
    endpoint: str
    facts: ModelFacts
    catalogue: Catalogue
    note: str = ""
    """What the person should know of the choice: that nobody asked for this model."""


async def resolve(
    wanted: str | None = None,
    *,
    settings: Json | None = None,
    env: Mapping[str, str],
    fallback: str | None = None,
    find_local: Discover | None = None,
    helper: Helper | None = None,
) -> Resolved:
    """The provider for a model, retries included. `wanted` is an alias, an id, `provider:model`, or nothing;
    `fallback`, or the settings' `fallbackModel`, takes over when that is overloaded.

    Raises:
        UsageError: the wish or the settings cannot be met; the hint says what can.
        ProviderError: there is no key and no local server.
    """
    search = _Search(settings or {}, env, find_local or (lambda: _discover(env)), helper or _run_helper)
    endpoint, model = await search.find(wanted)
    known = search.known
    spare = fallback or search.text("fallbackModel")
    chosen = _profiled(_open(endpoint, env, known), endpoint, known.facts(model), env)
    if getattr(chosen, "keeps_window", False):
        # The profile sends a short prompt whatever the conversation holds: nothing has to be compacted for it.
        known = known.extended({model: {"context_window": 0}})
    provider = RetryingProvider(
        chosen,
        policy=RetryPolicy.from_env(env),
        fallback=known.resolve(spare, env) if spare else None,
    )
    return Resolved(
        provider=provider,
        model=model,
        key_source=endpoint.key_source,
        endpoint=endpoint.name,
        facts=known.facts(model),
        catalogue=known,
        note=search.note,
    )


def _profiled(provider: Provider, endpoint: Endpoint, facts: ModelFacts, env: Mapping[str, str]) -> Provider:
    """A small model is spoken to the way it can answer; whether one is small, the catalogue, its size or a probe
    decides. Models behind a key are taken for large unless the catalogue or the person says otherwise."""
    wish = env.get("WEFT_PROFILE", "")
    if not endpoint.local and wish != "small" and facts.profile != "small":
        return provider
    from weft.paths import weft_home
    from weft.providers.small.choose import ProbedProvider, decided
    from weft.providers.small.provider import SmallProvider

    decision = decided(facts, wish)
    if decision is False:
        return provider
    small = SmallProvider(_plain(provider, endpoint, facts, env), window=facts.context_window)
    if decision:
        return small
    place = weft_home(env) / "probes.json"
    return ProbedProvider(provider, small, model=facts.id, place=place, key=f"{endpoint.base_url} {facts.id}")


def _plain(provider: Provider, endpoint: Endpoint, facts: ModelFacts, env: Mapping[str, str]) -> Provider:
    """Who answers plain messages under a schema: at Ollama its own API, which also sets the context."""
    if endpoint.name != "ollama":
        return provider
    from weft.providers.ollama import OllamaProvider

    window = min(facts.context_window or _OLLAMA_WINDOW, _OLLAMA_WINDOW)
    return OllamaProvider(endpoint.base_url.removesuffix("/v1"), window=window, limits=limits_from(env), env=env)


def limits_from(env: Mapping[str, str]) -> HttpLimits:
    """`API_TIMEOUT_MS` is the wait for an answer to begin; `WEFT_IDLE_TIMEOUT` (seconds) the longest silence in it."""
    first = env.get("API_TIMEOUT_MS", "")
    idle = env.get("WEFT_IDLE_TIMEOUT", "")
    plain = HttpLimits()
    return HttpLimits(
        first_byte=int(first) / 1000 if first.isdigit() and int(first) else plain.first_byte,
        idle=float(idle) if idle.replace(".", "", 1).isdigit() and float(idle) else plain.idle,
    )


def _open(endpoint: Endpoint, env: Mapping[str, str], known: Catalogue) -> Provider:
    if endpoint.name == _GGUF:
        from pathlib import Path

        from weft.paths import weft_home
        from weft.providers.gguf.provider import GgufProvider

        return GgufProvider(Path(endpoint.base_url), folder=weft_home(env) / "run", env=env)
    limits = limits_from(env)
    if endpoint.dialect == "anthropic":
        from weft.providers.anthropic import AnthropicProvider

        betas = tuple(beta.strip() for beta in env.get("ANTHROPIC_BETAS", "").split(",") if beta.strip())
        return AnthropicProvider(
            key=endpoint.key,
            token=endpoint.token,
            base_url=endpoint.base_url,
            headers=endpoint.headers,
            betas=betas,
            limits=limits,
            env=env,
            known=known,
        )
    from weft.protocols.openai_chat import ChatOptions, Constraint
    from weft.providers.openai import OpenAIProvider

    return OpenAIProvider(
        options=ChatOptions(constraint=cast(Constraint, endpoint.constraint)) if endpoint.local else None,
        key=endpoint.key,
        base_url=endpoint.base_url,
        name=endpoint.name,
        headers=endpoint.headers,
        limits=limits,
        env=env,
        known=known,
    )


class _Search:
    def __init__(self, settings: Json, env: Mapping[str, str], find_local: Discover, helper: Helper) -> None:
        self._settings = settings
        self._env = env
        self._find_local = find_local
        self._helper = helper
        self._own = _providers(settings)
        self.note = ""
        self.known = catalogue().extended(settings.get("models"))
        for name, entry in self._own.items():
            self.known = self.known.extended(entry.models, family=name)

    async def find(self, wanted: str | None) -> tuple[Endpoint, str]:
        asked = wanted or self._env.get("WEFT_MODEL") or self._env.get("ANTHROPIC_MODEL") or self.text("model")
        provider = self._env.get("WEFT_PROVIDER") or self.text("provider")
        if asked:
            named, rest = self._split(asked)
            if named:
                return await self._at(named, rest)
        model = self.known.resolve(asked, self._env) if asked else None
        if provider:
            return await self._at(provider, model)
        if model is None:
            return await self._anything()
        return await self._for_model(model)

    def _split(self, asked: str) -> tuple[str | None, str | None]:
        """`ollama:qwen3` names a server of ours; `qwen3:8b` and `openai/gpt-oss` are names of models."""
        name, colon, model = asked.partition(":")
        if colon and name in (*self._own, *_LOCAL, _GGUF, "anthropic", "openai", "openrouter"):
            return name, self.known.resolve(model, self._env) if model else None
        return None, None

    async def _for_model(self, model: str) -> tuple[Endpoint, str]:
        facts = self.known.facts(model)
        if facts.family in self._own:
            return await self._at(facts.family, model)
        anthropic = await self._anthropic()
        if facts.family == "anthropic" and "/" not in model and anthropic is not None:
            return anthropic, model
        openai = self._openai() or self._openrouter()
        if openai is not None and facts.family != "anthropic":
            return openai, model
        if facts.family != "anthropic":
            for server in await self._find_local():
                if any(one.id == model for one in server.models):
                    return self._local(server), model
        # A gateway may know names that we do not, so an unknown one is passed on and flagged.
        if anthropic is not None:
            return anthropic, model
        if openai is not None:
            return openai, model
        raise ProviderError(
            f"there is no key and no server for the model {model!r}", kind="authentication_failed", hint=NO_MODEL_HINT
        )

    async def _anything(self) -> tuple[Endpoint, str]:
        """Nothing was asked for: what there is a key for, else what runs here."""
        anthropic = await self._anthropic()
        if anthropic is not None:
            return anthropic, self.known.resolve("default", self._env)
        openai = self._openai()
        if openai is not None:
            return openai, await self._only_model(openai)
        for server in await self._find_local():
            if server.models:
                best = _best(server)
                self.note = f"No key is set, so {best} of {server.name} on this machine answers."
                return self._local(server), best
        if (found := self._first_file()) is not None:
            self.note = f"No key is set, so the local model {found[1]} answers."
            return found
        raise ProviderError("no model can be reached: no key is set and no local server answers",
                            kind="authentication_failed", hint=NO_MODEL_HINT)  # fmt: skip

    async def _at(self, name: str, model: str | None) -> tuple[Endpoint, str]:
        """At the server that was named."""
        endpoint: Endpoint | None = None
        if name in self._own:
            endpoint = await self._configured(name, self._own[name])
            model = model or next(iter(self._own[name].models), None)
        elif name == "anthropic":
            endpoint = await self._anthropic()
            model = model or self.known.resolve("default", self._env)
        elif name == "openai":
            endpoint = self._openai()
        elif name == "openrouter":
            endpoint = self._openrouter()
        elif name == _GGUF:
            return self._file(model)
        elif name in _LOCAL:
            server = next((one for one in await self._find_local() if one.name == name), None)
            if server is None:
                raise ProviderError(f"{name} does not answer on this machine", kind="connection",
                                    hint=f"Start {name}, or choose another model.")  # fmt: skip
            endpoint, model = self._local(server), model or (_best(server) if server.models else None)
        else:
            known = ", ".join(sorted({*self._own, *_LOCAL, _GGUF, "anthropic", "openai", "openrouter"}))
            raise UsageError(f"there is no provider {name!r}", hint=f"Known are {known}.")
        if endpoint is None:
            raise ProviderError(f"there is no key for {name}", kind="authentication_failed",
                                hint=f"Set {name.upper()}_API_KEY.")  # fmt: skip
        return endpoint, model or await self._only_model(endpoint)

    def _file(self, name: str | None) -> tuple[Endpoint, str]:
        """A GGUF file of this machine."""
        from weft.paths import weft_home
        from weft.providers.gguf.store import Store

        store = Store(weft_home(self._env), self._env)
        if not name:
            name = next(iter(store.all()), None)
        if name is None:
            raise ProviderError("there is no local model yet", kind="model_not_found",
                                hint="weft model add brings one: weft model add --help.")  # fmt: skip
        weights = store.get(name)
        from weft.transports.llama_child import CONTEXT

        window = self._env.get("WEFT_LOCAL_CONTEXT", "")
        self.known = self.known.extended(
            {weights.name: {"context_window": int(window) if window.isdigit() else CONTEXT, "max_output": 2048}},
            family=_GGUF,
        )
        return Endpoint(name=_GGUF, dialect="openai", base_url=weights.path, local=True), weights.name

    def _first_file(self) -> tuple[Endpoint, str] | None:
        from weft.transports.llama_child import has_llama

        if not has_llama():
            return None
        try:
            return self._file(None)
        except ProviderError:
            return None

    async def _only_model(self, endpoint: Endpoint) -> str:
        named = self._env.get("OPENAI_MODEL")
        if named:
            return named
        from weft.providers.discover import Place, discover

        found = await discover(where=[Place(endpoint.name, endpoint.base_url.removesuffix("/v1"))], limit=5.0)
        if found and len(found[0].models) == 1:
            return found[0].models[0].id
        raise UsageError(
            f"{endpoint.base_url} needs a model's name", hint="Say which with --model, or in OPENAI_MODEL."
        )

    async def _anthropic(self) -> Endpoint | None:
        from weft.providers.anthropic import BASE_URL, read_headers

        env = self._env
        base = env.get("ANTHROPIC_BASE_URL") or BASE_URL
        key, token, source = env.get("ANTHROPIC_API_KEY"), env.get("ANTHROPIC_AUTH_TOKEN"), "none"
        if token:
            key, source = None, "ANTHROPIC_AUTH_TOKEN"
        elif key:
            source = "ANTHROPIC_API_KEY"
        elif self.text("apiKeyHelper"):
            key, source = await self._helper(self.text("apiKeyHelper")), "apiKeyHelper"
        elif not _is_loopback(base):
            return None
        return Endpoint(
            name="anthropic",
            dialect="anthropic",
            base_url=base,
            key=key,
            token=token,
            headers=read_headers(env.get("ANTHROPIC_CUSTOM_HEADERS", "")),
            key_source=source,
        )

    def _openai(self) -> Endpoint | None:
        from weft.providers.openai import BASE_URL

        key, base = self._env.get("OPENAI_API_KEY"), self._env.get("OPENAI_BASE_URL")
        if not key and not base:
            return None
        source = "OPENAI_API_KEY" if key else "none"
        return Endpoint(name="openai", dialect="openai", base_url=base or BASE_URL, key=key, key_source=source)

    def _openrouter(self) -> Endpoint | None:
        key = self._env.get("OPENROUTER_API_KEY")
        if not key:
            return None
        return Endpoint(
            name="openrouter", dialect="openai", base_url=_OPENROUTER, key=key, key_source="OPENROUTER_API_KEY"
        )

    def _local(self, server: "LocalServer") -> Endpoint:
        known = {
            m.id: {
                "context_window": m.context_window,
                "tools": m.tools,
                "images": m.images,
                "parameters": m.parameters,
            }
            for m in server.models
        }
        self.known = self.known.extended(known, family=server.name)
        return Endpoint(
            name=server.name, dialect="openai", base_url=f"{server.url}/v1", local=True, constraint=server.constraint
        )

    async def _configured(self, name: str, entry: "_Entry") -> Endpoint:
        key = self._env.get(entry.api_key_env) if entry.api_key_env else None
        source = entry.api_key_env if key else "none"
        if key is None and entry.api_key_helper:
            key, source = await self._helper(entry.api_key_helper), "apiKeyHelper"
        if entry.api_key_env and key is None:
            raise ProviderError(
                f"the provider {name!r} needs a key in {entry.api_key_env}, which is not set",
                kind="authentication_failed",
                hint=f"export {entry.api_key_env}=…",
            )
        bearer = entry.type == "anthropic" and entry.auth == "bearer"
        return Endpoint(
            name=name,
            dialect=entry.type,
            base_url=entry.base_url,
            key=None if bearer else key,
            token=key if bearer else None,
            headers=entry.headers,
            key_source=source,
        )

    def text(self, name: str) -> str:
        value = self._settings.get(name)
        return value if isinstance(value, str) else ""


class _Entry(msgspec.Struct, rename="camel"):
    """One of the settings' `providers`. A key stands in a variable or comes from a command, never in the file."""

    base_url: str
    type: Literal["anthropic", "openai"] = "openai"
    api_key_env: str = ""
    api_key_helper: str = ""
    auth: Literal["key", "bearer"] = "key"
    headers: dict[str, str] = {}
    models: Json = {}


def _providers(settings: Json) -> dict[str, _Entry]:
    section = settings.get("providers")
    if not isinstance(section, dict):
        return {}
    found: dict[str, _Entry] = {}
    for name, entry in cast(Json, section).items():
        try:
            found[name] = msgspec.convert(entry, _Entry)
        except msgspec.ValidationError as error:
            raise SettingsError(f"settings: providers: {name}: {error}") from None
    return found


def _best(server: "LocalServer") -> str:
    """One that is loaded, one that can use tools, else the first."""
    ranked = sorted(server.models, key=lambda model: (model.loaded is not True, model.tools is False))
    return ranked[0].id


def _is_loopback(url: str) -> bool:
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
    except ValueError:
        return False


async def _discover(env: Mapping[str, str]) -> "Sequence[LocalServer]":
    from weft.providers.discover import discover  # only for those without a key

    return await discover(env)


async def _run_helper(command: str) -> str:
    from weft.transports.command import output_of

    text = (await output_of(command)).strip()
    if not text:
        raise ProviderError(
            "the apiKeyHelper printed no key", kind="authentication_failed", hint="Run it in a shell to see why."
        )
    return text
