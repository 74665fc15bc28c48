"""`plugin.toml`: what a plug-in brings, read without importing any of its code."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from weft.errors import UsageError
from weft.schema.content import Json
from weft.schema.events import ToolKind

FILE: Final = "plugin.toml"
_NAME: Final = re.compile(r"[A-Za-z0-9][\w-]{0,63}")
_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,127}")
_TARGET: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_RESERVED: Final = ("copilot_", "vscode_", "weft_", "mcp__")
_ODD: Final = re.compile(r"[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")

Origin = Literal["installed", "local", "bundled"]


class ManifestError(UsageError):
    """A manifest that cannot be used; the message names the file and the entry."""


class ToolEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool for the model. `run` is `module:attribute`, imported on first use. `read_only` says that it changes
    nothing; `paths` names the inputs that are files, so that the person's rules about files hold for them."""

    name: str
    run: str
    display_name: str
    model_description: str
    user_description: str = ""
    reference_name: str = ""
    can_be_referenced: bool = False
    icon: str = ""
    input_schema: Json = {}
    tags: tuple[str, ...] = ()
    when: str = ""
    read_only: bool = False
    kind: ToolKind = "other"
    group: Literal["readonly", "edit", "execution", "other"] = "other"
    paths: tuple[str, ...] = ()


class ToolSetEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A name for several tools: `#name` in a prompt means all of them."""

    name: str
    tools: tuple[str, ...]
    description: str = ""
    icon: str = ""


class Disambiguation(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    category: str
    description: str = ""
    examples: tuple[str, ...] = ()


class CommandEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    description: str = ""
    when: str = ""
    sample_request: str = ""
    sticky: bool = False
    disambiguation: tuple[Disambiguation, ...] = ()


class ParticipantEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Whom a turn can be handed to with `@name`."""

    id: str
    name: str
    run: str
    full_name: str = ""
    description: str = ""
    sticky: bool = False
    sample_request: str = ""
    when: str = ""
    icon: str = ""
    command: tuple[CommandEntry, ...] = ()
    disambiguation: tuple[Disambiguation, ...] = ()


class ModelProviderEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    vendor: str
    run: str
    display_name: str = ""
    when: str = ""


class ServerProviderEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    id: str
    run: str
    label: str = ""
    when: str = ""


class AgentProviderEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`organization` says that the definitions are the organisation's: they win over a project's."""

    id: str
    run: str
    label: str = ""
    organization: bool = False
    when: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One plug-in. `folder` is where its manifest stands; `origin` and `folder` are never in the file."""

    name: str
    version: str = ""
    display_name: str = ""
    description: str = ""
    tool: tuple[ToolEntry, ...] = ()
    tool_set: tuple[ToolSetEntry, ...] = ()
    participant: tuple[ParticipantEntry, ...] = ()
    model_provider: tuple[ModelProviderEntry, ...] = ()
    mcp_server_provider: tuple[ServerProviderEntry, ...] = ()
    agent_provider: tuple[AgentProviderEntry, ...] = ()
    origin: Origin = "installed"
    folder: str = ""


def read(path: Path, *, origin: Origin) -> Manifest:
    """
    Raises:
        ManifestError: it is not there, is not TOML, or something in it cannot be used.
    """
    import tomllib

    try:
        value = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path} is not TOML: {error}") from None
    return decode(value, path, origin=origin)


def decode(value: Json, path: Path, *, origin: Origin) -> Manifest:
    """A manifest from the decoded file: `[plugin]` and the arrays of tables."""
    head = value.get("plugin")
    if not isinstance(head, dict):
        raise ManifestError(f"{path}: the table [plugin] with a name is missing")
    rest = {key: item for key, item in value.items() if key != "plugin"}
    for own in ("origin", "folder"):
        if own in head or own in rest:
            raise ManifestError(f"{path}: {own} cannot be set")
    try:
        made = msgspec.convert({**head, **rest}, Manifest)
    except msgspec.ValidationError as error:
        raise ManifestError(f"{path}: {error}") from None
    found = next(problems(made), None)
    if found is not None:
        raise ManifestError(f"{path}: {found}")
    return msgspec.structs.replace(made, origin=origin, folder=str(path.parent))


# --- what can be wrong --------------------------------------------------------------------------------------


def problems(manifest: Manifest) -> Iterator[str]:
    """Sentences about what cannot be used, the first one first."""
    if not _NAME.fullmatch(manifest.name):
        yield f"the plug-in's name {manifest.name!r} may have letters, digits, _ and - only"
    yield from _twice("tool", [entry.name for entry in manifest.tool])
    yield from _twice("tool set", [entry.name for entry in manifest.tool_set])
    yield from _twice("participant", [entry.name for entry in manifest.participant])
    for tool in manifest.tool:
        yield from (f"tool {tool.name!r}: {problem}" for problem in _tool(tool))
    for entry in manifest.tool_set:
        if not _NAME.fullmatch(entry.name):
            yield f"tool set {entry.name!r}: the name may have letters, digits, _ and - only"
    for participant in manifest.participant:
        yield from (f"participant {participant.name!r}: {problem}" for problem in _participant(participant))
    providers = (*manifest.model_provider, *manifest.mcp_server_provider, *manifest.agent_provider)
    for provider in providers:
        name = provider.vendor if isinstance(provider, ModelProviderEntry) else provider.id
        if not _ID.fullmatch(name):
            yield f"provider {name!r}: the name may have letters, digits, dots, _ and - only"
        yield from (f"provider {name!r}: {problem}" for problem in _common(provider.run, provider.when))


def _twice(what: str, names: list[str]) -> Iterator[str]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"the {what} {name!r} is there twice"


def _common(run: str, when: str) -> Iterator[str]:
    if not _TARGET.fullmatch(run):
        yield f"run = {run!r} is not of the form module:attribute"
    if when.strip():
        from weft.extend.when import WhenError, parse

        try:
            parse(when)
        except WhenError as error:
            yield str(error)


def _tool(tool: ToolEntry) -> Iterator[str]:
    if not _NAME.fullmatch(tool.name):
        yield "the name may have letters, digits, _ and - only"
    if tool.name.startswith(_RESERVED):
        yield f"names that begin with {', '.join(_RESERVED)} are taken"
    if not tool.display_name.strip() or not tool.model_description.strip():
        yield "display_name and model_description must say something"
    if tool.can_be_referenced and not tool.reference_name:
        yield "a tool that can be referenced needs a reference_name"
    if tool.reference_name and not _NAME.fullmatch(tool.reference_name):
        yield f"reference_name {tool.reference_name!r} may have letters, digits, _ and - only"
    if tool.input_schema and tool.input_schema.get("type") != "object":
        yield 'input_schema must be of type "object"'
    yield from _common(tool.run, tool.when)


def _participant(entry: ParticipantEntry) -> Iterator[str]:
    if not _ID.fullmatch(entry.id):
        yield f"the id {entry.id!r} may have letters, digits, dots, _ and - only"
    if not _NAME.fullmatch(entry.name):
        yield "the name may have letters, digits, _ and - only"
    if _ODD.search(entry.full_name):
        yield "full_name has characters that cannot be seen"
    yield from _common(entry.run, entry.when)
    yield from _twice("command", [command.name for command in entry.command])
    for command in entry.command:
        if not _NAME.fullmatch(command.name):
            yield f"command {command.name!r}: the name may have letters, digits, _ and - only"
        yield from (f"command {command.name!r}: {problem}" for problem in _common("a:b", command.when))
