"""The iFlow dialect: what its SDKs want to see beside the standard. Only on connections that were told `//ready`.

Its clients draw a tool by its iFlow name, so ours are told by those; names that iFlow has no tool for stay ours.
"""

import time
from typing import TypeVar

import msgspec

from weft.protocols.acp import updates as u
from weft.protocols.acp.content import ToolContentBlock
from weft.schema.content import Json

READY = "//ready"
READY_DELAY = 0.1
"""Seconds that a client has to speak first. A standard one does at once; an iFlow one waits for us."""
FINISH_DELAY = 1.0
"""Seconds after an error in which an iFlow client may send its next prompt before its turn is closed for it."""

_NAMES = {
    "Bash": "run_shell_command",
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "replace",
    "MultiEdit": "multi_edit",
    "Glob": "glob",
    "Grep": "search_file_content",
    "LS": "list_directory",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "TodoWrite": "todo_write",
    "Agent": "task",
    "Task": "task",
    "AskUserQuestion": "ask_user_question",
    "ExitPlanMode": "exit_plan_mode",
}


def tool_name(name: str) -> str:
    return _NAMES.get(name, name)


class AgentIds:
    """`subagent-<tool use>-<index>-<milliseconds>`, the same for all that one subagent says."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def of(self, parent: str | None) -> str | None:
        if parent is None:
            return None
        if parent not in self._ids:
            self._ids[parent] = f"subagent-{parent}-{len(self._ids) + 1}-{int(time.time() * 1000)}"
        return self._ids[parent]


T = TypeVar("T", bound=u.ToolFields)


def dressed(fields: T, name: str, args: Json, agent_id: str | None) -> T:
    """With what its SDKs read on a tool update. They also want a `status` each time."""
    content = fields.content
    if content is not None:
        content = tuple(
            ToolContentBlock(content=one.content, args=args) if isinstance(one, ToolContentBlock) else one
            for one in content
        )
    return msgspec.structs.replace(
        fields, tool_name=tool_name(name), args=args or None, content=content, agent_id=agent_id
    )
