"""Groups of tools, for settings in bulk and for surfaces to show."""

from typing import Literal, TypeAlias

GroupName: TypeAlias = Literal["readonly", "edit", "execution", "mcp", "other"]

LABELS: dict[GroupName, str] = {
    "readonly": "Read-only tools",
    "edit": "Edit tools",
    "execution": "Execution tools",
    "mcp": "MCP tools",
    "other": "Other tools",
}

GROUPS: dict[GroupName, tuple[str, ...]] = {
    "readonly": ("Read", "Glob", "Grep", "WebFetch", "WebSearch"),
    "edit": ("Edit", "Write", "NotebookEdit", "ApplyPatch"),
    "execution": ("Bash",),
    "mcp": (),
    "other": ("Skill", "Task", "TodoWrite"),
}

ALIASES: dict[str, str] = {
    "Agent": "Task",
    "MultiEdit": "Edit",
    "LS": "Glob",
    "NotebookRead": "Read",
    "BashOutput": "TaskOutput",
    "KillShell": "TaskStop",
    "KillBash": "TaskStop",
    "applyPatch": "ApplyPatch",
    "createDirectory": "Write",
    "createFile": "Write",
    "findFiles": "Glob",
    "findTextInFiles": "Grep",
    "insertEdit": "Edit",
    "listCodeUsages": "Grep",
    "listDirectory": "Glob",
    "readFile": "Read",
    "readProjectStructure": "Glob",
    "searchCodebase": "Grep",
    "searchSubagent": "Task",
    "searchWorkspaceSymbols": "Grep",
}
"""Other names of the same tool. Rules are matched by the name on the right."""

READERS = frozenset({"Read", "Glob", "Grep"})
EDITORS = frozenset({"Edit", "Write", "NotebookEdit", "ApplyPatch"})
HARMLESS = frozenset(
    {
        "AskUserQuestion",
        "EnterPlanMode",
        "ExitPlanMode",
        "StructuredOutput",
        "TaskOutput",
        "TaskStop",
        "TodoWrite",
        "ToolSearch",
    }
)
"""Tools that touch nothing but the session itself."""


def canonical(tool: str) -> str:
    return ALIASES.get(tool, tool)


def group_of(tool: str) -> GroupName:
    """The group that a tool belongs to."""
    name = canonical(tool)
    if name.startswith("mcp__"):
        return "mcp"
    for group, tools in GROUPS.items():
        if name in tools:
            return group
    return "other"
