"""The settings that Weft knows, as types: the source of the published JSON schema and of what is reported.

Nothing is dropped: unknown keys stay in `Layer.data` and are reported as warnings.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from weft.schema.content import Json
from weft.settings.layers import Problem, Seal, is_object

Behavior = Literal["allow", "ask", "deny"]
Rules = Annotated[list[str], Meta(description="Rules of the form Tool or Tool(specifier).")]


class Permissions(msgspec.Struct, rename="camel", omit_defaults=True):
    """What tools may do. `deny` beats `ask` beats `allow`, whatever file they stand in."""

    allow: Rules = []
    ask: Rules = []
    deny: Rules = []
    additional_directories: Annotated[list[str], Meta(description="More folders to work in, like --add-dir.")] = []
    default_mode: Annotated[str, Meta(description="The mode a session starts in.")] = "default"
    disable_bypass_permissions_mode: Annotated[
        str, Meta(description='"disable" forbids bypassPermissions; it cannot be switched on again by another file.')
    ] = ""
    groups: Annotated[
        dict[Literal["readonly", "edit", "execution", "mcp", "other"], Behavior],
        Meta(description="One behaviour for a whole group of tools."),
    ] = {}


class HookCommand(msgspec.Struct, omit_defaults=True):
    """One hook. A command gets a JSON object on standard input; the other types get the same object in their way."""

    type: Literal["command", "prompt", "agent", "http", "mcp_tool"] = "command"
    command: str = ""
    timeout: Annotated[float, Meta(description="Seconds; 60 unless set.", gt=0)] = 60
    aside: Annotated[bool, Meta(description="Nobody waits for it, and it decides nothing.")] = msgspec.field(
        default=False, name="async"
    )
    prompt: Annotated[str, Meta(description="prompt and agent: a condition; $ARGUMENTS stands for the input.")] = ""
    model: Annotated[str, Meta(description="prompt and agent: who judges; the small model unless set.")] = ""
    url: Annotated[str, Meta(description="http: where the input is posted.")] = ""
    headers: Annotated[dict[str, str], Meta(description="http: may name variables that allowedEnvVars lists.")] = {}
    allowed_env_vars: list[str] = msgspec.field(default_factory=list[str], name="allowedEnvVars")
    server: Annotated[str, Meta(description="mcp_tool: the server.")] = ""
    tool: Annotated[str, Meta(description="mcp_tool: its tool.")] = ""
    input: Annotated[Json, Meta(description="mcp_tool: arguments; ${tool_input.x} stands for a field.")] = {}


class HookMatcher(msgspec.Struct, omit_defaults=True):
    matcher: Annotated[str, Meta(description="A name, A|B, a regular expression, or * for all.")] = "*"
    hooks: list[HookCommand] = []


class SandboxNetwork(msgspec.Struct, rename="camel", omit_defaults=True):
    allow: Annotated[bool, Meta(description="Commands may use the network.")] = False


class Sandbox(msgspec.Struct, rename="camel", omit_defaults=True):
    """The box that shell commands and hooks run in."""

    enabled: Annotated[bool, Meta(description="Commands and hooks run in the box.")] = False
    network: SandboxNetwork | bool = False
    allow_write: Annotated[list[str], Meta(description="More folders that commands may write.")] = []
    keep_env: Annotated[list[str], Meta(description="Secret-looking variables that commands may see.")] = []


class StatusLine(msgspec.Struct, omit_defaults=True):
    type: Literal["command"] = "command"
    command: str = ""
    padding: int = 0


class SettingsFile(msgspec.Struct, rename="camel", omit_defaults=True):
    """A settings.json of Weft."""

    schema: Annotated[str, Meta(description="The address of this schema.")] = msgspec.field(default="", name="$schema")
    permissions: Permissions = msgspec.field(default_factory=Permissions)
    hooks: Annotated[dict[str, list[HookMatcher]], Meta(description="Hooks by event.")] = {}
    env: Annotated[dict[str, str | int | float | bool], Meta(description="Variables for commands and for Weft.")] = {}
    sandbox: Sandbox = msgspec.field(default_factory=Sandbox)
    model: str = ""
    fallback_model: str = ""
    small_model: str = ""
    provider: str = ""
    providers: Annotated[Json, Meta(description="Endpoints and models of your own, by name.")] = {}
    models: Annotated[Json, Meta(description="Models by id: contextWindow, maxOutput, prices, aliases, thinking.")] = {}
    api_key_helper: Annotated[str, Meta(description="A command that prints an API key.")] = ""
    mcp_servers: Annotated[Json, Meta(description="MCP servers by name.")] = {}
    enable_all_project_mcp_servers: bool = False
    enabled_mcpjson_servers: list[str] = []
    disabled_mcpjson_servers: list[str] = []
    status_line: StatusLine | None = None
    output_style: str = ""
    language: str = ""
    theme: str = ""
    editor_mode: str = ""
    verbose: bool = False
    always_thinking_enabled: bool = False
    max_thinking_tokens: int | None = None
    effort_level: str = ""
    auto_compact: bool = True
    auto_compact_enabled: bool = True
    include_co_authored_by: bool = True
    attribution: Json = {}
    cleanup_period_days: int = 30
    disable_all_hooks: bool = False
    allow_managed_hooks_only: Annotated[bool, Meta(description="Policy only: no other file's hooks run.")] = False
    allow_managed_permission_rules_only: Annotated[
        bool, Meta(description="Policy only: no other file's allow rules count.")
    ] = False
    web_search: Annotated[Json, Meta(description="The endpoint that WebSearch asks.")] = {}
    enabled_plugins: Annotated[Json, Meta(description="Plug-ins by name: true switches on, false off.")] = {}
    plugins: Annotated[Json, Meta(description="Settings of plug-ins, by name.")] = {}
    detect_participants: Annotated[
        bool, Meta(description="A prompt that is clearly for a plug-in's participant goes to it without being named.")
    ] = True
    extra_known_marketplaces: Json = {}
    file_suggestion: Json = {}
    otel_headers_helper: str = ""
    aws_auth_refresh: str = ""
    aws_credential_export: str = ""
    plans_directory: str = ""
    respect_gitignore: bool = True
    spinner_tips_enabled: bool = True
    agent: str = ""
    log_level: str = ""
    auto_connect_ide: Annotated[bool, Meta(description="Attach to the editor that has the folder open.")] = False
    share_ide_context: Annotated[bool, Meta(description="Tell the model what you look at in the editor.")] = True
    web_embedders: Annotated[
        tuple[str, ...],
        Meta(description="Yours only: who may show `weft web` in a frame: vscode, a scheme or an origin."),
    ] = ()
    diff_tool: Annotated[Literal["auto", "terminal"], Meta(description="Where changes are shown: auto is both.")] = (
        "auto"
    )


_FIELDS = {field.encode_name: field.type for field in msgspec.structs.fields(SettingsFile)}
_PERMISSIONS = {field.encode_name for field in msgspec.structs.fields(Permissions)}
_GUARDS = ("deny", "ask", "disableBypassPermissionsMode", "groups")


def problems_of(data: Json, path: str, *, policy: bool, text: bytes = b"") -> tuple[tuple[Problem, ...], Seal]:
    """What is unknown or of the wrong shape in a file's content. Each key is judged by itself, so that one mistake
    does not hide another. Wrong shapes where rules stand seal the gate. `text` is the file, for line and column."""
    problems: list[Problem] = []
    seal: Seal = ""
    for key, value in data.items():
        if key not in _FIELDS:
            words = f"unknown key {key!r} is kept and has no effect"
            problems.append(Problem(path, words, *place_of(text, key), level="warning"))
            continue
        if key == "permissions":
            found, bad = _permission_problems(value, path, text)
            problems += found
            seal = ("deny" if policy else "ask") if bad else seal
            continue
        message = _mismatch(value, _FIELDS[key])
        if message:
            problems.append(Problem(path, f"{key}: {message}", *place_of(text, key)))
        for keys in _unknown_inside(value, _FIELDS[key], (key,)):
            words = f"unknown key {'.'.join(keys)!r} is kept and has no effect"
            problems.append(Problem(path, words, *place_of(text, *keys), level="warning"))
    return tuple(problems), seal


def _unknown_inside(value: object, wanted: object, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The keys of objects with a known shape that are none of that shape's."""
    if not is_object(value):
        return
    for shape in (wanted, *get_args(wanted)):
        if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
            fields = {field.encode_name: field.type for field in msgspec.structs.fields(shape)}
            for key, item in value.items():
                if key not in fields:
                    yield (*keys, key)
                else:
                    yield from _unknown_inside(item, fields[key], (*keys, key))


