"""What an agent brings along besides its prompt: skills that it starts with, what it remembers, hooks of its own."""

from pathlib import Path
from typing import TYPE_CHECKING

from weft.agent.definitions import AgentDefinition
from weft.hooks.port import Hooks
from weft.hooks.silent import NoHooks
from weft.settings.layers import is_object

if TYPE_CHECKING:
    from weft.agent.skills import Skill
    from weft.sdk.compose import Ground

MEMORY_LINES = 200
MEMORY_BYTES = 25_000


def briefed(agent: AgentDefinition, skills: "dict[str, Skill]", ground: "Ground") -> str:
    """The agent's prompt, with its skills and its memory after it."""
    parts = [agent.prompt]
    for name in agent.skills:
        skill = skills.get(name)
        if skill is not None:
            body = "".join(part.text for part in skill.parts(cwd=ground.options.cwd))
            parts.append(f'<skill name="{skill.name}">\n{body}\n</skill>')
    folder = memory_folder(agent, ground)
    if folder is not None:
        parts.append(_memory(folder))
    return "\n\n".join(part for part in parts if part)


def memory_folder(agent: AgentDefinition, ground: "Ground") -> Path | None:
    """Where the agent keeps what it learns, when its definition says that it does."""
    match agent.memory:
        case None:
            return None
        case "user":
            return ground.home / "agent-memory" / agent.name
        case "project":
            return ground.options.cwd / ".claude" / "agent-memory" / agent.name
        case "local":
            return ground.options.cwd / ".claude" / "agent-memory-local" / agent.name


def _memory(folder: Path) -> str:
    head = (
        f"You remember things from one piece of work to the next in {folder}. MEMORY.md there is shown to you at the "
        f"start, up to {MEMORY_LINES} lines; keep it short, and put details into other files beside it."
    )
    try:
        text = (folder / "MEMORY.md").read_bytes()[:MEMORY_BYTES].decode("utf-8", "replace")
    except OSError:
        return f"{head} There is no such file yet."
    lines = "\n".join(text.splitlines()[:MEMORY_LINES])
    return f"{head}\n\n<memory>\n{lines}\n</memory>"


def agent_hooks(agent: AgentDefinition | None, ground: "Ground", session: Hooks) -> Hooks:
    """The session's hooks and the agent's own, under the same switches as the hooks of settings. A definition of a
    folder that is not trusted has none."""
    if agent is None or not agent.hooks or not _allowed(agent, ground):
        return session
    from weft.hooks.joined import JoinedHooks
    from weft.hooks.runner import own_hooks

    hooks = dict(agent.hooks)
    if "Stop" in hooks and ground.main_agent is not agent:
        hooks["SubagentStop"] = hooks.pop("Stop")
    own = own_hooks(
        hooks,
        emit=ground.channel.put,
        env=ground.env,
        cwd=str(ground.options.cwd),
        wrap=ground.sandbox,
        reach=ground.reach(),
    )
    return JoinedHooks(session, own)


def subagent_hooks(agent: AgentDefinition, agent_id: str, ground: "Ground") -> Hooks:
    """As `agent_hooks`; every input says which agent it is about."""
    hooks = agent_hooks(agent, ground, ground.hooks)
    if isinstance(hooks, NoHooks):
        return hooks
    from weft.hooks.joined import AgentHooks

    return AgentHooks(hooks, agent_id=agent_id, agent_type=agent.name)


def _allowed(agent: AgentDefinition, ground: "Ground") -> bool:
    if agent.origin == "managed":
        return True
    only_managed = any(
        layer.scope == "policy" and layer.data.get("allowManagedHooksOnly") is True for layer in ground.settings.layers
    )
    return not only_managed and ground.settings.values.get("disableAllHooks") is not True


def own_servers(agent: AgentDefinition | None) -> dict[str, object]:
    """The servers that a main agent's definition configures itself; names only point at servers that are there."""
    found: dict[str, object] = {}
    for entry in agent.mcp_servers if agent is not None else ():
        if is_object(entry):
            found.update(entry)
    return found
