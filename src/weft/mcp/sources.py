"""Where servers are configured, and which entry wins: every file of a person, a project, a plugin or a company.

An entry replaces another of the same name whole: flag, then local, project, user, plugin. A managed file is
exclusive. Files that belong to other programs are read and never written.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

import msgspec

from weft.mcp.config import InputSpec, ServerConfig, decode_entry, decode_inputs
from weft.mcp.expand import expand
from weft.mcp.places import Dialect, Options, Place, parse, places
from weft.mcp.trust import Approvals
from weft.paths import weft_home
from weft.schema.content import Json


class Found(msgspec.Struct, frozen=True):
    """All servers by name, and sentences about files that could not be used."""

    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[str, ...] = ()


def find_servers(options: Options) -> Found:
    """Every configured server, the best entry of each name, with its standing."""
    env = os.environ if options.env is None else options.env
    problems: list[str] = []
    chosen: dict[str, ServerConfig] = {}
    for file in places(options, env):
        for config in _read(file, options.folder, problems):
            if config.name in chosen or _same_endpoint(config, chosen.values()):
                continue
            chosen[config.name] = expand(config, env, options.folder, file.places)
    approvals = Approvals(options.home or weft_home(env))
    return Found(tuple(_stand(config, options, approvals) for config in chosen.values()), tuple(problems))


def read_file(path: Path, dialect: Dialect) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """The entries of one file as they are written: nothing expanded, nothing judged."""
    problems: list[str] = []
    found = _read(Place(path=path, scope="user", dialect=dialect), path.parent, problems)
    return tuple(found), tuple(problems)


def _same_endpoint(config: ServerConfig, others: Iterable[ServerConfig]) -> bool:
    """A plugin's server gives way to any that reaches the same place."""
    return config.scope == "plugin" and any(other.endpoint == config.endpoint for other in others)


def _stand(config: ServerConfig, options: Options, approvals: Approvals) -> ServerConfig:
    if config.standing in ("invalid", "disabled"):
        return config
    refusal = options.policy.refusal(config) if options.policy is not None else ""
    if refusal:
        return msgspec.structs.replace(config, standing="denied", problem=refusal)
    if config.name in options.disabled:
        return msgspec.structs.replace(config, standing="disabled", problem="switched off in settings")
    if config.scope != "project" or options.trust_project:
        return config
    if options.enable_all or config.name in options.enabled:
        return config
    return msgspec.structs.replace(config, standing=approvals.standing(options.folder, config))


def _read(file: Place, folder: Path, problems: list[str]) -> Sequence[ServerConfig]:
    data = file.data
    if data is None:
        try:
            text = file.path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            if file.scope == "flag":
                problems.append(f"{file.path}: there is no such file")
            return ()
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{file.path}: cannot be read ({error})")
            return ()
        data = parse(_strip_comments(text) if file.dialect == "vscode" else text)
    if data.get("problem") and len(data) == 1:
        problems.append(f"{file.path}: {data['problem']}")
        return ()
    table, inputs, sandbox = _servers(file, data, folder)
    return [_entry(file, name, raw, inputs, sandbox) for name, raw in table.items()]


def _servers(file: Place, data: Json, folder: Path) -> tuple[Json, tuple[InputSpec, ...], Json | None]:
    if file.path.name == "devcontainer.json":
        for key in ("customizations", "vscode", "mcp"):
            data = _table(data.get(key))
    if file.scope == "local":
        data = _table(_table(data.get("projects")).get(str(folder)))
    if file.dialect == "vscode":
        sandbox = data.get("sandbox")
        found = cast("Json", sandbox) if isinstance(sandbox, dict) else None
        return _table(data.get("servers")), decode_inputs(data.get("inputs")), found
    key = "servers" if file.scope == "flag" and "mcpServers" not in data else "mcpServers"
    return _table(data.get(key)), (), None


def _entry(file: Place, name: str, raw: object, inputs: tuple[InputSpec, ...], sandbox: Json | None) -> ServerConfig:
    if not isinstance(raw, dict):
        return ServerConfig(name=name, standing="invalid", problem="not an object", source=str(file.path))
    entry = cast("Json", raw)
    config = decode_entry(file.prefix + name, entry, dialect=file.dialect, scope=file.scope, source=str(file.path))
    return msgspec.structs.replace(
        config, inputs=inputs, sandbox=sandbox if entry.get("sandboxEnabled") is True else None
    )


def _table(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _strip_comments(text: str) -> str:
    """JSON with comments and trailing commas, as VS Code writes it, made plain; strings are left alone."""
    out: list[str] = []
    index, size = 0, len(text)
    while index < size:
        char = text[index]
        if char == '"':
            end = index + 1
            while end < size and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            out.append(text[index : end + 1])
            index = end + 1
        elif text.startswith("//", index):
            index = _at(text, "\n", index)
        elif text.startswith("/*", index):
            index = min(_at(text, "*/", index) + 2, size)
        elif char == "," and text[index + 1 :].lstrip()[:1] in ("}", "]"):
            index += 1
        else:
            out.append(char)
            index += 1
    return "".join(out)


def _at(text: str, what: str, index: int) -> int:
    found = text.find(what, index)
    return len(text) if found < 0 else found
