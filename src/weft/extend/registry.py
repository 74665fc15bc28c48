"""The plug-ins of a session: which there are, which are on, and their code, imported on first use."""

import importlib
import importlib.util
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

from weft.errors import ToolError
from weft.extend.installed import Seen
from weft.extend.manifest import (
    FILE,
    AgentProviderEntry,
    Manifest,
    ManifestError,
    ModelProviderEntry,
    ParticipantEntry,
    ServerProviderEntry,
    ToolEntry,
    decode,
    read,
)
from weft.extend.when import Keys, WhenError, holds

logger = logging.getLogger(__name__)

BUNDLED: Final[Mapping[str, str]] = {"editor-tools": "editor_tools"}
"""Plug-ins that come with Weft, off until they are asked for: the name and the folder beside this module."""
LOCAL: Final = Path(".weft") / "plugins"

Entry = TypeVar("Entry", ToolEntry, ParticipantEntry, ModelProviderEntry, ServerProviderEntry, AgentProviderEntry)


class Registry:
    """`switches` are the settings' `enabledPlugins`: a name to true or false. Installed and local plug-ins are on
    unless they are switched off, bundled ones off unless they are switched on. Two plug-ins with one name: the
    bundled one counts, then the installed one; two tools with one name: the first. `problems` says what was left out.
    """

    def __init__(
        self, manifests: Iterable[Manifest], *, switches: Mapping[str, object], keys: Callable[[], Keys]
    ) -> None:
        self.problems: list[str] = []
        self._keys = keys
        self._switches = dict(switches)
        self._all: dict[str, Manifest] = {}
        for manifest in manifests:
            if manifest.name in self._all:
                self.problems.append(f"There are two plug-ins named {manifest.name}; {manifest.folder} is left out.")
            else:
                self._all[manifest.name] = manifest
        self._loaded: dict[tuple[str, str], object] = {}
        self._broken: set[str] = set()

    @property
    def every(self) -> tuple[Manifest, ...]:
        return tuple(self._all.values())

    def is_on(self, manifest: Manifest) -> bool:
        wish = self._switches.get(manifest.name)
        return wish is True if manifest.origin == "bundled" else wish is not False

    def is_off(self, manifest: Manifest) -> bool:
        """Switched off by the person: not even a reference in a prompt brings it."""
        return self._switches.get(manifest.name) is False

    def switch(self, name: str, *, on: bool) -> None:
        self._switches[name] = on

    def on(self) -> Iterator[Manifest]:
        return (manifest for manifest in self._all.values() if self.is_on(manifest))

    def true(self, when: str, plugin: str) -> bool:
        """A clause that cannot be read is false, and told once."""
        try:
            return holds(when, self._keys())
        except WhenError as error:
            if when not in self._broken:
                self._broken.add(when)
                logger.warning("plug-in %s: %s", plugin, error)
            return False

    def entries(self, of: Callable[[Manifest], Sequence[Entry]]) -> Iterator[tuple[Manifest, Entry]]:
        """The entries of one kind whose plug-in is on and whose clause is true now."""
        for manifest in self.on():
            for entry in of(manifest):
                if not entry.when or self.true(entry.when, manifest.name):
                    yield manifest, entry

    def load(self, manifest: Manifest, target: str) -> object:
        """What `module:attribute` names; a class is called, once.

        Raises:
            ToolError: it cannot be imported; the sentence says why.
        """
        known = self._loaded.get((manifest.name, target))
        if known is not None:
            return known
        module_name, _, attribute = target.partition(":")
        try:
            found: object = getattr(import_module(manifest, module_name), attribute)
            made = found() if isinstance(found, type) else found
        except Exception as error:
            logger.exception("the plug-in %s cannot be loaded", manifest.name)
            raise ToolError(
                f"the plug-in {manifest.name} cannot be used: {target}: {error.__class__.__name__}: {error}"
            ) from error
        self._loaded[manifest.name, target] = made
        return made


def import_module(manifest: Manifest, name: str) -> ModuleType:
    """A module of a plug-in. A local plug-in's modules are files of its folder, under a package of their own."""
    if manifest.origin != "local":
        return importlib.import_module(name)
    package = f"weft_local_{manifest.name.replace('-', '_')}"
    if package not in sys.modules:
        spec = importlib.util.spec_from_loader(package, loader=None, is_package=True)
        assert spec is not None
        spec.submodule_search_locations = [manifest.folder]
        sys.modules[package] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"{package}.{name}")


# --- where they come from -----------------------------------------------------------------------------------


def bundled(problems: list[str]) -> Iterator[Manifest]:
    for name, folder in BUNDLED.items():
        path = Path(__file__).parent / folder / FILE
        try:
            yield read(path, origin="bundled")
        except ManifestError as error:
            problems.append(f"The plug-in {name}: {error}")


def installed(seen: Iterable[Seen], problems: list[str]) -> Iterator[Manifest]:
    """Manifests from a scan; one that cannot be used is told and left out."""
    for one in seen:
        if one.value is None:
            problems.append(f"The plug-in {one.name} is left out: {one.problem}")
            continue
        try:
            yield _owned(decode(one.value, Path(one.path), origin="installed"))
        except ManifestError as error:
            problems.append(f"The plug-in {one.name} is left out: {error}")


def local(cwd: Path, problems: list[str]) -> Iterator[Manifest]:
    """The plug-ins of a project. Ask for trust first: their code runs in our process."""
    folder = cwd / LOCAL
    try:
        names = sorted(path for path in folder.iterdir() if (path / FILE).is_file())
    except OSError:
        return
    for path in names:
        try:
            yield _owned(read(path / FILE, origin="local"))
        except ManifestError as error:
            problems.append(f"The plug-in {path.name} is left out: {error}")


def _owned(manifest: Manifest) -> Manifest:
    """
    Raises:
        ManifestError: a tool takes a name that rules know as one of Weft's own.
    """
    taken = own_names()
    for tool in manifest.tool:
        if tool.name in taken:
            raise ManifestError(f"the tool name {tool.name!r} is Weft's own; choose another")
    return manifest


def own_names() -> frozenset[str]:
    from weft.permissions.groups import ALIASES, EDITORS, HARMLESS, READERS
    from weft.tools.registry import MODULES

    return frozenset({*ALIASES, *EDITORS, *HARMLESS, *READERS, *MODULES})
