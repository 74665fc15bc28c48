"""Flags to `SessionOptions`: what every way of starting the agent from a command line shares."""

from pathlib import Path

from weft.agent.options import AskKind, SessionOptions
from weft.cli.arguments import Arguments
from weft.errors import UsageError
from weft.permissions.modes import to_mode
from weft.schema.content import Json
from weft.schema.events import Mode
from weft.schema.ids import parse_id
from weft.schema.messages import ThinkingConfig
from weft.schema.wire import decode_object


def to_options(arguments: Arguments, *, asks: frozenset[AskKind] = frozenset()) -> SessionOptions:
    """
    Raises:
        UsageError: a value that cannot be used.
    """
    return SessionOptions(
        cwd=Path.cwd(),
        directories=tuple(Path(folder).expanduser().resolve() for folder in arguments.add_dir),
        session_id=_uuid(arguments.session_id),
        resume=arguments.resume or None,
        continue_latest=arguments.continue_latest,
        fork=arguments.fork_session,
        resume_at=arguments.resume_session_at,
        resume_drops=arguments.resume_drops_turn,
        persist=not arguments.no_session_persistence,
        title=arguments.name,
        model=arguments.model,
        fallback_model=arguments.fallback_model,
        thinking=_thinking(arguments),
        betas=tuple(arguments.betas),
        mode=_mode(arguments),
        asks=asks,
        tools=_tools(arguments.tools),
        allowed_tools=tuple(arguments.allowedTools),
        disallowed_tools=tuple(arguments.disallowedTools),
        permission_tool=_tool_to_ask(arguments.permission_prompt_tool),
        allow_bypass=arguments.allow_dangerously_skip_permissions or arguments.dangerously_skip_permissions,
        trust=arguments.trust,
        max_turns=arguments.max_turns,
        max_budget=arguments.max_budget_usd,
        task_budget=arguments.task_budget,
        system_prompt=_text(arguments.system_prompt, arguments.system_prompt_file, "--system-prompt-file"),
        append_system_prompt=_text(
            arguments.append_system_prompt, arguments.append_system_prompt_file, "--append-system-prompt-file"
        ),
        agent=arguments.agent,
        agents=_json(arguments.agents, "--agents"),
        output_schema=_json(arguments.json_schema, "--json-schema"),
        bare=arguments.bare,
        setup=arguments.setup,
        settings=_settings(arguments.settings),
        setting_sources=None if arguments.setting_sources is None else tuple(arguments.setting_sources),
        mcp_configs=tuple(arguments.mcp_config),
        strict_mcp=arguments.strict_mcp_config,
        plugin_dirs=tuple(Path(folder).expanduser().resolve() for folder in arguments.plugin_dir),
        brief=arguments.print and arguments.output_format == "text",
        attach_ide=arguments.ide,
        may_attach_ide=not arguments.print and arguments.input_format == "text",
    )


def _tool_to_ask(name: str | None) -> str | None:
    """`stdio` is the host at the other end of the pipe, not a tool."""
    return None if name in (None, "", "stdio") else name


def _uuid(value: str | None) -> str | None:
    if value is None:
        return None
    session_id = parse_id(value)
    if session_id is None:
        raise UsageError(f"--session-id must be a UUID, not {value!r}.")
    return session_id


def _mode(arguments: Arguments) -> Mode | None:
    if arguments.dangerously_skip_permissions:
        return "bypassPermissions"
    return None if arguments.permission_mode is None else to_mode(arguments.permission_mode)


def _thinking(arguments: Arguments) -> ThinkingConfig | None:
    budget, kind = arguments.max_thinking_tokens, arguments.thinking
    if budget is None and kind is None and arguments.effort is None:
        return None
    if kind is None:
        kind = "adaptive" if budget is None else "enabled" if budget > 0 else "disabled"
    fields = {"kind": kind, "budget": budget, "effort": arguments.effort, "display": arguments.thinking_display}
    import msgspec

    return msgspec.convert(fields, ThinkingConfig)


def _tools(names: list[str] | None) -> tuple[str, ...] | None:
    if names is None or names == ["default"]:
        return None
    return tuple(names)


def _text(value: str | None, file: str | None, flag: str) -> str | None:
    if file is None:
        return value
    try:
        return Path(file).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{flag}: {file} cannot be read: {error.strerror}.") from None


def _json(value: str | None, flag: str) -> Json | None:
    """JSON, or the path of a file with JSON."""
    if value is None:
        return None
    import msgspec

    try:
        text = value if value.lstrip().startswith("{") else Path(value).expanduser().read_text(encoding="utf-8")
        return decode_object(text)
    except OSError as error:
        raise UsageError(f"{flag}: {value} cannot be read: {error.strerror}.") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{flag} is not a JSON object: {error}.") from None


def _settings(value: str | None) -> str | None:
    if value is not None and not value.lstrip().startswith("{") and not Path(value).expanduser().is_file():
        raise UsageError(f"--settings: there is no file {value}.")
    return value
