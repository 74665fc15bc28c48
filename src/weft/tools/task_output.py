"""TaskOutput: what a background task wrote since the last look."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError
from weft.tools.port import Result, Tool, ToolContext


class TaskOutputArgs(msgspec.Struct, frozen=True):
    task_id: Annotated[str, Meta(description="The task, as it was named when it was started.")]
    block: Annotated[bool, Meta(description="Wait until the task ends, or the timeout.")] = True
    timeout: Annotated[int, Meta(description="Longest wait in milliseconds, up to 600000.", ge=0)] = 30_000
    filter: Annotated[str | None, Meta(description="Show only lines that match this regular expression.")] = None


class TaskOutput(Tool[TaskOutputArgs]):
    name = "TaskOutput"
    args = TaskOutputArgs
    aliases = ("BashOutput", "AgentOutput", "BashOutputTool", "AgentOutputTool")
    arg_aliases = (("bash_id", "task_id"), ("shell_id", "task_id"), ("agentId", "task_id"))
    read_only = True

    def title(self, args: TaskOutputArgs) -> str:
        return f"Output of task {args.task_id}"

    async def run(self, args: TaskOutputArgs, context: ToolContext) -> Result:
        try:
            wanted = re.compile(args.filter) if args.filter else None
        except re.error as error:
            raise ToolError(f"filter is not a regular expression: {error}") from error
        # A shell's output is looked at while it runs, under the name that says so.
        wait = args.block and context.use.name not in ("BashOutput", "BashOutputTool")
        task, text = await context.tasks.read(args.task_id, wait=min(args.timeout, 600_000) / 1000 if wait else 0)
        if wanted:
            text = "\n".join(line for line in text.split("\n") if wanted.search(line))
        state = task.summary or f"Task {task.id} is {task.state}."
        running = task.state == "running"
        described = {
            "task_id": task.id,
            "task_type": "local_bash" if task.kind == "shell" else "local_agent",
            "status": task.state,
            "description": task.description,
            "output": text,
        }
        status = "success" if not running else "timeout" if wait else "not_ready"
        return Result(
            content=f"{state}\n{text.strip() or '(Nothing new was written.)'}",
            data={"retrieval_status": status, "task": described},
        )
