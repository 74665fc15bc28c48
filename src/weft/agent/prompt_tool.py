"""`--permission-prompt-tool`: a tool answers for the person, as the host's own answer would."""

from collections.abc import Callable
from typing import cast

import msgspec
from anyio.abc import TaskGroup

from weft.agent.dispatch import run_tool
from weft.agent.toolbox import ToolBox
from weft.schema.commands import Answer, PermissionAnswered
from weft.schema.content import Json, ToolUse, text_of
from weft.schema.events import AgentEvent, PermissionAsked
from weft.schema.wire import decode_object
from weft.tools.port import ToolContext


class PromptTool:
    """Sees what is asked and calls the tool for an answer. A tool that is missing, fails or talks nonsense denies."""

    def __init__(
        self,
        name: str,
        *,
        box: ToolBox,
        context: Callable[[ToolUse], ToolContext],
        group: Callable[[], TaskGroup],
        answer: Callable[[Answer], None],
    ) -> None:
        self._name = name
        self._box = box
        self._context = context
        self._group = group
        self._answer = answer

    def see(self, event: AgentEvent) -> None:
        if isinstance(event, PermissionAsked):
            self._group().start_soon(self._ask, event)

    async def _ask(self, event: PermissionAsked) -> None:
        self._answer(await self._asked(event))

    async def _asked(self, event: PermissionAsked) -> PermissionAnswered:
        tool = self._box.find(self._name)
        if tool is None:
            return _denied(event, f"There is no tool {self._name} to ask for permission.")
        value: Json = {"tool_name": event.use.name, "input": event.use.input, "tool_use_id": event.use.id}
        use = ToolUse(f"permission_{event.request_id}", tool.name, value)
        result = await run_tool(tool, value, self._context(use))
        said = text_of(result.content)
        try:
            found = decode_object(said)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return _denied(event, f"{self._name} did not answer as it should: {said[:200]}")
        if result.is_error or found.get("behavior") != "allow":
            return _denied(event, str(found.get("message") or "The permission tool refused this call."))
        changed = found.get("updatedInput")
        return PermissionAnswered(
            event.request_id, "allow", input=cast(Json, changed) if isinstance(changed, dict) else None
        )


def _denied(event: PermissionAsked, message: str) -> PermissionAnswered:
    return PermissionAnswered(event.request_id, "deny", message=message)
