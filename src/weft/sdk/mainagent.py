"""Who the main agent is while a session runs: changing it, and what its definition offers to go on with."""

from typing import TYPE_CHECKING, Final

import msgspec

from weft.agent.definitions import AgentDefinition
from weft.agent.wishes import EFFORTS
from weft.errors import ToolError, UsageError, WeftError
from weft.protocols import frontmatter
from weft.schema.agents import Handoff
from weft.schema.events import AgentEvent, Notice
from weft.sdk.staff import SETTING, former_agent

if TYPE_CHECKING:
    from weft.sdk.workbench import Workbench

OURSELVES: Final = ("weft", "default", "agent")
"""Names for no definition at all; `agent` is what other editors call theirs."""


class MainAgent:
    """Changes the main agent of a live session. Its servers and hooks are those of the start: only a definition that
    the session was begun with brings its own."""

    def __init__(self, bench: "Workbench") -> None:
        self._bench = bench
        self._marked = former_agent(bench.ground.conversation.resumed) or ""

    async def become(self, name: str) -> str:
        """
        Raises:
            UsageError: there is no such agent.
        """
        bench, ground = self._bench, self._bench.ground
        agent = None
        if name not in OURSELVES:
            try:
                agent = ground.staff.get(name)
            except ToolError as error:
                raise UsageError(str(error)) from None
        if agent == ground.main_agent:
            return f"The main agent is {name} already."
        ground.main_agent = agent
        bench.assembler.options = bench.prompt_options(agent)
        options = ground.options
        bench.limits.max_turns = options.max_turns or (agent.max_turns if agent is not None else None)
        said = [f"The main agent: {name}."]
        if agent is not None:
            said += await self._wishes(agent)
        ground.state.changed("agent")
        return " ".join(said)

    async def _wishes(self, agent: AgentDefinition) -> list[str]:
        """Its model, effort and mode, as at a start; what cannot be had is said."""
        ground, said = self._bench.ground, list[str]()
        state = ground.state
        try:
            if agent.model is not None and ground.options.model is None:
                state.model = await ground.choose(agent.model)
            if agent.permission_mode is not None and ground.options.mode is None:
                state.set_mode(agent.permission_mode)
        except WeftError as error:
            said.append(error.whole)
        if agent.effort in EFFORTS and ground.options.thinking is None:
            state.thinking = msgspec.structs.replace(state.thinking, effort=agent.effort)
        return said

    def mark(self) -> None:
        """Takes down who works, once for each change: a resumed conversation goes on with the same agent."""
        agent = self._bench.ground.main_agent
        name = agent.name if agent is not None else ""
        if name != self._marked:
            self._bench.thread.history.scribe.mark(SETTING, {"agentSetting": name})
        self._marked = name

    def followups(self) -> AgentEvent | None:
        """What its definition hands over to, for a person to choose from."""
        agent = self._bench.ground.main_agent
        rows = self._handoffs(agent) if agent is not None else []
        if not rows:
            return None
        words = "; ".join(f"{row.label} ({row.typed})" for row in rows)
        return Notice(text=f"You could go on with: {words}", tag="handoffs", data=msgspec.to_builtins(rows))

    def _handoffs(self, agent: AgentDefinition) -> list[Handoff]:
        known = self._bench.ground.staff.known
        found: list[Handoff] = []
        for fields in agent.handoffs:
            name, prompt = frontmatter.text(fields, "agent"), frontmatter.text(fields, "prompt")
            if name and name not in known and name not in OURSELVES:
                continue
            label = frontmatter.text(fields, "label") or prompt or name
            typed = f"/agent {'weft' if name in OURSELVES else name} {prompt}".strip() if name else prompt
            if typed:
                send = frontmatter.flag(fields, "send")
                model = frontmatter.text(fields, "model")
                found.append(Handoff(label, name, prompt, send, model, typed))
        return found
