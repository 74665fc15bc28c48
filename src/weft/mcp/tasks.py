"""The tasks extension: a call that answers with a task is followed until the task ends.

`resultType: "task"` has the task's fields at its top; `tasks/get` has `result`, `error` or `inputRequests` with it.
A call that is cancelled cancels its task.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import anyio
import mcp_types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict, TypeAdapter, ValidationError

from weft.mcp.catalogue import table_of
from weft.schema.content import Json

if TYPE_CHECKING:
    from weft.mcp.server import Server

SHORTEST, LONGEST = 0.2, 30.0


class AnyResult(mcp_types.Result):
    """A result of a method that the package does not know; every field is kept."""

    model_config = ConfigDict(extra="allow")


class TaskResult(mcp_types.Result):
    model_config = ConfigDict(extra="allow", populate_by_name=True)

    result_type: Literal["task"] = "task"


class TaskRequest(mcp_types.Request[dict[str, Any], str]):
    name_param = "taskId"


class TasksExtension(ClientExtension):
    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, server: "Server") -> None:
        self._server = server

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=TaskResult, resolve=self._resolve),)

    async def _resolve(self, result: TaskResult, context: ClaimContext) -> mcp_types.CallToolResult:
        task = cast("Json", result.model_dump(by_alias=True, mode="json"))
        task_id = task.get("taskId")
        if not isinstance(task_id, str):
            raise MCPError(mcp_types.INVALID_REQUEST, "the server answered with a task that has no taskId")
        try:
            return await self._followed(task_id, task, context)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(2, shield=True):
                await _send(context, "tasks/cancel", {"taskId": task_id})
            raise

    async def _followed(self, task_id: str, task: Json, context: ClaimContext) -> mcp_types.CallToolResult:
        answered: set[str] = set()
        while True:
            match task.get("status"):
                case "completed":
                    whole = table_of(task.get("result"))
                    return mcp_types.CallToolResult.model_validate({"content": [], "_meta": {"weft/raw": whole}})
                case "failed" | "cancelled" as status:
                    error = table_of(task.get("error"))
                    code = error.get("code")
                    raise MCPError(
                        code if isinstance(code, int) else mcp_types.INTERNAL_ERROR,
                        str(error.get("message") or f"the task was {status}"),
                    )
                case "input_required":
                    answers = await self._answers(table_of(task.get("inputRequests")), answered, context)
                    if answers:
                        await _send(context, "tasks/update", {"taskId": task_id, "inputResponses": answers})
                case _:
                    pass
            wait = task.get("pollIntervalMs")
            seconds = wait / 1000 if isinstance(wait, int | float) else 1.0
            await anyio.sleep(max(SHORTEST, min(seconds, LONGEST)))
            self._server.touch()
            task = await _send(context, "tasks/get", {"taskId": task_id})

    async def _answers(self, requests: Json, answered: set[str], context: ClaimContext) -> Json:
        found: Json = {}
        for key, raw in requests.items():
            if key in answered or len(answered) > 100:
                continue
            answered.add(key)
            try:
                request = TypeAdapter[Any](mcp_types.InputRequest).validate_python(raw)
            except ValidationError:
                continue
            reply = await context.session.dispatch_input_request(
                ClientRequestContext(session=context.session, request_id=key), request
            )
            if not isinstance(reply, mcp_types.ErrorData):
                found[key] = reply.model_dump(by_alias=True, mode="json", exclude_none=True)
        return found


async def _send(context: ClaimContext, method: str, params: Json) -> Json:
    result = await context.session.send_request(
        TaskRequest(method=method, params=params), AnyResult, request_read_timeout_seconds=30
    )
    return cast("Json", result.model_dump(by_alias=True, mode="json"))
