"""The servers behind the proxy: where they are, what they speak, and the credential they get."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, cast
from urllib.parse import urlsplit

import msgspec

from weft.errors import SettingsError, UsageError
from weft.providers.anthropic import BASE_URL as ANTHROPIC_URL
from weft.providers.anthropic import read_headers
from weft.providers.catalogue import Catalogue
from weft.providers.discover import places
from weft.providers.openai import BASE_URL as OPENAI_URL
from weft.providers.openai import with_version
from weft.proxy.credentials import Credential, EnvKey, HelperKey, NoKey
from weft.schema.content import Json

Dialect = Literal["anthropic", "openai"]
_OPENROUTER: Final = "https://openrouter.ai/api/v1"


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """`headers` are the person's own, sent with every call."""

    name: str
    dialect: Dialect
    base_url: str
    credential: Credential
    headers: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Upstream({self.name} at {self.base_url}, key from {self.credential.source})"

    @property
    def local(self) -> bool:
        """On this machine, where nothing is charged."""
        return urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")

    def url(self, target: str) -> str:
        """`target` is path and query below `/v1`, such as `/messages?beta=true`."""
        if self.dialect == "anthropic":
            return self.base_url.rstrip("/").removesuffix("/v1") + "/v1" + target
        return with_version(self.base_url) + target

    def authorization(self, key: str | None) -> dict[str, str]:
        headers = {name.lower(): value for name, value in self.headers.items()}
        if key and (self.dialect == "openai" or self.credential.bearer):
            headers["authorization"] = f"Bearer {key}"
        elif key:
            headers["x-api-key"] = key
        return headers

    def secrets(self) -> tuple[str, ...]:
        """The person's own headers may hold a token, so their longer values count."""
        return (*self.credential.secrets(), *(value for value in self.headers.values() if len(value) >= 16))


def pick(upstreams: Sequence[Upstream], dialect: Dialect, model: str, known: Catalogue) -> Upstream:
    """Who answers: the family that the model is of, else whoever speaks as the client does, else the first."""
    family = known.facts(model).family
    if family in ("anthropic", "openai"):
        for one in upstreams:
            if one.dialect == family:
                return one
    return next((one for one in upstreams if one.dialect == dialect), upstreams[0])


class _Entry(msgspec.Struct, rename="camel"):
    base_url: str
    type: Dialect = "openai"
    api_key_env: str = ""
    api_key_helper: str = ""
    auth: Literal["key", "bearer"] = "key"
    headers: dict[str, str] = {}


def find_upstreams(
    env: Mapping[str, str],
    settings: Json | None = None,
    *,
    wanted: Sequence[str] = (),
    credential: Credential | None = None,
    dialect: Dialect | None = None,
) -> tuple[Upstream, ...]:
    """Those that are named, else all that the environment has a credential for. A name is `anthropic`, `openai`,
    `openrouter`, a local server's, one of the settings' `providers`, or an address.

    Raises:
        UsageError: a name means nothing here.
    """
    settings = settings or {}
    if not wanted:
        found = [one for one in (_anthropic(env, settings), _openai(env), _openrouter(env)) if one is not None]
        if credential is None:
            return tuple(found)
        if not found:
            found = [_address(OPENAI_URL if dialect == "openai" else ANTHROPIC_URL, dialect)]
    else:
        found = [_named(name, env, settings, dialect) for name in wanted]
    if credential is not None:
        found = [msgspec.structs.replace(one, credential=credential) for one in found[:1]]
    return tuple(found)


def _named(name: str, env: Mapping[str, str], settings: Json, dialect: Dialect | None) -> Upstream:
    if name.startswith(("http://", "https://")):
        return _address(name, dialect)
    built_in = {"anthropic": _anthropic(env, settings), "openai": _openai(env), "openrouter": _openrouter(env)}
    if name in built_in:
        found = built_in[name]
        if found is not None:
            return found
        base = {"anthropic": ANTHROPIC_URL, "openai": OPENAI_URL, "openrouter": _OPENROUTER}[name]
        return _address(base, "anthropic" if name == "anthropic" else "openai", name)
    own = _providers(settings)
    if name in own:
        return _configured(name, own[name], env)
    for place in places(env):
        if place.name == name:
            return Upstream(name=name, dialect="openai", base_url=f"{place.url}/v1", credential=NoKey())
    listed = ", ".join((*built_in, *own, *(place.name for place in places(env))))
    raise UsageError(f"there is no upstream {name!r}", hint=f"It is an address, or one of {listed}.")


def _address(url: str, dialect: Dialect | None, name: str = "") -> Upstream:
    host = urlsplit(url).hostname
    if not host:
        raise UsageError(f"{url!r} is not an address", hint="Write it as https://host/v1.")
    spoken: Dialect = dialect or ("anthropic" if host.endswith("anthropic.com") else "openai")
    return Upstream(name=name or host, dialect=spoken, base_url=url, credential=NoKey())


def _anthropic(env: Mapping[str, str], settings: Json) -> Upstream | None:
    base, helper = env.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL, settings.get("apiKeyHelper")
    credential: Credential = NoKey()
    if env.get("ANTHROPIC_AUTH_TOKEN"):
        credential = EnvKey("ANTHROPIC_AUTH_TOKEN", env, bearer=True)
    elif env.get("ANTHROPIC_API_KEY"):
        credential = EnvKey("ANTHROPIC_API_KEY", env)
    elif isinstance(helper, str) and helper:
        credential = HelperKey(helper)
    found = Upstream(
        name="anthropic",
        dialect="anthropic",
        base_url=base,
        credential=credential,
        headers=read_headers(env.get("ANTHROPIC_CUSTOM_HEADERS", "")),
    )
    reachable = not isinstance(credential, NoKey) or (bool(env.get("ANTHROPIC_BASE_URL")) and found.local)
    return found if reachable else None


def _openai(env: Mapping[str, str]) -> Upstream | None:
    key, base = env.get("OPENAI_API_KEY"), env.get("OPENAI_BASE_URL")
    if not key and not base:
        return None
    credential: Credential = EnvKey("OPENAI_API_KEY", env) if key else NoKey()
    return Upstream(name="openai", dialect="openai", base_url=base or OPENAI_URL, credential=credential)


def _openrouter(env: Mapping[str, str]) -> Upstream | None:
    if not env.get("OPENROUTER_API_KEY"):
        return None
    credential = EnvKey("OPENROUTER_API_KEY", env)
    return Upstream(name="openrouter", dialect="openai", base_url=_OPENROUTER, credential=credential)


def _providers(settings: Json) -> dict[str, _Entry]:
    section = settings.get("providers")
    found: dict[str, _Entry] = {}
    for name, entry in cast(Json, section).items() if isinstance(section, dict) else ():
        try:
            found[name] = msgspec.convert(entry, _Entry)
        except msgspec.ValidationError as error:
            raise SettingsError(f"settings: providers: {name}: {error}") from None
    return found


def _configured(name: str, entry: _Entry, env: Mapping[str, str]) -> Upstream:
    bearer = entry.auth == "bearer"
    credential: Credential = NoKey()
    if entry.api_key_env:
        credential = EnvKey(entry.api_key_env, env, bearer=bearer)
    elif entry.api_key_helper:
        credential = HelperKey(entry.api_key_helper)
        credential.bearer = bearer
    return Upstream(
        name=name, dialect=entry.type, base_url=entry.base_url, credential=credential, headers=entry.headers
    )


__all__ = ["Dialect", "Upstream", "find_upstreams", "pick"]
