"""`weft mcp add`, `list`, `get`, `remove`, `import`: entries in configuration files. Nothing is started here."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

from weft.errors import UsageError
from weft.mcp.config import Dialect, Scope, ServerConfig, decode_entry
from weft.mcp.sources import Options, find_servers, read_file
from weft.mcp.trust import Approvals, describe, read_json, write_private
from weft.mcp.visible import visible
from weft.paths import user_home, weft_home
from weft.schema.content import Json

PLACES = {
    "desktop": (
        "~/Library/Application Support/Claude/claude_desktop_config.json",
        "~/.config/Claude/claude_desktop_config.json",
    ),
    "claude": ("~/.claude.json",),
    "vscode": (".vscode/mcp.json", "~/.config/Code/User/mcp.json"),
    "cursor": (".cursor/mcp.json", "~/.cursor/mcp.json"),
    "copilot": ("~/.copilot/mcp-config.json",),
}


def configured() -> tuple[ServerConfig, ...]:
    """Every server of this folder and this person; problems go to stderr."""
    from weft.permissions.trust import is_trusted
    from weft.settings import load_settings

    folder = Path.cwd()
    settings = load_settings(folder, trusted=is_trusted(folder, os.environ))
    from weft.agent.options import SessionOptions
    from weft.sdk.server_files import find_configs

    found, problems = find_configs(SessionOptions(cwd=folder), settings, os.environ, weft_home())
    for problem in problems:
        sys.stderr.write(f"weft mcp: {problem}\n")
    return found


def one(name: str) -> ServerConfig:
    """
    Raises:
        UsageError: no such server.
    """
    found = configured()
    for config in found:
        if config.name == name:
            return config
    known = ", ".join(config.name for config in found) or "none"
    raise UsageError(f"there is no server {name!r}", hint=f"configured are: {known}")


def add(args: argparse.Namespace) -> int:
    rest = [item for index, item in enumerate(args.args) if not (index == 0 and item == "--")]
    remote = args.transport in ("http", "sse", "ws") or (
        args.transport is None and args.target.startswith(("http://", "https://"))
    )
    entry: Json
    if remote:
        entry = {"type": args.transport or "http", "url": args.target}
        if rest:
            raise UsageError("an address takes no arguments")
        if args.header:
            entry["headers"] = dict(_pair(item, ":") for item in args.header)
        oauth = {"clientId": args.client_id, "callbackPort": args.callback_port}
        if any(oauth.values()):
            entry["oauth"] = {key: value for key, value in oauth.items() if value}
    else:
        command, *arguments = [args.target, *rest] if args.target != "--" else rest
        entry = {"type": "stdio", "command": command, "args": arguments}
        if args.env:
            entry["env"] = dict(_pair(item, "=") for item in args.env)
    if args.protocol:
        entry["protocol"] = args.protocol
    return _write(args.scope, args.name, entry)


def add_json(args: argparse.Namespace) -> int:
    try:
        entry = json.loads(args.json)
    except ValueError as error:
        raise UsageError(f"that is not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise UsageError("an entry is a JSON object")
    return _write(args.scope, args.name, cast("Json", entry))


def _pair(text: str, mark: str) -> tuple[str, str]:
    name, found, value = text.partition(mark)
    if not found or not name.strip():
        raise UsageError(f"{text!r} is not NAME{mark}VALUE")
    return name.strip(), value.strip() if mark == ":" else value


def _write(scope: Scope, name: str, entry: Json) -> int:
    if not name or not all(char.isalnum() or char in "-_." for char in name):
        raise UsageError(f"{name!r} cannot be a server's name", hint="letters, digits, - and _")
    checked = decode_entry(name, entry, dialect="claude", scope=scope, source="")
    if checked.standing == "invalid":
        raise UsageError(checked.problem)
    path = _change(scope, lambda table: table.update({name: entry}))
    if scope == "project":
        config = next((item for item in _plain() if item.name == name and item.source == str(path)), None)
        if config is not None:
            Approvals(weft_home()).approve(Path.cwd(), config)
    sys.stdout.write(f"{name} is in {path}\n")
    return 0


def _plain() -> tuple[ServerConfig, ...]:
    return find_servers(Options(folder=Path.cwd(), home=weft_home())).servers


def _change(scope: Scope, change: Callable[[Json], object]) -> Path:
    path = Path.cwd() / ".mcp.json" if scope == "project" else weft_home() / "mcp.json"
    if path.exists() and not read_json(path) and path.read_text().strip() not in ("", "{}"):
        raise UsageError(f"{path} is not a JSON object; it was not touched")
    whole = read_json(path)
    table = _table(whole, scope)
    change(table)
    text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    if scope == "project":
        path.write_text(text, encoding="utf-8")
    else:
        write_private(path, text)
    return path


def _table(whole: Json, scope: Scope) -> Json:
    if scope == "local":
        projects = cast("Json", whole.setdefault("projects", {}))
        whole = cast("Json", projects.setdefault(str(Path.cwd()), {}))
    return cast("Json", whole.setdefault("mcpServers", {}))


def list_all(args: argparse.Namespace) -> int:
    found = configured()
    if not found:
        sys.stdout.write("No MCP server is configured. Add one with: weft mcp add NAME -- COMMAND\n")
    for config in found:
        what = config.url if config.transport != "stdio" else " ".join((config.command, *config.args))
        note = f"  ({config.problem})" if config.problem else ""
        where = f"{config.scope}, {config.source}"
        sys.stdout.write(
            f"{visible(config.name)}: {visible(what)} ({config.transport}) - {config.standing}{note}\n  {where}\n"
        )
    return 0


def get(args: argparse.Namespace) -> int:
    config = one(args.name)
    sys.stdout.write(f"{describe(config)}\nscope: {config.scope}\nstanding: {config.standing}\n")
    if config.problem:
        sys.stdout.write(f"note: {config.problem}\n")
    return 0


def remove(args: argparse.Namespace) -> int:
    scopes: list[Scope] = [args.scope] if args.scope else ["local", "project", "user"]
    for scope in scopes:
        path = Path.cwd() / ".mcp.json" if scope == "project" else weft_home() / "mcp.json"
        whole = read_json(path)
        if args.name in _table(whole, scope):
            _change(scope, lambda table: table.pop(args.name))
            sys.stdout.write(f"{args.name} is no longer in {path}\n")
            return 0
    raise UsageError(
        f"{args.name!r} is not in a file of ours", hint="entries in other programs' files are theirs to remove"
    )


def deny(args: argparse.Namespace) -> int:
    Approvals(weft_home()).deny(Path.cwd(), one(args.name))
    sys.stdout.write(f"{args.name} will not be started in this folder.\n")
    return 0


def take_over(args: argparse.Namespace) -> int:
    dialects: dict[str, Dialect] = {"vscode": "vscode", "cursor": "cursor", "copilot": "copilot"}
    dialect = dialects.get(args.source, "claude")
    home = str(user_home())
    paths = [Path(item.replace("~", home, 1)) for item in PLACES.get(args.source, (args.source,))]
    path = next((item for item in paths if item.is_file()), None)
    if path is None:
        raise UsageError(f"nothing to import: {' and '.join(map(str, paths))} is not there")
    if dialect == "claude" and path.parent.name in (".vscode", "User"):
        dialect = "vscode"
    found, problems = read_file(path, dialect)
    for problem in problems:
        sys.stderr.write(f"weft mcp: {problem}\n")
    chosen = [config for config in found if not args.only or config.name in args.only]
    for config in chosen:
        if config.standing == "invalid":
            sys.stderr.write(f"weft mcp: {config.name} is left out: {config.problem}\n")
            continue
        if args.dry_run:
            sys.stdout.write(f"{describe(config)}\n\n")
            continue
        _write(args.scope, config.name, {**config.raw, "type": config.transport})
    if not chosen:
        sys.stdout.write("Nothing was imported.\n")
    return 0
