"""The agents of a session: whom work can be given to, and who the main one is."""

from typing import TYPE_CHECKING

from weft.agent.definitions import AgentDefinition, find, state_of_files
from weft.agent.folders import Where
from weft.errors import ToolError, UsageError
from weft.schema.agents import AgentInfo
from weft.schema.events import Notice
from weft.settings.layers import as_object

if TYPE_CHECKING:
    from weft.sdk.compose import Ground
    from weft.sessions.resume import Resumed

DEFAULT = "general-purpose"
MARKS = (".claude", ".github")
SETTING = "agent-setting"
"""The mark in a log that says who the main agent is from there on; Claude Code's has the same name."""


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
        self._note(
            f"This folder is not trusted: hooks, servers and the permission mode of the agent {agent.name} are left "
            "out. Run weft trust here, or pass --trust."
        )
        return agent.harmless()

    def _note(self, text: str) -> None:
        """Told when the session is entered; of a file that was changed since, at once."""
        if self._known is None:
            self._ground.notes.append(text)
        else:
            self._ground.channel.put(Notice(text=text, level="warning", tag="agents"))

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
        ground = self._ground
        former = former_agent(ground.conversation.resumed)
        name = ground.options.agent or (former if former is not None else ground.settings.text("agent"))
        if not name or name == "weft":
            return None
        found = self.known.get(name)
        if found is None and name != ground.options.agent and name == former:
            ground.notes.append(f"This conversation was the agent {name}'s, which is not here any more.")
            return None
        if found is None:
            raise UsageError(
                f"There is no agent {name!r} here.",
                hint=f"There are: {', '.join(self.known)}. weft agents lists others.",
            )
        return found

    def infos(self) -> tuple[AgentInfo, ...]:
        """For people: whom they may ask for."""
        return tuple(
            AgentInfo(
                agent.name, agent.description, agent.color or "", agent.argument_hint, agent.model or "", agent.origin
            )
            for agent in self.known.values()
            if agent.for_person
        )

    def rows(self) -> tuple[tuple[str, str], ...]:
        """For the model: whom it may give work to."""
        return tuple((agent.name, agent.description) for agent in self.known.values() if agent.for_model)


def former_agent(resumed: "Resumed | None") -> str | None:
    """The main agent of a resumed conversation; empty for Weft itself, None when it does not say."""
    for mark in reversed(resumed.marks if resumed is not None else ()):
        value = mark.data.get("agentSetting")
        if mark.kind == SETTING and isinstance(value, str):
            return value
    return None
