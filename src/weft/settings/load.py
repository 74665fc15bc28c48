"""Reads the layers from disk. Cheap: at most seven small files, plain JSON, nothing heavy imported.

A file that is missing is an empty layer. A file that cannot be read or parsed is reported with line and column and
counts as empty, except that the gate then fails closed where rules may have been lost (`Layer.seal`).
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from weft import paths
from weft.errors import UsageError
from weft.schema.content import Json
from weft.settings.layers import SCOPES, Layer, Problem, Scope, Seal, Settings, as_object, merge

POLICY_FILES: tuple[str, ...] = ("/etc/weft/managed-settings.json", "/etc/claude-code/managed-settings.json")
SOURCES: tuple[Scope, ...] = ("user", "project", "local")
MAX_SIZE = 4 << 20
_NO_BYPASS = "disableBypassPermissionsMode"

_BYTE = r"\(byte (\d+)\)"
_GUARDS = rb'"(deny|ask|disableBypassPermissionsMode|defaultMode)"'


def load_settings(
    cwd: str | Path,
    *,
    sources: Sequence[str] | None = None,
    flag: str | None = None,
    trusted: bool | Callable[[Layer], bool] = False,
    env: Mapping[str, str] | None = None,
    policy_files: Iterable[str | Path] = POLICY_FILES,
) -> Settings:
    """The settings for a folder.

    `sources` are the values of `--setting-sources`; None means all. `flag` is the value of `--settings`, a path or
    JSON text. `trusted` says whether the person trusts the folder, or is asked about each of the project's layers.

    Raises:
        UsageError: an unknown source, or `flag` names no file and is not JSON.
    """
    root = os.path.abspath(cwd)
    chosen = _sources(sources)
    layers = [_file(scope, path, base) for scope, path, base in settings_files(root, env) if scope in chosen]
    if flag:
        layers.append(_flag(flag, root))
    layers += [_file("policy", Path(path), "/") for path in policy_files]
    return combine(tuple(layers), trusted)


def combine(layers: tuple[Layer, ...], trusted: bool | Callable[[Layer], bool]) -> Settings:
    """Merges layers; what an untrusted project may not decide is left out and listed in `withheld`."""
    values: Json = {}
    withheld: list[str] = []
    accepted: set[str] = set()
    for layer in sorted(layers, key=lambda layer: SCOPES.index(layer.scope)):
        data = layer.data
        if layer.scope in ("project", "local"):
            believed = trusted if isinstance(trusted, bool) else trusted(layer)
            if believed:
                accepted.add(layer.path)
            data, left_out = _of_a_project(data, believed=believed)
            withheld += left_out
        values = merge(values, data)
    if any(as_object(layer.data.get("permissions")).get(_NO_BYPASS) == "disable" for layer in layers):
        values = merge(values, {"permissions": {_NO_BYPASS: "disable"}})
    return Settings(
        layers=layers,
        values=values,
        problems=tuple(problem for layer in layers for problem in layer.problems),
        trusted=not withheld,
        accepted=frozenset(accepted),
        withheld=tuple(dict.fromkeys(withheld)),
    )


def _of_a_project(data: Json, *, believed: bool) -> tuple[Json, list[str]]:
    """What a project's settings may decide, and the names of what waits for trust."""
    if not data:
        return data, []
    from weft.settings.trusting import harmless, never_from_a_project

    data = never_from_a_project(data)
    return (data, []) if believed else harmless(data)


def project_files(root: str | Path) -> tuple[tuple[Scope, Path], ...]:
    """The settings files that a project may bring, whether they exist or not."""
    base = Path(root)
    return (
        ("project", base / ".claude" / "settings.json"),
        ("project", base / ".weft" / "settings.json"),
        ("local", base / ".claude" / "settings.local.json"),
    )


def user_file(env: Mapping[str, str] | None = None) -> Path:
    """The user's settings that Weft writes."""
    return paths.weft_home(env) / "settings.json"


def settings_files(root: str, env: Mapping[str, str] | None) -> list[tuple[Scope, Path, str]]:
    """Every file of a person and of a project that may hold settings, with what a leading `/` means in it."""
    claude = paths.claude_home(env)
    mine = user_file(env)
    found: list[tuple[Scope, Path, str]] = []
    if claude / "settings.json" != mine:
        found.append(("user", claude / "settings.json", str(claude)))
    found.append(("user", mine, str(mine.parent)))
    for scope, path in project_files(root):
        found.append((scope, path, root))
    return found


def _sources(names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return SOURCES
    for name in names:
        if name not in SOURCES:
            raise UsageError(
                f"unknown setting source {name!r}", hint="--setting-sources takes user, project and local, with commas"
            )
    return tuple(names)


def _flag(flag: str, root: str) -> Layer:
    text = flag.strip()
    if text.startswith("{"):
        layer = decode_layer("cliArg", "--settings", root, text.encode())
    else:
        path = Path(text).expanduser()
        if not path.is_file():
            raise UsageError(f"--settings: no such file: {path}", hint="give a JSON file, or JSON text in quotes")
        layer = _file("cliArg", path, root)
    broken = next((problem for problem in layer.problems if problem.level == "error"), None)
    if broken and not layer.data:
        raise UsageError(f"--settings: {broken}")
    return layer


def _file(scope: Scope, path: Path, root: str) -> Layer:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_SIZE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Layer(scope=scope, path=str(path), root=root)
    except OSError as error:
        return _broken(scope, str(path), root, Problem(str(path), f"cannot be read: {error.strerror}"), guarded=True)
    if len(data) > MAX_SIZE:
        return _broken(scope, str(path), root, Problem(str(path), "is larger than 4 MB"), guarded=True)
    return decode_layer(scope, str(path), root, data)


def decode_layer(scope: Scope, path: str, root: str, data: bytes) -> Layer:
    """A layer from the bytes of its file. An empty file is an empty layer."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return Layer(scope=scope, path=path, root=root)
    try:
        value = msgspec.json.decode(data, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        line, column = _place(str(error), data)
        problem = Problem(path, f"is not valid JSON: {re.sub(_BYTE, '', str(error)).strip()}", line, column)
        return _broken(scope, path, root, problem, guarded=bool(re.search(_GUARDS, data)))
    from weft.settings.known import problems_of

    problems, seal = problems_of(value, path, policy=scope == "policy", text=data)
    return Layer(scope=scope, path=path, root=root, data=value, problems=problems, seal=seal)


def _broken(scope: Scope, path: str, root: str, problem: Problem, *, guarded: bool) -> Layer:
    seal: Seal = "deny" if scope == "policy" else "ask" if guarded else ""
    return Layer(scope=scope, path=path, root=root, problems=(problem,), seal=seal)


def _place(message: str, data: bytes) -> tuple[int, int]:
    found = re.search(_BYTE, message)
    offset = int(found[1]) if found else len(data)
    before = data[:offset]
    return before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
