"""`weft mcp serve`: Weft's own tools for other programs, over MCP, behind the permission gate.

Every call goes through the same gate as the agent's own. Where a rule wants a person, the client's person is asked
by elicitation (in both eras of the protocol); a client that cannot ask gets a refusal that says which rule would
allow it.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import anyio
import mcp_types
import msgspec
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from weft import __version__
from weft.agent.dispatch import run_tool
from weft.agent.permission import as_understood
from weft.permissions.gate import open_gate
from weft.permissions.port import Call, Decision, Gate
from weft.schema.content import Base64Source, Image, Json, Text, ToolUse
from weft.schema.display import Todo
from weft.schema.events import Mode, TaskInfo
from weft.schema.wire import as_blocks
from weft.settings import load_settings
from weft.tools.arguments import explain
from weft.tools.file_states import FileStateStore
from weft.tools.port import AnyTool, PlanVerdict, Progress, Result, ToolContext
from weft.tools.registry import built_in
from weft.tools.tasks import BackgroundTasks
from weft.workspace.local import LocalWorkspace

OFFERED = ("Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS", "Bash", "WebFetch")
PLAIN_SCHEMA: Json = {"type": "object", "properties": {}}
Context = ServerRequestContext[Any]


class NobodyToAsk:
    """The model's questions and plans have no place here."""

    async def question(self, tool_use_id: str, questions: Sequence[object]) -> dict[str, str] | None:
        return None

    async def plan(self, tool_use_id: str, plan: str) -> PlanVerdict | None:
        return None


class ServedSession:
    """What tools see of a session: a folder and a place for long output."""

    def __init__(self, cwd: Path) -> None:
        self.session_id = secrets.token_hex(8)
        self.cwd = cwd
        self.mode: Mode = "default"
        self.todos: tuple[Todo, ...] = ()
        self._folder: Path | None = None

    def set_cwd(self, cwd: Path) -> None:
        self.cwd = cwd

    def set_todos(self, todos: tuple[Todo, ...]) -> None:
        self.todos = todos

    def set_mode(self, mode: Mode) -> None:
        self.mode = mode

    def spill(self, name: str, data: bytes) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="weft-"))
        path = self._folder / name
        path.write_bytes(data)
        return path


class Desk:
    """The tools, the gate and what they stand on, for all clients of one server."""

    def __init__(self, folder: Path, tools: Sequence[AnyTool], gate: Gate, settings: Json) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self._gate = gate
        self._settings = settings
        self._workspace = LocalWorkspace((folder,), env=dict(os.environ))
        self._session = ServedSession(folder)
        self._files = FileStateStore()
        self._key = secrets.token_bytes(32)
        self.tasks = BackgroundTasks(self._workspace, Path(tempfile.mkdtemp(prefix="weft-")), on_change=_unseen)

    def definitions(self) -> list[mcp_types.Tool]:
        return [
            mcp_types.Tool(
                name=tool.name,
                description=tool.manual,
                input_schema=tool.input_schema,
                annotations=mcp_types.ToolAnnotations(read_only_hint=tool.read_only, open_world_hint=False),
            )
            for tool in self.tools.values()
        ]

    def decide(self, tool: AnyTool, value: Json) -> Decision:
        args = tool.decode(value)
        return self._gate.decide(
            Call(
                name=tool.name,
                input=as_understood(args, value),
                group=tool.group,
                kind=tool.kind,
                read_only=tool.is_read_only(args),
                paths=tool.paths(args),
                cwd=str(self._session.cwd),
            )
        )

    async def run(self, tool: AnyTool, value: Json, decision: Decision, progress: Callable[[Progress], None]) -> Result:
        context = ToolContext(
            use=ToolUse(f"mcp_{secrets.token_hex(6)}", tool.name, value),
            workspace=self._workspace,
            session=self._session,
            files=self._files,
            tasks=self.tasks,
            asker=cast("Any", NobodyToAsk()),
            spawner=None,
            progress=progress,
            settings=self._settings,
            allowed=lambda name, given: not self._gate.hides(name, given),
        )
        return await run_tool(tool, value, msgspec.structs.replace(context, sandbox=decision.sandbox))

    def seal(self, name: str, value: Json) -> str:
        """Binds a question to its call: an answer cannot be carried over to another one."""
        text = json.dumps([name, value], sort_keys=True)
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()


def _unseen(task: TaskInfo) -> None:
    return None


