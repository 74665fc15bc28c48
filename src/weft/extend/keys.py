"""The context keys that `when` clauses see. `docs/plugins.md` lists them."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from weft.settings.layers import as_object

LANGUAGES: Final[Mapping[str, str]] = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".jsx": "javascriptreact",
    ".mjs": "javascript",
    ".ts": "typescript",
    ".tsx": "typescriptreact",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    ".h": "c",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".rb": "ruby",
    ".php": "php",
    ".sh": "shellscript",
    ".md": "markdown",
    ".json": "json",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".html": "html",
    ".css": "css",
    ".sql": "sql",
}


def language_of(path: str) -> str:
    """VS Code's id of a file's language; empty when the ending says nothing."""
    return LANGUAGES.get(os.path.splitext(path)[1].lower(), "")


class ContextKeys(Mapping[str, object]):
    """Fixed keys, `config.<path>` from the settings, and what plug-ins set. Each is worked out when it is asked for."""

    def __init__(self, facts: Mapping[str, Callable[[], object]], settings: Callable[[], Mapping[str, object]]) -> None:
        self._facts = {**_MACHINE, **facts}
        self._settings = settings
        self.own: dict[str, object] = {}

    def __getitem__(self, name: str) -> object:
        if name in self._facts:
            return self._facts[name]()
        if name.startswith("config."):
            return self._config(name.removeprefix("config."))
        return self.own[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._facts, *self.own))

    def __len__(self) -> int:
        return len(self._facts) + len(self.own)

    def set(self, name: str, value: object) -> None:
        if value is None:
            self.own.pop(name, None)
        else:
            self.own[name] = value

    def _config(self, path: str) -> object:
        values = self._settings()
        if path in values:
            return values[path]
        node: object = values
        for part in path.split("."):
            node = as_object(node)[part]
        return node


_MACHINE: Final[Mapping[str, Callable[[], object]]] = {
    "isLinux": lambda: sys.platform.startswith("linux"),
    "isMac": lambda: sys.platform == "darwin",
    "isWindows": lambda: sys.platform == "win32",
    "debugState": lambda: "inactive",
    "debuggersAvailable": lambda: False,
    "inDebugMode": lambda: False,
}


def folder_facts(
    folders: Callable[[], tuple[Path, ...]], looked_at: Callable[[], str] = lambda: ""
) -> dict[str, Callable[[], object]]:
    """Keys about the folders worked on and the file that the person looks at."""

    def name() -> str:
        return os.path.basename(looked_at())

    return {
        "workspaceFolderCount": lambda: len(folders()),
        "workbenchState": lambda: "empty" if not folders() else "folder" if len(folders()) == 1 else "workspace",
        "gitOpenRepositoryCount": lambda: sum((folder / ".git").exists() for folder in folders()),
        "resource": looked_at,
        "resourceFilename": name,
        "resourceExtname": lambda: os.path.splitext(name())[1],
        "resourceLangId": lambda: language_of(looked_at()),
        "editorLangId": lambda: language_of(looked_at()),
    }
