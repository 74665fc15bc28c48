"""Skill: instructions for a kind of work, loaded when they are needed."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from weft.tools.port import Result, Tool, ToolContext

SkillLoader = Callable[[str, str], Awaitable[str]]
"""(name, arguments) to the skill's text. Raises ToolError for one that is not there, naming those that are."""


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
        text = await self._load(name, args.args)
        return Result(content=text, data={"success": True, "commandName": name})