def make_server(desk: Desk) -> "Server[Any]":
    async def list_tools(context: Context, params: object) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=desk.definitions())

    async def call_tool(
        context: Context, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        tool = desk.tools.get(params.name)
        value = cast("Json", params.arguments or {})
        if tool is None:
            return _said(f"There is no tool named {params.name!r}.", wrong=True)
        try:
            decision = desk.decide(tool, value)
        except msgspec.ValidationError as error:
            return _said(explain(error, tool), wrong=True)
        if decision.behavior == "deny":
            return _said(f"This is not allowed: {decision.reason}.", wrong=True)
        if decision.behavior == "ask":
            answer = await _permission(desk, context, params, decision)
            if answer is not None:
                return answer
        return _answer(await _reported(context, lambda progress: desk.run(tool, value, decision, progress)))

    return Server(
        "weft",
        version=__version__,
        title="Weft",
        instructions="Weft's tools on the folder where it was started. Some calls ask the person first.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _permission(
    desk: Desk, context: Context, params: mcp_types.CallToolRequestParams, decision: Decision
) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult | None:
    """None when the person said yes."""
    value = cast("Json", params.arguments or {})
    rules = ", ".join(item.rule for item in decision.suggestions)
    hint = f" Start the server with --allow {rules!r} to allow it." if rules else ""
    refused = _said(f"Permission is needed: {decision.reason}.{hint}", wrong=True)
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return refused
    shown = json.dumps(value, indent=1, ensure_ascii=False)
    message = f"May {params.name} run with this input? ({decision.reason})\n{shown}"
    seal = desk.seal(params.name, value)
    if context.session.protocol_version >= "2026":
        given = (params.input_responses or {}).get("permission")
        if given is None:
            question = mcp_types.ElicitRequest(
                params=mcp_types.ElicitRequestFormParams(message=message, requested_schema=PLAIN_SCHEMA)
            )
            return mcp_types.InputRequiredResult(input_requests={"permission": question}, request_state=seal)
        sealed = hmac.compare_digest(params.request_state or "", seal)
        accepted = isinstance(given, mcp_types.ElicitResult) and given.action == "accept"
        return None if sealed and accepted else refused
    answer = await context.session.elicit_form(message, PLAIN_SCHEMA, context.request_id)
    return None if answer.action == "accept" else refused


async def _reported(context: Context, work: Callable[[Callable[[Progress], None]], Awaitable[Result]]) -> Result:
    """Runs a tool and passes its progress on; steps that come too fast are dropped."""
    send, receive = anyio.create_memory_object_stream[Progress](32)

    async def forward() -> None:
        count = 0
        async with receive:
            async for step in receive:
                count += 1
                words = step.message or step.output[-200:]
                if step.fraction is not None:
                    await context.session.report_progress(step.fraction, 1.0, words)
                else:
                    await context.session.report_progress(float(count), None, words)

    def progress(step: Progress) -> None:
        with contextlib.suppress(anyio.WouldBlock):
            send.send_nowait(step)

    found: list[Result] = []
    async with anyio.create_task_group() as group:
        group.start_soon(forward)
        async with send:
            found.append(await work(progress))
    return found[0]


def _said(text: str, *, wrong: bool) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)], is_error=wrong)


def _answer(result: Result) -> mcp_types.CallToolResult:
    content: list[Any] = []
    for block in as_blocks(result.content):
        match block:
            case Text(text=text):
                content.append(mcp_types.TextContent(type="text", text=text))
            case Image(source=Base64Source(media_type=kind, data=data)):
                content.append(mcp_types.ImageContent(type="image", data=data, mime_type=kind))
            case _:
                content.append(mcp_types.TextContent(type="text", text=f"[{type(block).__name__}]"))
    return mcp_types.CallToolResult(content=content, is_error=result.is_error)


def open_desk(folder: Path, tools: tuple[str, ...] | None, allow: tuple[str, ...]) -> Desk:
    """
    Raises:
        WeftError: settings that cannot be used, or a rule that means nothing.
    """
    from weft.permissions.trust import is_trusted

    settings = load_settings(folder, trusted=is_trusted(folder, os.environ))
    gate, notes = open_gate(settings, cwd=str(folder), allowed=allow)
    for note in notes:
        sys.stderr.write(f"weft mcp serve: {note}\n")
    offered = [tool for tool in built_in(None) if tool.name in (tools or OFFERED) and tool.name in OFFERED]
    return Desk(folder, offered, gate, settings.values)


def run(*, folder: Path, port: int | None, tools: tuple[str, ...] | None, allow: tuple[str, ...]) -> int:
    desk = open_desk(folder, tools, allow)
    if port is None:
        anyio.run(_over_stdio, desk)
    else:
        from weft.serve.mcp_http import serve_http

        anyio.run(serve_http, desk, port)
    return 0


async def _over_stdio(desk: Desk) -> None:
    server = make_server(desk)
    async with desk.tasks, stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
