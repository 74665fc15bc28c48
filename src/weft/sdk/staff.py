"""The agents of a session: whom work can be given to, and who the main one is."""

from typing import TYPE_CHECKING

from weft.agent.definitions import AgentDefinition, find, state_of_files
from weft.agent.folders import Where
from weft.errors import ToolError, UsageError
from weft.settings.layers import as_object

if TYPE_CHECKING:
    from weft.sdk.compose import Ground

DEFAULT = "general-purpose"
MARKS = (".claude", ".github")


class Staff:
    """Definitions are read when they are first needed, and again when a file of theirs changed; a broken one given by
    the caller is told at the start."""

    def __init__(self, ground: "Ground", where: Where) -> None:
        self._ground = ground
        self._where = where
        self._known: dict[str, AgentDefinition] | None = None
        self._stamp: object = None

    @property
    def known(self) -> dict[str, AgentDefinition]:
        """As the files and the plug-ins' providers are now: what changed is read again."""
        ground = self._ground
        joined = ground.plugins.joined
        managed, others = joined.agents() if joined is not None else ([], [])
        stamp = (state_of_files(self._where), managed, others)
        if self._known is None or stamp != self._stamp:
            settings = as_object(ground.settings.values.get("agents"))
            found = find(self._where, given=ground.options.agents, settings=settings)
            found = {name: self._as_trusted(agent) for name, agent in found.items()}
            own = {agent.name: agent for agent in managed if found.get(agent.name, agent).origin != "managed"}
            fresh = {**found, **own}
            for agent in others:
                fresh.setdefault(agent.name, agent)
            changed = self._known is not None and fresh != self._known
            self._known, self._stamp = fresh, stamp
            if changed:
                ground.state.changed("agents")
        return self._known

    def _as_trusted(self, agent: AgentDefinition) -> AgentDefinition:
        """A project's agent runs nothing, connects to nothing and loosens nothing before its folder is trusted."""
        ground = self._ground
        if agent.origin != "project" or ground.options.trust or agent == agent.harmless():
            return agent
        from weft.permissions.trust import is_trusted

        root = next((above.parent for above in agent.path.parents if above.name in MARKS), None) if agent.path else None
        if root is not None and is_trusted(root, ground.env):
            return agent
        ground.notes.append(
            f"This folder is not trusted: hooks, servers and the permission mode of the agent {agent.name} are left "
            "out. Run weft trust here, or pass --trust."
        )
        return agent.harmless()

    def names(self) -> tuple[str, ...]:
        return tuple(self.known)

    def get(self, name: str) -> AgentDefinition:
        """
        Raises:
            ToolError: there is no such agent; the sentence lists those that there are.
        """
        found = self.known.get(name or DEFAULT)
        if found is None:
            raise ToolError(f"There is no agent {name!r}. There are: {', '.join(self.known)}.")
        return found

    def main(self) -> AgentDefinition | None:
        """The agent that the whole session is, when one was asked for.

        Raises:
            UsageError: there is no such agent.
        """
        name = self._ground.options.agent or self._ground.settings.text("agent")
        if not name or name == "weft":
            return None
        found = self.known.get(name)
        if found is None:
            raise UsageError(
                f"There is no agent {name!r} here.",
                hint=f"There are: {', '.join(self.known)}. weft agents lists others.",
            )
        return found

    def rows(self) -> tuple[tuple[str, str], ...]:
        """For the model: whom it may give work to."""
        return tuple((agent.name, agent.description) for agent in self.known.values() if agent.for_model)
