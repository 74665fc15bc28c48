"""TaskStop: ends a background task."""

from typing import Annotated

import msgspec
from msgspec import Meta

from weft.tools.port import Result, Tool, ToolContext


class TaskStopArgs(msgspec.Struct, frozen=True):
    task_id: Annotated[str, Meta(description="The task, as it was named when it was started.")]


class TaskStop(Tool[TaskStopArgs]):
    name = "TaskStop"
    args = TaskStopArgs
    aliases = ("KillShell", "KillBash")
    arg_aliases = (("shell_id", "task_id"), ("bash_id", "task_id"))

    def title(self, args: TaskStopArgs) -> str:
        return f"Stop task {args.task_id}"

    async def run(self, args: TaskStopArgs, context: ToolContext) -> Result:
        task = await context.tasks.stop(args.task_id)
        said = (
            f"Task {task.id} was stopped." if task.state == "stopped" else f"Task {task.id} had {task.state} already."
        )
        kind = "local_bash" if task.kind == "shell" else "local_agent"
        return Result(content=said, data={"message": said, "task_id": task.id, "task_type": kind})
