"""What is known of models: names, windows, limits, prices, abilities. The data are in `models.json`.

A model that is not listed is flagged (`known` is False) and nothing of it is made up. The one exception are Claude
models newer than the list: their ids follow a scheme, and so do their limits.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, cast

import msgspec

from weft.errors import SettingsError
from weft.schema.content import Json
from weft.schema.events import ModelInfo

LONG_CONTEXT: Final = "context-1m-2025-08-07"
"""The beta that opens a window of a million tokens on models that have it as an option."""
_LONG_SUFFIX: Final = "[1m]"
_MILLION: Final = 1_000_000
_DATED: Final = re.compile(r"(-\d{8}|@\d{8}|-latest|-v\d+(:\d+)?|:[a-z]+)+$")


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars for a million tokens. Above `above` tokens of prompt every price is `above_factor` times as high,
    the output's `above_output_factor` times where that is given."""

    input: float
    output: float
    cache_read: float | None = None
    """A tenth of `input` where it is not given."""
    cache_write: float | None = None
    """One and a quarter of `input` where it is not given."""
    above: int | None = None
    above_factor: float = 1.0
    above_output_factor: float | None = None


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one model; 0 and None where nothing is."""

    id: str
    name: str = ""
    description: str = ""
    family: str = ""
    """`anthropic`, `openai` or a provider of the settings; empty when it is not known."""
    context_window: int = 0
    max_output: int = 0
    long_context: bool = False
    thinking: Literal["", "budget", "adaptive"] = ""
    effort: bool = False
    images: bool | None = None
    tools: bool | None = None
    profile: Literal["", "small", "full"] = ""
    """`small` is spoken to one action at a time (`providers.small`); empty where its size or a probe decides."""
    parameters: int = 0
    betas: tuple[str, ...] = ()
    prices: Prices | None = None
    aliases: tuple[str, ...] = ()
    known: bool = True


class _File(msgspec.Struct):
    aliases: dict[str, str]
    models: list[ModelFacts]


class Catalogue:
    """Models and aliases. Entries of the settings come before the built-in ones."""

    def __init__(self, models: Mapping[str, ModelFacts], aliases: Mapping[str, str]) -> None:
        self._models = dict(models)
        self._aliases = {**aliases, **{alias: one.id for one in models.values() for alias in one.aliases}}

    def extended(self, section: object, *, family: str = "") -> "Catalogue":
        """With the `models` of a settings file: an object by model id, whose keys are those of `ModelFacts`.

        Raises:
            SettingsError: an entry cannot be used; the message says which and why.
        """
        if not section:
            return self
        if not isinstance(section, dict):
            raise SettingsError("settings: models: expected an object of models by id")
        models: dict[str, ModelFacts] = {}
        for id, entry in cast(Json, section).items():
            before = msgspec.to_builtins(self._models.get(id, ModelFacts(id=id, family=family)))
            given = (
                {_snake(key): value for key, value in cast(Json, entry).items()} if isinstance(entry, dict) else entry
            )
            try:
                merged = {**before, **cast(Json, given), "id": id} if isinstance(given, dict) else given
                models[id] = msgspec.convert(merged, ModelFacts)
            except msgspec.ValidationError as error:
                raise SettingsError(f"settings: models: {id}: {error}") from None
        return Catalogue({**self._models, **models}, self._aliases)

    def resolve(self, name: str, env: Mapping[str, str] | None = None) -> str:
        """An alias becomes an id; `ANTHROPIC_DEFAULT_OPUS_MODEL` and the like say what theirs is. Other names stay."""
        base, suffix = (name.removesuffix(_LONG_SUFFIX), _LONG_SUFFIX) if name.endswith(_LONG_SUFFIX) else (name, "")
        key = base.lower()
        chosen = (env or {}).get(f"ANTHROPIC_DEFAULT_{key.upper()}_MODEL", "") if key.isalpha() else ""
        return (chosen or self._aliases.get(key, base)) + suffix

    def facts(self, model: str, betas: tuple[str, ...] = ()) -> ModelFacts:
        """What is known of a model, by its id in any of the spellings that gateways use."""
        wants_long = model.endswith(_LONG_SUFFIX) or LONG_CONTEXT in betas
        id = model.removesuffix(_LONG_SUFFIX)
        found = self._models.get(id) or self._guess(id)
        if wants_long and found.family == "anthropic":
            found = msgspec.structs.replace(found, context_window=_MILLION)
        return found

    def choices(self) -> tuple[ModelInfo, ...]:
        """What a person may choose by name: the models that have an alias."""
        names: dict[str, list[str]] = {}
        for alias, id in self._aliases.items():
            names.setdefault(id, []).append(alias)
        return tuple(
            ModelInfo(id, one.name or id, one.description, one.context_window or None, tuple(aliases))
            for id, aliases in names.items()
            if (one := self.facts(id)).known
        )

    def _guess(self, id: str) -> ModelFacts:
        plain = _plain(id)
        found = self._models.get(plain)
        if found is None:
            return _by_scheme(id, plain)
        # Through a gateway the limits hold; what it charges is its own business.
        through = "/" in id or not id.lower().startswith("claude")
        return msgspec.structs.replace(found, id=id, prices=None if through else found.prices)


def _plain(id: str) -> str:
    """`us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `anthropic/claude-sonnet-4.5` are `claude-sonnet-4-5`."""
    lower = id.lower()
    at = lower.find("claude-")
    return _DATED.sub("", lower[at:] if at >= 0 else lower).replace(".", "-")


def _by_scheme(id: str, plain: str) -> ModelFacts:
    if not plain.startswith("claude"):
        return ModelFacts(id=id, known=False)
    return ModelFacts(
        id=id, family="anthropic", context_window=200_000, max_output=_output_by_scheme(plain), known=False
    )


def _output_by_scheme(plain: str) -> int:
    if "3-5" in plain:
        return 8192
    if "claude-3-opus" in plain:
        return 4096
    if "opus-4-5" in plain:
        return 64_000
    if "opus-4" in plain:
        return 32_000
    if "sonnet-4" in plain or "haiku-4" in plain:
        return 64_000
    return 32_000


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: "_" + found[1].lower(), key)


@cache
def catalogue() -> Catalogue:
    """The built-in one."""
    file = msgspec.json.decode(Path(__file__).with_name("models.json").read_bytes(), type=_File)
    return Catalogue({one.id: one for one in file.models}, file.aliases)


def facts(model: str, betas: tuple[str, ...] = ()) -> ModelFacts:
    """What the built-in catalogue knows."""
    return catalogue().facts(model, betas)
