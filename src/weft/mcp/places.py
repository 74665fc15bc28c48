"""Which files may configure servers: of a person, a project, a plugin or a company.

Most sessions have none of them, and learn that here, before anything that can read one is imported.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import msgspec

from weft.paths import user_home, weft_home
from weft.schema.content import Json

if TYPE_CHECKING:
    from weft.mcp.policy import Policy

Scope: TypeAlias = Literal["managed", "flag", "local", "project", "user", "plugin"]
Dialect: TypeAlias = Literal["claude", "vscode", "cursor", "copilot"]
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
    policy: "Policy | None" = None
    enabled: tuple[str, ...] = ()
    enable_all: bool = False
    disabled: tuple[str, ...] = ()
    trust_project: bool = False
    managed: tuple[Path, ...] = MANAGED
    home: Path | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A file that may configure servers. `data` is what was given in its stead, on the command line."""

    path: Path
    scope: Scope
    dialect: Dialect = "claude"
    prefix: str = ""
    places: Mapping[str, str] = {}
    data: Json | None = None

    def speaks(self) -> bool:
        """Whether reading it can say anything: a file that a person named is missed when it is not there."""
        if self.data is not None or self.scope == "flag":
            return True
        try:
            os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            pass
        return True


def places(options: Options, env: Mapping[str, str]) -> Iterator[Place]:
    """Every file that counts, the best first, whether it is there or not."""
    managed = [path for path in options.managed if path.is_file()]
    if managed:
        yield Place(path=managed[0], scope="managed")
        return
    for value in options.flag:
        if isinstance(value, dict):
            yield Place(path=Path("--mcp-config"), scope="flag", data=value)
        elif value.lstrip().startswith("{"):
            yield Place(path=Path("--mcp-config"), scope="flag", data=parse(value))
        else:
            yield Place(path=Path(value).expanduser(), scope="flag")
    if options.strict:
        return
    home = options.home or weft_home(env)
    user = user_home(env)
    claude = Path(env["CLAUDE_CONFIG_DIR"]) / ".claude.json" if env.get("CLAUDE_CONFIG_DIR") else user / ".claude.json"
    if "local" in options.scopes:
        yield Place(path=home / "mcp.json", scope="local")
        yield Place(path=claude, scope="local")
    if "project" in options.scopes:
        for folder in project_folders(options.folder, user):
            yield Place(path=folder / ".mcp.json", scope="project")
            yield Place(path=folder / ".vscode/mcp.json", scope="project", dialect="vscode")
            yield Place(path=folder / ".cursor/mcp.json", scope="project", dialect="cursor")
            yield Place(path=folder / ".devcontainer/devcontainer.json", scope="project", dialect="vscode")
    if "user" in options.scopes:
        yield Place(path=home / "mcp.json", scope="user")
        yield Place(path=claude, scope="user")
        yield Place(path=user / ".config/Code/User/mcp.json", scope="user", dialect="vscode")
        yield Place(path=user / ".cursor/mcp.json", scope="user", dialect="cursor")
        yield Place(path=user / ".copilot/mcp-config.json", scope="user", dialect="copilot")
    if "plugin" in options.scopes:
        for name, folder in options.plugins:
            yield from _plugin(name, folder, home)


def _plugin(name: str, folder: Path, home: Path) -> Iterator[Place]:
    data = str(home / "plugins/data" / name)
    places = {
        "CLAUDE_PLUGIN_ROOT": str(folder),
        "PLUGIN_ROOT": str(folder),
        "CLAUDE_PLUGIN_DATA": data,
        "PLUGIN_DATA": data,
    }
    for path in (".mcp.json", "mcp.json", ".claude-plugin/plugin.json", "plugin.json"):
        yield Place(path=folder / path, scope="plugin", prefix=f"plugin_{name}_", places=places)


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


def parse(text: str) -> Json:
    """A file's content; what is no JSON object is one that says so."""
    import json

    try:
        value = json.loads(text)
    except ValueError:
        return {"problem": "not JSON"}
    return cast("Json", value) if isinstance(value, dict) else {"problem": "not an object"}
