"""The agent in a child process, with tools and hooks that stay in this one."""

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from weft.agent.dispatch import unexpected
from weft.agent.options import SessionOptions
from weft.connect.child import CallFunction, ChildConnection, ChildOptions
from weft.errors import ToolError, UsageError, WorkspaceError
from weft.protocols.session_lines import Call, Open, OwnTool, ToolCall
from weft.schema.content import Json
from weft.sdk.functions import FunctionTool, to_result
from weft.sdk.options import HookFunction, Options, to_session_options
from weft.tools.arguments import explain
from weft.tools.port import AnyTool, Result

logger = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "weft.sdk.hosted")


def open_child(options: Options) -> ChildConnection:
    """
    Raises:
        UsageError: something of the options lives in this process alone.
    """
    if options.provider is not None:
        raise UsageError(
            "A provider object cannot be handed to a child process.",
            hint="Name a model, or leave process=True away.",
        )
    tools = {tool.name: _function(tool) for tool in options.own_tools}
    hooks = {event: tuple(functions) for event, functions in (options.hooks or {}).items()}
    wanted = to_session_options(options)

    def opening(resume: str) -> Open:
        chosen = wanted
        if resume:
            chosen = msgspec.structs.replace(
                wanted, session_id=None, resume=resume, fork=False, continue_latest=False, resume_at=None
            )
        return Open(
            options=encode_options(chosen),
            tools=tuple(_told(tool) for tool in tools.values()),
            hooks={event: tuple(_name(function) for function in functions) for event, functions in hooks.items()},
        )

    return ChildConnection(
        ChildOptions(
            command=COMMAND,
            cwd=Path(options.cwd).expanduser().resolve(),
            env={**os.environ, **(options.env or {})},
            opening=opening,
            call=_caller(tools, hooks),
            resumable=options.persist,
        )
    )


def _function(tool: AnyTool) -> FunctionTool:
    if not isinstance(tool, FunctionTool):
        raise UsageError(f"{tool.name}: only functions with @weft.tool can be tools of an agent in a child process.")
    if tool.wants_context:
        raise UsageError(
            f"{tool.name} takes a context, which an agent in a child process has on its own side.",
            hint="Leave that argument away, or leave process=True away.",
        )
    return tool


def _told(tool: FunctionTool) -> OwnTool:
    return OwnTool(
        name=tool.name,
        manual=tool.manual,
        input_schema=tool.input_schema,
        kind=tool.kind,
        group=tool.group,
        read_only=tool.read_only,
    )


def _name(function: HookFunction) -> str:
    return getattr(function, "__name__", "function")


def _caller(tools: Mapping[str, FunctionTool], hooks: Mapping[str, tuple[HookFunction, ...]]) -> CallFunction:
    async def call(wanted: Call) -> object:
        if not isinstance(wanted, ToolCall):
            function = hooks[wanted.event][wanted.index]
            return await function(wanted.input, wanted.tool_use_id)
        return await _run(tools[wanted.name], wanted.input)

    return call


async def _run(tool: FunctionTool, value: Json) -> Result:
    """
    Raises:
        ToolError: with the sentence that the model would read if the agent were in this process.
    """
    try:
        return to_result(await tool.call(value))
    except (ToolError, WorkspaceError):
        raise
    except msgspec.ValidationError as error:
        raise ToolError(explain(error, tool)) from None
    except Exception as error:
        logger.exception("the tool %s failed", tool.name)
        raise ToolError(unexpected(tool, error)) from error


def encode_options(options: SessionOptions) -> Json:
    return msgspec.to_builtins(options, enc_hook=str)


def decode_options(value: Json) -> SessionOptions:
    """
    Raises:
        msgspec.ValidationError: not what `encode_options` made.
    """
    return msgspec.convert(value, SessionOptions, dec_hook=lambda kind, item: Path(item) if kind is Path else item)
