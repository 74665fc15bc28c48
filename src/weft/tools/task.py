"""Task: work for a subagent, which has a conversation of its own."""

from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError
from weft.tools.port import Result, SubagentRequest, Tool, ToolContext


class TaskArgs(msgspec.Struct, frozen=True):
    description: Annotated[str, Meta(description="The work in three to five words.", min_length=1)]
    prompt: Annotated[
        str, Meta(description="All that the agent needs to know, and what it shall answer.", min_length=1)
    ]
    subagent_type: Annotated[str, Meta(description="Which agent does it.")] = "general-purpose"
    model: Annotated[str | None, Meta(description="Another model than the agent's own.")] = None
    run_in_background: Annotated[bool, Meta(description="Go on; you are told when it ends.")] = False


class Task(Tool[TaskArgs]):
    name = "Task"
    args = TaskArgs
    aliases = ("Agent",)
    kind = "think"
    group = "other"

    def is_read_only(self, args: TaskArgs) -> bool:
        """Agents asked for in one step work side by side; what each of them does is decided by itself."""
        return True

    def title(self, args: TaskArgs) -> str:
        return f"{args.subagent_type}: {args.description}"

    async def run(self, args: TaskArgs, context: ToolContext) -> Result:
        if context.spawner is None:
            raise ToolError("agents cannot be started from here. Do the work yourself.")
        return await context.spawner.run(
            SubagentRequest(
                tool_use_id=context.use.id,
                agent=args.subagent_type,
                description=args.description,
                prompt=args.prompt,
                model=args.model,
                background=args.run_in_background,
            )
        )
