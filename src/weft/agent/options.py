"""What a session is asked to be: data only, the same for every way in."""

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from weft.schema.content import Json
from weft.schema.events import Mode
from weft.schema.messages import ThinkingConfig

AskKind: TypeAlias = Literal["permission", "question", "plan", "input"]
ALL_ASKS: frozenset[AskKind] = frozenset(("permission", "question", "plan", "input"))


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a session that can be said before it starts. Unset means: as the settings say.

    `asks` is what the surface can put before a person; anything else is denied at once.
    """

    cwd: Path
    directories: tuple[Path, ...] = ()

    # which conversation
    session_id: str | None = None
    resume: str | None = None
    continue_latest: bool = False
    fork: bool = False
    resume_at: str | None = None
    resume_drops: str | None = None
    """With `resume_at`: the prompt that the cut must drop first; another one means that the caller is behind."""
    persist: bool = True
    replay: bool = False
    """A resumed conversation is shown again, as events."""
    brief: bool = False
    """The first event does not list what the session offers: nobody will look at it."""
    title: str | None = None

    # which model
    model: str | None = None
    fallback_model: str | None = None
    thinking: ThinkingConfig | None = None
    betas: tuple[str, ...] = ()
    max_output: int | None = None

    # what it may do
    mode: Mode | None = None
    asks: frozenset[AskKind] = frozenset()
    tools: tuple[str, ...] | None = None
    """The built-in tools offered; None is the default set."""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    permission_tool: str | None = None
    """A tool that is asked instead of a person."""
    allow_bypass: bool = False
    trust: bool = False
    """The caller vouches for the folder: its hooks, servers and allow rules take effect."""
    max_turns: int | None = None
    max_budget: float | None = None
    task_budget: int | None = None
    """Tokens that the model is told to plan its work with."""

    # what it is told
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    static_prompt: bool = False
    """The system prompt says nothing of this machine, so that it is the same for everybody; the conversation does."""
    agent: str | None = None
    agents: Json | None = None
    output_schema: Json | None = None
    skills: tuple[str, ...] | None = None
    """The only skills there are; None is all that are found."""
    bare: bool = False
    setup: str = ""
    """`init` or `maintenance`: the Setup hooks run before anything else."""

    # where its settings come from
    settings: str | None = None
    """A file, or JSON."""
    setting_sources: tuple[str, ...] | None = None
    mcp_configs: tuple[str, ...] = ()
    strict_mcp: bool = False
    mcp_servers: Json | None = None
    hooks: Json | None = None
    plugin_dirs: tuple[Path, ...] = ()
    env: dict[str, str] | None = None

    # how it runs
    client: str = "cli"
    shortcuts: bool = False
    """A person types: `!command` and `#note` count."""
    checkpoints: bool = True
    attach_ide: bool = False
    """Attach to the one editor that has this folder open, now or when it appears."""
    may_attach_ide: bool = False
    """A person sits here: `/ide` works, and an editor's own terminal attaches to it."""
