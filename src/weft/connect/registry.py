"""The agents that Weft knows: the data file beside this module, and the person's own `agents.toml` over it."""

import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from weft.errors import SettingsError
from weft.paths import weft_home


class KnownAgent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an agent is found and started. One of `acp`, `port` and `stream` is set; ACP on pipes is tried first."""

    name: str = ""
    title: str
    command: str
    acp: tuple[str, ...] | None = None
    port: tuple[str, ...] | None = None
    stream: tuple[str, ...] | None = None
    version: tuple[str, ...] = ("--version",)
    install: str = ""
    env: dict[str, str] = {}
    proxy: tuple[Literal["anthropic", "openai"], ...] = ()
    """The dialects whose variables (`ANTHROPIC_BASE_URL`, `OPENAI_BASE_URL` and the keys) the agent obeys."""


def known_agents(home: Path | None = None) -> dict[str, KnownAgent]:
    """By name. A person's entry replaces ours of the same name.

    Raises:
        SettingsError: the person's file cannot be read.
    """
    found = _read((Path(__file__).parent / "registry.toml").read_text(encoding="utf-8"), "registry.toml")
    own = (home or weft_home()) / "agents.toml"
    try:
        text = own.read_text(encoding="utf-8")
    except FileNotFoundError:
        return found
    except OSError as error:
        raise SettingsError(f"{own}: cannot be read: {error.strerror}") from error
    return {**found, **_read(text, str(own))}


def _read(text: str, place: str) -> dict[str, KnownAgent]:
    try:
        entries = msgspec.convert(tomllib.loads(text), dict[str, KnownAgent])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(
            f"{place}: {error}", hint="Each entry needs a title, a command and its arguments."
        ) from error
    return {name: msgspec.structs.replace(entry, name=name) for name, entry in entries.items()}
