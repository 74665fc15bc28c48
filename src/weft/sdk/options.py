"""What a program says about the agent it wants."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from weft.agent.options import ALL_ASKS, AskKind, SessionOptions
from weft.permissions.modes import to_mode
from weft.providers.port import Provider
from weft.schema.commands import PermissionAnswered
from weft.schema.content import Json
from weft.schema.events import PermissionAsked, PlanProposed, QuestionAsked
from weft.schema.messages import ThinkingConfig
from weft.settings.layers import is_object
from weft.tools.port import AnyTool, PlanVerdict

Permission: TypeAlias = Callable[[PermissionAsked], Awaitable["bool | str | PermissionAnswered"]]
"""True allows; False denies; a string denies with that reason for the model; a command says everything."""
Questions: TypeAlias = Callable[[QuestionAsked], Awaitable[Mapping[str, str] | None]]
Plans: TypeAlias = Callable[[PlanProposed], Awaitable["bool | PlanVerdict"]]
HookFunction: TypeAlias = Callable[[Json, str | None], Awaitable[Json | None]]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything is optional. Without `permission`, whatever would have to be asked is denied.

    `output` is a type (a msgspec struct, a dataclass, a TypedDict) or a JSON schema: the answer is then a value of it.
    `process` runs the agent in a child process instead of this one; the events are the same.
    """

    cwd: str | Path = "."
    directories: Sequence[str | Path] = ()

    model: str | None = None
    fallback_model: str | None = None
    thinking: ThinkingConfig | None = None
    provider: Provider | None = None

    mode: str | None = None
    tools: Sequence[str] | None = None
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    own_tools: Sequence[AnyTool] = ()
    permission: Permission | None = None
    questions: Questions | None = None
    plans: Plans | None = None
    hooks: Mapping[str, Sequence[HookFunction]] | None = None
    max_turns: int | None = None
    max_budget: float | None = None
    trust: bool = False

    system_prompt: str | None = None
    append_system_prompt: str | None = None
    agent: str | None = None
    agents: Mapping[str, Mapping[str, object]] | None = None
    output: Any = None

    session_id: str | None = None
    resume: str | None = None
    continue_latest: bool = False
    fork: bool = False
    persist: bool = True

    settings: str | None = None
    setting_sources: Sequence[str] | None = None
    mcp_servers: Mapping[str, Mapping[str, object]] | None = None
    env: Mapping[str, str] | None = None
    process: bool = False

    @property
    def asks(self) -> frozenset[AskKind]:
        given: dict[AskKind, object] = {"permission": self.permission, "question": self.questions, "plan": self.plans}
        return frozenset(kind for kind in ALL_ASKS if given.get(kind) is not None)


def output_schema(output: Any) -> Json | None:
    """The JSON schema of what `output` asks for."""
    if output is None or is_object(output):
        return output
    from weft.tools.schema import inlined

    return inlined(msgspec.json.schema(output))


def to_session_options(options: Options) -> SessionOptions:
    """
    Raises:
        UsageError: a mode that does not exist.
    """
    return SessionOptions(
        cwd=Path(options.cwd).expanduser().resolve(),
        directories=tuple(Path(folder).expanduser().resolve() for folder in options.directories),
        session_id=options.session_id,
        resume=options.resume,
        continue_latest=options.continue_latest,
        fork=options.fork,
        persist=options.persist,
        model=options.model,
        fallback_model=options.fallback_model,
        thinking=options.thinking,
        mode=to_mode(options.mode) if options.mode else None,
        asks=options.asks,
        tools=tuple(options.tools) if options.tools is not None else None,
        allowed_tools=tuple(options.allowed_tools),
        disallowed_tools=tuple(options.disallowed_tools),
        allow_bypass=options.mode in ("bypassPermissions", "yolo"),
        trust=options.trust,
        max_turns=options.max_turns,
        max_budget=options.max_budget,
        system_prompt=options.system_prompt,
        append_system_prompt=options.append_system_prompt,
        agent=options.agent,
        agents={name: dict(value) for name, value in options.agents.items()} if options.agents else None,
        output_schema=output_schema(options.output),
        settings=options.settings,
        setting_sources=tuple(options.setting_sources) if options.setting_sources is not None else None,
        mcp_servers={name: dict(value) for name, value in options.mcp_servers.items()} if options.mcp_servers else None,
        env=dict(options.env) if options.env else None,
        client="sdk",
    )
