"""`weft plugin`: make, list and check plug-ins."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.extend.manifest import Manifest

EXAMPLES = """examples:
  weft plugin new weather              make a package with a tool, a participant and a test
  weft plugin list                     every plug-in that there is for this folder, and what it brings
  weft plugin list --json              for programs
  weft plugin check ./weather          read a manifest, import what it names, and say what is wrong
  weft plugin check weather            the same for one that is installed
  weft plugin forget weather           take back the leave to use your models

A plug-in is switched on and off with "enabledPlugins" in settings.json. docs/plugins.md explains the rest."""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft plugin",
        description="Makes, lists and checks plug-ins: packages that bring tools, participants, models and servers.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="new|list|check|forget")
    new = actions.add_parser("new", help="make a working plug-in with a test")
    new.add_argument("name", help="letters, digits and dashes, such as weather")
    new.add_argument("--folder", default="", help="where to put it (default: a folder of that name here)")
    listing = actions.add_parser("list", help="show every plug-in, whether it is on, and what it brings")
    listing.add_argument("--json", action="store_true", help="one JSON array")
    check = actions.add_parser("check", help="say what is wrong with a plug-in; its code is imported")
    check.add_argument("plugin", help="a folder, a plugin.toml, or the name of one that is installed")
    forget = actions.add_parser("forget", help="take back the leave to use your models")
    forget.add_argument("plugin", help="the plug-in's name")
    options = parser.parse_args(argv)
    if options.action == "new":
        return _new(options.name, options.folder)
    if options.action == "list":
        return _list(as_json=options.json)
    return _check(options.plugin) if options.action == "check" else _forget(options.plugin)


def _fail(text: str, code: int = 1) -> int:
    sys.stderr.write(f"weft plugin: {text}\n")
    return code


def _new(name: str, folder: str) -> int:
    from weft.errors import UsageError
    from weft.extend.scaffold import write_plugin

    try:
        made = write_plugin(name, Path(folder or name))
    except UsageError as error:
        return _fail(error.whole, 2)
    sys.stdout.write(
        f"{made} is a plug-in now.\n\n  cd {made}\n  pip install -e . pytest\n  pytest\n  weft plugin list\n"
    )
    return 0


def _found(problems: list[str]) -> "Iterator[tuple[Manifest, bool]]":
    """Every plug-in for this folder, and whether it is on."""
    from weft.extend import registry
    from weft.extend.installed import look
    from weft.paths import weft_home
    from weft.permissions.trust import is_trusted
    from weft.settings import load_settings
    from weft.settings.layers import as_object

    cwd = Path.cwd()
    trusted = is_trusted(cwd)
    settings = load_settings(cwd, trusted=trusted)
    manifests = [*registry.bundled(problems), *registry.installed(look(weft_home()), problems)]
    local = list(registry.local(cwd, problems))
    if local and not trusted:
        problems.append("The plug-ins of this folder are off until you run weft trust here.")
    switches = as_object(settings.values.get("enabledPlugins"))
    made = registry.Registry([*manifests, *local], switches=switches, keys=dict)
    problems += made.problems
    return ((one, made.is_on(one) and (trusted or one.origin != "local")) for one in made.every)


def _list(*, as_json: bool) -> int:
    problems: list[str] = []
    found = list(_found(problems))
    if as_json:
        import msgspec

        rows = [{"on": on, **msgspec.to_builtins(manifest)} for manifest, on in found]
        sys.stdout.write(msgspec.json.encode(rows).decode() + "\n")
    else:
        for manifest, on in found:
            sys.stdout.write("\n".join(_lines(manifest, on)) + "\n")
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else 0


def _lines(manifest: "Manifest", on: bool) -> Iterator[str]:
    version = f" {manifest.version}" if manifest.version else ""
    yield f"{manifest.name}{version} ({manifest.origin}, {'on' if on else 'off'}): {manifest.description}"
    for tool in manifest.tool:
        reference = f" #{tool.reference_name}" if tool.can_be_referenced else ""
        yield f"  tool {tool.name}{reference}: {tool.user_description or tool.display_name}"
    for one in manifest.tool_set:
        yield f"  tool set #{one.name}: {', '.join(one.tools)}"
    for participant in manifest.participant:
        commands = " ".join(f"/{command.name}" for command in participant.command)
        yield f"  participant @{participant.name} {commands}: {participant.description}"
    for provider in manifest.model_provider:
        yield f"  models of {provider.vendor}"
    for server in manifest.mcp_server_provider:
        yield f"  MCP servers: {server.label or server.id}"
    for agents in manifest.agent_provider:
        yield f"  agents: {agents.label or agents.id}"


def _check(what: str) -> int:
    from weft.extend.checking import check
    from weft.extend.manifest import ManifestError

    try:
        manifest = _manifest(what)
    except ManifestError as error:
        return _fail(str(error))
    problems = list(check(manifest))
    for problem in problems:
        sys.stderr.write(f"{manifest.name}: {problem}\n")
    if not problems:
        sys.stdout.write("\n".join(_lines(manifest, True)) + "\nNothing is wrong with it.\n")
    return 1 if problems else 0


def _manifest(what: str) -> "Manifest":
    from weft.extend.manifest import FILE, ManifestError, read

    path = Path(what)
    if path.is_dir():
        places = [path / FILE, *sorted(path.glob(f"src/*/{FILE}")), *sorted(path.glob(f"*/{FILE}"))]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise ManifestError(f"there is no {FILE} in {path}, nor in a package of it")
        path = found
    if not path.is_file():
        problems: list[str] = []
        named = next((one for one, _ in _found(problems) if one.name == what), None)
        if named is None:
            raise ManifestError(f"there is neither a file nor a plug-in {what!r}. weft plugin list shows what there is")
        return named
    package = (path.parent / "__init__.py").is_file()
    if package:
        sys.path.insert(0, os.path.abspath(path.parent.parent))
    return read(path.absolute(), origin="installed" if package else "local")


def _forget(name: str) -> int:
    from weft.extend.consent import Consent
    from weft.paths import weft_home

    async def nobody(use: str, questions: object) -> None:
        return None

    consent = Consent(weft_home(), nobody)
    if consent.known(name) is None:
        return _fail(f"nothing is kept about {name!r}")
    consent.keep(name, allowed=None)
    sys.stdout.write(f"{name} will ask again before it uses your models\n")
    return 0
