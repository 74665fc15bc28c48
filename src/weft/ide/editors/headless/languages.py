"""Languages by file name, and the servers that know them."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from weft.schema.content import Json

_BY_SUFFIX = {
    ".bash": "shellscript",
    ".c": "c",
    ".cc": "cpp",
    ".cjs": "javascript",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".css": "css",
    ".cts": "typescript",
    ".go": "go",
    ".h": "c",
    ".hpp": "cpp",
    ".html": "html",
    ".ipynb": "jupyter",
    ".java": "java",
    ".js": "javascript",
    ".json": "json",
    ".jsx": "javascriptreact",
    ".kt": "kotlin",
    ".lua": "lua",
    ".md": "markdown",
    ".mjs": "javascript",
    ".mts": "typescript",
    ".php": "php",
    ".py": "python",
    ".pyi": "python",
    ".rb": "ruby",
    ".rs": "rust",
    ".rst": "restructuredtext",
    ".scss": "scss",
    ".sh": "shellscript",
    ".sql": "sql",
    ".swift": "swift",
    ".toml": "toml",
    ".ts": "typescript",
    ".tsx": "typescriptreact",
    ".xml": "xml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
_BY_NAME = {"Dockerfile": "dockerfile", "Makefile": "makefile", "CMakeLists.txt": "cmake"}


def language_of(path: str) -> str:
    name = PurePosixPath(path)
    return _BY_NAME.get(name.name) or _BY_SUFFIX.get(name.suffix.lower(), "plaintext")


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A language server. `settle` is how long a server that pushes must be quiet before its word is taken as final.

    `runs_project_code` marks one that loads interpreters or plug-ins that the project names: it is started in
    trusted folders only.
    """

    name: str
    command: tuple[str, ...]
    languages: frozenset[str]
    settle: float = 0.05
    runs_project_code: bool = True
    settings: Json = {}


_SCRIPT = frozenset({"typescript", "typescriptreact", "javascript", "javascriptreact"})
SERVERS = (
    ServerSpec(name="ruff", command=("ruff", "server"), languages=frozenset({"python"}), runs_project_code=False),
    ServerSpec(
        name="basedpyright",
        command=("basedpyright-langserver", "--stdio"),
        languages=frozenset({"python"}),
        settle=0.1,
    ),
    ServerSpec(
        name="typescript",
        command=("typescript-language-server", "--stdio"),
        languages=_SCRIPT,
        settle=0.3,
    ),
)


def find_servers(*, trusted: bool, path: str | None = None) -> tuple[ServerSpec, ...]:
    """The known servers that are installed: on the search path, or beside our own Python.

    A project's own `node_modules` and virtual environments are not looked into.
    """
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "") if path is None else path])
    found: list[ServerSpec] = []
    for spec in SERVERS:
        program = shutil.which(spec.command[0], path=places)
        if program and (trusted or not spec.runs_project_code):
            found.append(msgspec.structs.replace(spec, command=(program, *spec.command[1:])))
    return tuple(found)


_SECRET = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


def server_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Ours without what looks like a credential: a language server needs none."""
    return {name: value for name, value in env.items() if not name.upper().endswith(_SECRET)}
