"""The plug-ins of a session, put together: found, switched, and joined to its tools, turns, models and agents.

`open_plugins` is a cheap look. Where no plug-in is installed, local or switched on, nothing else of `weft.extend` is
imported, and only a prompt that says `#name` brings in those that come with Weft.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from weft.extend.installed import Seen, look
from weft.settings.layers import as_object

if TYPE_CHECKING:
    from weft.agent.session import Session
    from weft.schema.content import Content
    from weft.sdk.compose import Ground
    from weft.sdk.joined import JoinedPlugins
    from weft.sdk.workbench import Workbench

LOCAL = Path(".weft") / "plugins"


class Found:
    """What a look found: installed packages, whether the project has plug-ins of its own that count, the switches."""

    def __init__(self, seen: tuple[Seen, ...], local: Path | None, switches: Mapping[str, object]) -> None:
        self.seen = seen
        self.local = local
        self.switches = switches

    @property
    def anything(self) -> bool:
        return bool(self.seen or self.local or any(wish is True for wish in self.switches.values()))


def find_plugins(ground: "Ground") -> Found:
    options = ground.options
    switches = as_object(ground.settings.values.get("enabledPlugins"))
    if options.bare:
        return Found((), None, {})
    seen = look(ground.home)
    local: Path | None = None
    if (options.cwd / LOCAL).is_dir() and "project" in ground.sources:
        from weft.permissions.trust import is_trusted

        if options.trust or is_trusted(options.cwd, ground.env):
            local = options.cwd
        else:
            ground.notes.append("This folder has plug-ins of its own. They are left out until you run weft trust here.")
    return Found(seen, local, switches)


class Plugins:
    """The seat of plug-ins in a session: empty until there is one."""

    def __init__(self, ground: "Ground") -> None:
        self._ground = ground
        self._found = find_plugins(ground)
        self._bare = ground.options.bare
        self.joined: JoinedPlugins | None = None
        if self._found.anything:
            self._fill()

    def _fill(self) -> "JoinedPlugins":
        from weft.sdk.joined import JoinedPlugins

        self.joined = JoinedPlugins(self._ground, self._found)
        return self.joined

    def join(self, bench: "Workbench", session: "Session") -> None:
        """After the session is built, before it is entered."""
        if self.joined is not None:
            self.joined.join(bench, session)
        elif not self._bare:
            session.intake.desk.referred = lambda text: self._on_demand(text, bench, session)

    async def _on_demand(self, text: str, bench: "Workbench", session: "Session") -> "Content":
        """A prompt that may name one of the tools that come with Weft."""
        if re.search(r"(?<![\w#&/])#[A-Za-z]", text) is None:
            return ()
        joined = self._fill()
        joined.join(bench, session)
        return await joined.referred(text)
