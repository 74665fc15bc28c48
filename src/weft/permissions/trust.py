"""Trust in a folder: whether what its files would run, connect to or allow takes effect.

The person's word is kept with a hash of those files; when one of them changes, the word no longer holds and is asked
for again. A folder that Claude Code was told to trust is trusted too, at the state in which we first see it.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from weft import paths
from weft.errors import SettingsError
from weft.protocols import frontmatter
from weft.schema.content import Json
from weft.settings.layers import as_object
from weft.settings.load import project_files
from weft.settings.trusting import harmless
from weft.settings.write import edit_file

PROJECT_CONFIG = (".mcp.json", ".vscode/mcp.json", ".envrc")
AGENT_FOLDERS = (".claude/agents", ".github/agents", ".github/chatmodes", ".github/prompts")
AGENT_KEYS = ("hooks", "mcpServers", "mcp-servers", "permissionMode", "permission-mode")
MAX_SIZE = 4 << 20


class Change(msgspec.Struct, frozen=True):
    """A file of the project that waits for trust; `keys` are what it would bring into effect."""

    path: str
    keys: tuple[str, ...] = ()


class TrustState(msgspec.Struct, frozen=True):
    """`known` says that the person trusted the folder once; `changed` what is new since."""

    trusted: bool
    known: bool = False
    changed: tuple[Change, ...] = ()


def trust_file(env: Mapping[str, str] | None = None) -> Path:
    return paths.weft_home(env) / "trust.json"


def is_trusted(cwd: str | Path, env: Mapping[str, str] | None = None) -> bool:
    """Whether all that the folder's files would bring into effect was seen and trusted by the person. True as well
    when they bring nothing: there is nothing to trust."""
    return state_of(cwd, env).trusted


def state_of(cwd: str | Path, env: Mapping[str, str] | None = None) -> TrustState:
    root = os.path.realpath(cwd)
    files = _hashes(root)
    if not files:
        return TrustState(trusted=True)
    entry = as_object(as_object(_read(trust_file(env)).get("folders")).get(root))
    seen = as_object(entry.get("files"))
    known = entry.get("trusted") is True
    changed = tuple(Change(name, keys) for name, (digest, keys) in files.items() if seen.get(name) != digest)
    if changed and not seen and _claude_trusts(root, env):
        with contextlib.suppress(SettingsError):
            _write(root, {"trusted": True, "files": {name: digest for name, (digest, _) in files.items()}}, env)
        return TrustState(trusted=True, known=True)
    return TrustState(trusted=not changed and (known or bool(seen)), known=known, changed=changed)


def accept(cwd: str | Path, env: Mapping[str, str] | None = None) -> TrustState:
    """Writes down that the person trusts the folder as it is now.

    Raises:
        SettingsError: the file cannot be written.
    """
    root = os.path.realpath(cwd)
    files: Json = {name: digest for name, (digest, _) in _hashes(root).items()}
    _write(root, {"trusted": True, "files": files}, env)
    return state_of(cwd, env)


def unseen(cwd: str | Path, env: Mapping[str, str] | None = None) -> frozenset[str]:
    """The files of the folder that the person has not vouched for, by their path inside of it."""
    return frozenset(change.path for change in state_of(cwd, env).changed)


def accept_file(
    cwd: str | Path, path: Path, env: Mapping[str, str] | None = None, *, before: frozenset[str] = frozenset()
) -> None:
    """Vouches for one file that Weft itself has just written at the person's word, such as a rule that they chose.
    `before` is what was `unseen` before the write: adding a rule to such a file does not vouch for the rest of it."""
    root = os.path.realpath(cwd)
    name = os.path.relpath(os.path.realpath(path), root)
    found = _hashes(root).get(name)
    if found is None or name in before:
        return
    entry = as_object(as_object(_read(trust_file(env)).get("folders")).get(root))
    _write(root, {**entry, "files": {**as_object(entry.get("files")), name: found[0]}}, env)


def forget(cwd: str | Path, env: Mapping[str, str] | None = None) -> bool:
    """Takes the person's word back; says whether there was any."""
    root = os.path.realpath(cwd)
    known = root in as_object(_read(trust_file(env)).get("folders"))

    def change(data: Json) -> None:
        folders = dict(as_object(data.get("folders")))
        folders.pop(root, None)
        data["folders"] = folders

    if known:
        edit_file(trust_file(env), change)
    return known


def _write(root: str, entry: Json, env: Mapping[str, str] | None) -> None:
    def change(data: Json) -> None:
        data["folders"] = {**as_object(data.get("folders")), root: entry}

    edit_file(trust_file(env), change)


def _hashes(root: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The files that would bring something into effect, with a hash of that part alone: a changed deny rule or a
    changed theme does not ask again."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for _, path in project_files(root):
        value = _read(path)
        kept, left_out = harmless(value)
        if left_out:
            risky = {key: item for key, item in value.items() if kept.get(key) != item}
            found[os.path.relpath(path, root)] = (_digest(msgspec.json.encode(risky, order="sorted")), tuple(left_out))
    for name in PROJECT_CONFIG:
        data = _bytes(Path(root) / name)
        if data.strip():
            found[name] = (_digest(data), ())
    plugins = Path(root, ".weft", "plugins")
    if plugins.is_dir():
        found[".weft/plugins"] = (_digest(_folder(plugins)), ("plug-ins",))
    for path in _agent_files(Path(root)):
        keys = _agent_keys(path)
        if keys:
            found[os.path.relpath(path, root)] = (_digest(_bytes(path)), keys)
    return found


def _agent_files(root: Path) -> Iterator[Path]:
    for name in AGENT_FOLDERS:
        for top, folders, names in os.walk(root / name):
            folders.sort()
            yield from (Path(top, each) for each in sorted(names) if each.endswith(".md"))


def _agent_keys(path: Path) -> tuple[str, ...]:
    """What an agent's definition would run, connect to or loosen."""
    fields, _body = frontmatter.split(_bytes(path).decode("utf-8", "replace"))
    return tuple(key for key in AGENT_KEYS if fields.get(key))


def _folder(folder: Path) -> bytes:
    """Names and contents of all that is below a folder, as far as it can be read: code of a plug-in runs, so any
    change of it asks again. What Python itself compiled is left out."""
    parts: list[bytes] = []
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = Path(top, name)
            parts.append(os.fsencode(os.path.relpath(path, folder)) + b"\0" + _bytes(path) + b"\0")
    return b"".join(parts)


def _digest(data: bytes) -> str:
    import hashlib  # costly to import, and most folders have nothing to hash

    return hashlib.sha256(data).hexdigest()


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file() or path.stat().st_size > MAX_SIZE:
            return b""
        return path.read_bytes()
    except OSError:
        return b""


def _read(path: Path) -> Json:
    data = _bytes(path).removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return {}
    try:
        return msgspec.json.decode(data, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _claude_trusts(root: str, env: Mapping[str, str] | None) -> bool:
    home = paths.user_home(env)
    custom = (env or os.environ).get("CLAUDE_CONFIG_DIR")
    for path in (Path(custom) / ".claude.json" if custom else None, home / ".claude.json"):
        projects = as_object(_read(path).get("projects")) if path is not None else {}
        if as_object(projects.get(root)).get("hasTrustDialogAccepted") is True:
            return True
    return False
