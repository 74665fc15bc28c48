"""Background work and subagents as the wire tells of them."""

import time
from collections.abc import Callable
from typing import Protocol

from weft.schema.content import Json
from weft.schema.events import TaskInfo

TYPES = {"shell": "local_bash", "agent": "local_agent", "mcp": "mcp_task"}


class Make(Protocol):
    """Makes a message of the type `system`."""

    def __call__(self, subtype: str, /, **fields: object) -> Json: ...


class Tasks:
    """Remembers every task of the session; `make` makes a message of a subtype and fields."""

    def __init__(self, make: Make, clock: Callable[[], float] = time.time) -> None:
        self._make = make
        self._clock = clock
        self._known: dict[str, TaskInfo] = {}

    def about(self, parent: str | None) -> Json:
        """What a line of a subagent says about it, by the tool use that started it."""
        for task in self._known.values() if parent is not None else ():
            if task.tool_use_id == parent and task.kind == "agent":
                return {"agent_id": task.id, "subagent_type": task.agent, "task_description": task.description}
        return {}

    def changed(self, task: TaskInfo) -> list[Json]:
        before = self._known.get(task.id)
        self._known[task.id] = task
        named: Json = {"task_id": task.id, "run_id": task.id}
        if before is None and task.state == "running":
            return [*self._listing(task), self._started(task, named)]
        if task.state == "running":
            return [self._progress(task, named), *([] if before is None else self._moved(before, task))]
        return [*self._ended(task, named), *self._listing(task)]

    def _started(self, task: TaskInfo, named: Json) -> Json:
        extra: Json = {}
        if task.kind == "agent":
            extra = {"subagent_type": task.agent, "prompt": task.prompt, "spawn_depth": 1}
        return self._make(
            "task_started",
            **named,
            tool_use_id=task.tool_use_id,
            description=task.description,
            task_type=TYPES[task.kind],
            is_backgrounded=task.background,
            **extra,
        )

    def _progress(self, task: TaskInfo, named: Json) -> Json:
        extra: Json = {"subagent_type": task.agent} if task.kind == "agent" else {}
        return self._make(
            "task_progress",
            **named,
            tool_use_id=task.tool_use_id,
            description=task.description,
            usage=_usage(task),
            last_tool_name=task.last_tool,
            **extra,
        )

    def _ended(self, task: TaskInfo, named: Json) -> list[Json]:
        status = "killed" if task.state == "stopped" else task.state
        patch = {"status": status, "end_time": round(self._clock() * 1000)}
        return [
            self._make("task_updated", **named, patch=patch),
            self._make(
                "task_notification",
                **named,
                tool_use_id=task.tool_use_id,
                status=task.state,
                output_file=task.output_file,
                summary=task.summary or task.description,
                usage=_usage(task),
            ),
        ]

    def _moved(self, before: TaskInfo, task: TaskInfo) -> list[Json]:
        return self._listing(task) if task.background != before.background else []

    def _listing(self, task: TaskInfo) -> list[Json]:
        """The background work that goes on, when that changed."""
        if not task.background:
            return []
        rows = [
            {"task_id": one.id, "run_id": one.id, "task_type": TYPES[one.kind], "description": one.description}
            for one in self._known.values()
            if one.background and one.state == "running"
        ]
        return [self._make("background_tasks_changed", tasks=rows)]

    def stats(self) -> Json:
        """Of the session's subagents."""
        agents = [task for task in self._known.values() if task.kind == "agent"]
        kinds: dict[str, int] = {}
        for task in agents:
            kinds[task.agent] = kinds.get(task.agent, 0) + 1
        background = sum(task.background for task in agents)
        requested = {"background": background, "foreground": len(agents) - background, "unset": 0}
        return {
            "spawned": len(agents),
            "requested": requested,
            "started_in_background": background,
            "max_depth": 1 if agents else 0,
            "spawned_by_subagents": 0,
            "completed": sum(task.state == "completed" for task in agents),
            "failed": sum(task.state == "failed" for task in agents),
            "killed": {"parent": 0, "user": sum(task.state == "stopped" for task in agents), "system": 0},
            "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
            "by_type": kinds,
        }


def _usage(task: TaskInfo) -> Json:
    return {
        "total_tokens": task.usage.context,
        "tool_uses": task.tool_uses,
        "duration_ms": round(task.duration * 1000),
    }
