"""The port of hooks: other people's code at fixed points of a turn."""

from typing import Literal, Protocol, TypeAlias

import msgspec

from weft.schema.content import Json

HookEvent: TypeAlias = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "MessageDisplay",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "Setup",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "Notification",
    "PermissionRequest",
    "PermissionDenied",
    "Elicitation",
    "ElicitationResult",
    "TaskCreated",
    "TaskCompleted",
    "InstructionsLoaded",
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "ConfigChange",
    "SetUpEnvironment",
]

NEVER_HERE = ("TeammateIdle", "WorktreeCreate", "WorktreeRemove")
"""Events of other agents for things that Weft does not have: they are no mistake in a file, and never fire."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What all hooks of one event said, folded into one: deny beats ask beats allow; contexts are joined.

    `stop` ends the turn (`continue: false`). `block` refuses the event, with `reason` for the model.
    """

    permission: Literal["allow", "deny", "ask", "defer"] | None = None
    reason: str = ""
    block: bool = False
    stop: bool = False
    stop_reason: str = ""
    input: Json | None = None
    output: object = None
    context: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    """`systemMessage`s, for the person."""
    title: str | None = None
    watch: tuple[str, ...] = ()
    """Files that `FileChanged` is to tell of from now on."""
    answer: Json | None = None
    """What a hook answers in the person's place to an MCP server: `action` and `content`."""


class Hooks(Protocol):
    """Runs what is registered for an event, all matching hooks at once. Never raises: a hook that hangs, dies or
    answers nonsense is reported as a notice and counts as silence."""

    def wants(self, event: HookEvent) -> bool:
        """False when nothing is registered, so that callers need not build the input."""
        ...

    def matchers(self, event: HookEvent) -> tuple[str, ...]:
        """What the hooks of an event ask for: `FileChanged` names the files to watch in this way."""
        ...

    async def run(self, event: HookEvent, input: Json, *, subject: str = "", tool_use_id: str | None = None) -> Verdict:
        """`subject` is what matchers match: a tool name, a source, a trigger."""
        ...