def place_of(text: bytes, *keys: str) -> tuple[int, int]:
    """Line and column of a key, counted from 1; the keys that it stands in come before it. 0, 0 when it is not found,
    as where a key is spelled with escapes."""
    at = 0
    for key in keys:
        found = re.compile(rb'"' + re.escape(key.encode()) + rb'"\s*:').search(text, at)
        if found is None:
            return 0, 0
        at = found.start()
    before = text[:at]
    return before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1


def _permission_problems(value: object, path: str, text: bytes) -> tuple[list[Problem], bool]:
    if not is_object(value):
        return [Problem(path, "permissions: expected an object", *place_of(text, "permissions"))], True
    problems: list[Problem] = []
    sealed = False
    types = {field.encode_name: field.type for field in msgspec.structs.fields(Permissions)}
    for key, item in value.items():
        if key not in _PERMISSIONS:
            words = f"unknown key 'permissions.{key}' is kept and has no effect"
            problems.append(Problem(path, words, *place_of(text, "permissions", key), level="warning"))
            continue
        message = _mismatch(item, types[key])
        if message:
            problems.append(Problem(path, f"permissions.{key}: {message}", *place_of(text, "permissions", key)))
            sealed = sealed or key in _GUARDS
    return problems, sealed


def _mismatch(value: object, wanted: object) -> str:
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        return str(error)
    return ""
