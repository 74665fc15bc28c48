"""Where servers are configured, and which entry wins: every file of a person, a project, a plugin or a company.

An entry replaces another of the same name whole: flag, then local, project, user, plugin. A managed file is
exclusive. Files that belong to other programs are read and never written.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from weft.mcp.config import Dialect, InputSpec, Scope, ServerConfig, decode_entry, decode_inputs
from weft.mcp.expand import expand
from weft.mcp.policy import Policy
from weft.mcp.trust import Approvals
from weft.paths import user_home, weft_home
from weft.schema.content import Json

MANAGED = (Path("/etc/weft/managed-mcp.json"), Path("/etc/claude-code/managed-mcp.json"))


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What decides which servers there are. `flag` are `--mcp-config` values: paths or JSON texts. `strict` reads
    nothing else. `plugins` are (name, folder). `trust_project` is a flag given by the person for this run."""

    folder: Path
    env: Mapping[str, str] | None = None
    flag: tuple[str | Json, ...] = ()
    strict: bool = False
    scopes: tuple[Scope, ...] = ("local", "project", "user", "plugin")
    plugins: tuple[tuple[str, Path], ...] = ()
    policy: Policy = Policy()
    enabled: tuple[str, ...] = ()
    enable_all: bool = False
    disabled: tuple[str, ...] = ()
    trust_project: bool = False
    managed: tuple[Path, ...] = MANAGED
    home: Path | None = None


class Found(msgspec.Struct, frozen=True):
    """All servers by name, and sentences about files that could not be used."""

    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    scope: Scope
    dialect: Dialect = "claude"
    prefix: str = ""
    places: Mapping[str, str] = {}
    data: Json | None = None


def find_servers(options: Options) -> Found:
    """Every configured server, the best entry of each name, with its standing."""
    env = os.environ if options.env is None else options.env
    problems: list[str] = []
    chosen: dict[str, ServerConfig] = {}
    for file in _files(options, env):
        for config in _read(file, options.folder, problems):
            if config.name in chosen or _same_endpoint(config, chosen.values()):
                continue
            chosen[config.name] = expand(config, env, options.folder, file.places)
    approvals = Approvals(options.home or weft_home(env))
    return Found(tuple(_stand(config, options, approvals) for config in chosen.values()), tuple(problems))


def read_file(path: Path, dialect: Dialect) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """The entries of one file as they are written: nothing expanded, nothing judged."""
    problems: list[str] = []
    found = _read(_File(path=path, scope="user", dialect=dialect), path.parent, problems)
    return tuple(found), tuple(problems)


def _same_endpoint(config: ServerConfig, others: Iterable[ServerConfig]) -> bool:
    """A plugin's server gives way to any that reaches the same place."""
    return config.scope == "plugin" and any(other.endpoint == config.endpoint for other in others)


def _stand(config: ServerConfig, options: Options, approvals: Approvals) -> ServerConfig:
    if config.standing in ("invalid", "disabled"):
        return config
    refusal = options.policy.refusal(config)
    if refusal:
        return msgspec.structs.replace(config, standing="denied", problem=refusal)
    if config.name in options.disabled:
        return msgspec.structs.replace(config, standing="disabled", problem="switched off in settings")
    if config.scope != "project" or options.trust_project:
        return config
    if options.enable_all or config.name in options.enabled:
        return config
    return msgspec.structs.replace(config, standing=approvals.standing(options.folder, config))


def _files(options: Options, env: Mapping[str, str]) -> Iterator[_File]:
    managed = [path for path in options.managed if path.is_file()]
    if managed:
        yield _File(path=managed[0], scope="managed")
        return
    for value in options.flag:
        if isinstance(value, dict):
            yield _File(path=Path("--mcp-config"), scope="flag", data=value)
        elif value.lstrip().startswith("{"):
            yield _File(path=Path("--mcp-config"), scope="flag", data=_parse(value))
        else:
            yield _File(path=Path(value).expanduser(), scope="flag")
    if options.strict:
        return
    home = options.home or weft_home(env)
    user = user_home(env)
    claude = Path(env["CLAUDE_CONFIG_DIR"]) / ".claude.json" if env.get("CLAUDE_CONFIG_DIR") else user / ".claude.json"
    if "local" in options.scopes:
        yield _File(path=home / "mcp.json", scope="local")
        yield _File(path=claude, scope="local")
    if "project" in options.scopes:
        for folder in project_folders(options.folder, user):
            yield _File(path=folder / ".mcp.json", scope="project")
            yield _File(path=folder / ".vscode/mcp.json", scope="project", dialect="vscode")
            yield _File(path=folder / ".cursor/mcp.json", scope="project", dialect="cursor")
            yield _File(path=folder / ".devcontainer/devcontainer.json", scope="project", dialect="vscode")
    if "user" in options.scopes:
        yield _File(path=home / "mcp.json", scope="user")
        yield _File(path=claude, scope="user")
        yield _File(path=user / ".config/Code/User/mcp.json", scope="user", dialect="vscode")
        yield _File(path=user / ".cursor/mcp.json", scope="user", dialect="cursor")
        yield _File(path=user / ".copilot/mcp-config.json", scope="user", dialect="copilot")
    if "plugin" in options.scopes:
        for name, folder in options.plugins:
            yield from _plugin(name, folder, home)


def _plugin(name: str, folder: Path, home: Path) -> Iterator[_File]:
    data = str(home / "plugins/data" / name)
    places = {
        "CLAUDE_PLUGIN_ROOT": str(folder),
        "PLUGIN_ROOT": str(folder),
        "CLAUDE_PLUGIN_DATA": data,
        "PLUGIN_DATA": data,
    }
    for path in (".mcp.json", "mcp.json", ".claude-plugin/plugin.json", "plugin.json"):
        yield _File(path=folder / path, scope="plugin", prefix=f"plugin_{name}_", places=places)


def project_folders(folder: Path, stop: Path) -> list[Path]:
    """The folder and those above it, up to the repository's top; never the person's home itself."""
    found: list[Path] = []
    for current in (folder, *folder.parents):
        if current == stop or current == current.parent:
            break
        found.append(current)
        if (current / ".git").exists():
            return found
    return found[:1]


def _parse(text: str) -> Json:
    try:
        value = json.loads(text)
    except ValueError:
        return {"problem": "not JSON"}
    return cast("Json", value) if isinstance(value, dict) else {"problem": "not an object"}


def _read(file: _File, folder: Path, problems: list[str]) -> Sequence[ServerConfig]:
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
        data = _parse(_strip_comments(text) if file.dialect == "vscode" else text)
    if data.get("problem") and len(data) == 1:
        problems.append(f"{file.path}: {data['problem']}")
        return ()
    table, inputs, sandbox = _servers(file, data, folder)
    return [_entry(file, name, raw, inputs, sandbox) for name, raw in table.items()]


def _servers(file: _File, data: Json, folder: Path) -> tuple[Json, tuple[InputSpec, ...], Json | None]:
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


def _entry(file: _File, name: str, raw: object, inputs: tuple[InputSpec, ...], sandbox: Json | None) -> ServerConfig:
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
