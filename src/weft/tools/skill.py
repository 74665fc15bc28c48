"""Skill: instructions for a kind of work, loaded when they are needed."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError
from weft.tools.port import Result, SubagentRequest, Tool, ToolContext


class Loaded(msgspec.Struct, frozen=True):
    """A skill's text. `agent` is set when it runs in a context of its own, as that agent."""

    text: str
    agent: str | None = None


SkillLoader = Callable[[str, str], Awaitable[Loaded]]
"""(name, arguments) to the skill. Raises ToolError for one that is not there, naming those that are."""


class SkillArgs(msgspec.Struct, frozen=True):
    skill: Annotated[str, Meta(description="The skill's name, without a slash.", min_length=1)]
    args: Annotated[str, Meta(description="What the skill is to work on.")] = ""


class Skill(Tool[SkillArgs]):
    name = "Skill"
    args = SkillArgs
    arg_aliases = (("command", "skill"), ("name", "skill"))
    group = "other"

    def __init__(self, load: SkillLoader) -> None:
        self._load = load

    def title(self, args: SkillArgs) -> str:
        return f"Use the skill {args.skill}"

    async def run(self, args: SkillArgs, context: ToolContext) -> Result:
        name = args.skill.removeprefix("/")
        loaded = await self._load(name, args.args)
        if loaded.agent is not None and context.spawner is not None:
            if not context.allowed("Task", {"subagent_type": loaded.agent}):
                raise ToolError(f"the skill runs as the agent {loaded.agent}, which is not allowed")
            return await context.spawner.run(
                SubagentRequest(
                    tool_use_id=context.use.id, agent=loaded.agent, description=f"Skill {name}", prompt=loaded.text
                )
            )
        return Result(content=loaded.text, data={"success": True, "commandName": name})
