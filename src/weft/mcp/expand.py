"""Each dialect's `${…}`: Claude's `${VAR}` and `${VAR:-default}`, the editors' `${env:X}`, `${workspaceFolder}` …

Only what a person wrote is expanded, once. A value that came out of an expansion is never expanded again, and
nothing that a server says is ever expanded.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from weft.mcp.config import Dialect, OAuthSettings, ServerConfig

_CLAUDE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_EDITOR = re.compile(r"\$\{([A-Za-z]+)(?::([^}]*))?\}")
_INPUT = re.compile(r"\$\{input:([^}]+)\}")


class Expansion:
    """Expands the strings of one entry, and remembers what it needed."""

    def __init__(self, dialect: Dialect, env: Mapping[str, str], folder: Path, places: Mapping[str, str]) -> None:
        self._dialect = dialect
        self._env = env
        self._folder = folder
        self._places = places
        self.variables: list[str] = []
        self.missing: list[str] = []
        self.inputs: list[str] = []

    def __call__(self, text: str) -> str:
        if "${" not in text:
            return text
        if self._dialect == "claude":
            return _CLAUDE.sub(self._claude, text)
        return _EDITOR.sub(self._editor, text)

    def _variable(self, name: str, default: str | None, literal: str) -> str:
        if name in self._places:
            return self._places[name]
        if name not in self.variables:
            self.variables.append(name)
        value = self._env.get(name)
        if value:
            return value
        if default is not None:
            return default
        self.missing.append(name)
        return literal

    def _claude(self, match: re.Match[str]) -> str:
        return self._variable(match[1], match[2], match[0])

    def _editor(self, match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        if kind == "env" and name:
            return self._variable(name, "" if self._dialect == "vscode" else None, match[0])
        if kind == "input" and name:
            self.inputs.append(name)
            return match[0]
        plain = {
            "workspaceFolder": str(self._folder),
            "workspaceFolderBasename": self._folder.name,
            "userHome": self._env.get("HOME") or str(Path.home()),
            "pathSeparator": "/",
        }
        return plain.get(kind, match[0]) if name is None or kind == "workspaceFolder" else match[0]


def expand(config: ServerConfig, env: Mapping[str, str], folder: Path, places: Mapping[str, str]) -> ServerConfig:
    """The entry with its variables filled in. `places` are a plugin's own folders. A variable that is not set stays
    as it is written, and `problem` names it; the server may start all the same."""
    fill = Expansion(config.dialect, env, folder, places)
    oauth = msgspec.convert(
        {
            key: fill(value) if isinstance(value, str) else value
            for key, value in msgspec.structs.asdict(config.oauth).items()
        },
        OAuthSettings,
    )
    done = msgspec.structs.replace(
        config,
        command=fill(config.command),
        args=tuple(fill(item) for item in config.args),
        env={key: None if value is None else fill(value) for key, value in config.env.items()},
        env_file=fill(config.env_file),
        cwd=fill(config.cwd),
        url=fill(config.url),
        socket=fill(config.socket),
        headers={key: fill(value) for key, value in config.headers.items()},
        headers_helper=config.headers_helper if config.dialect == "claude" else fill(config.headers_helper),
        oauth=oauth,
        variables=(),
    )
    wanted = set(fill.inputs)
    problem = config.problem
    if fill.missing and not problem:
        problem = f"not set in the environment: {', '.join(dict.fromkeys(fill.missing))}"
    return msgspec.structs.replace(
        done,
        variables=tuple(fill.variables),
        inputs=tuple(item for item in config.inputs if item.id in wanted),
        problem=problem,
    )


def fill_inputs(config: ServerConfig, values: Mapping[str, str]) -> ServerConfig:
    """The same entry with the person's answers in the place of `${input:id}`."""

    def fill(text: str) -> str:
        return _INPUT.sub(lambda match: values.get(match[1], match[0]), text)

    return msgspec.structs.replace(
        config,
        command=fill(config.command),
        args=tuple(fill(item) for item in config.args),
        env={key: None if value is None else fill(value) for key, value in config.env.items()},
        url=fill(config.url),
        headers={key: fill(value) for key, value in config.headers.items()},
    )


def read_env_file(path: Path) -> dict[str, str]:
    """`KEY=value` lines; quotes around a value are taken off, `export ` and comments are left out."""
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        line = line.strip().removeprefix("export ")
        key, equals, value = line.partition("=")
        if not equals or key.startswith("#") or not key.strip().isidentifier():
            continue
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        found[key.strip()] = value
    return found
