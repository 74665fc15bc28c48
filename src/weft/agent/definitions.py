"""Agents that work can be given to: the built-in ones, and those that people define in files, settings or options.

The first of two with the same name counts: the organisation's, the caller's (`--agents`, an SDK), the project's, the
person's own, the built-in one. What a file says and we do not know is kept in `fields`.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, cast

import msgspec

from weft.agent.folders import Where, is_name, markdown, parse, project_folders, roots, top
from weft.errors import UsageError
from weft.protocols import frontmatter
from weft.schema.content import Json
from weft.schema.events import MODES, Mode

AgentOrigin = Literal["builtin", "managed", "project", "user", "caller", "settings"]
READ_ONLY_TOOLS: Final = ("Read", "Glob", "Grep", "WebFetch", "WebSearch", "TodoWrite")

TOOL_SETS: Final[dict[str, tuple[str, ...]]] = {
    "read": ("Read",),
    "edit": ("Edit", "Write", "NotebookEdit"),
    "search": ("Grep", "Glob"),
    "codebase": ("Grep", "Glob", "Read"),
    "execute": ("Bash",),
    "runCommands": ("Bash",),
    "terminal": ("Bash",),
    "shell": ("Bash",),
    "fetch": ("WebFetch",),
    "web": ("WebFetch", "WebSearch"),
    "todo": ("TodoWrite",),
    "todos": ("TodoWrite",),
    "agent": ("Task",),
    "runSubagent": ("Task",),
}
"""What other editors call groups of tools."""


class AgentDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """An agent. `tools` is None for all that the parent has. Nothing here can make it wider than its parent."""

    name: str
    description: str
    prompt: str
    origin: AgentOrigin
    path: Path | None = None
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    agents: tuple[str, ...] | None = None
    """The agents that it may give work to."""
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    effort: str | None = None
    permission_mode: Mode | None = None
    max_turns: int | None = None
    skills: tuple[str, ...] = ()
    mcp_servers: tuple[str | Json, ...] = ()
    hooks: Json | None = None
    memory: Literal["user", "project", "local"] | None = None
    background: bool = False
    isolation: str | None = None
    color: str | None = None
    initial_prompt: str | None = None
    argument_hint: str = ""
    handoffs: tuple[Json, ...] = ()
    for_person: bool = True
    for_model: bool = True
    fields: Json = {}

    def harmless(self) -> "AgentDefinition":
        """As it may be used before its folder is trusted: without what runs commands or loosens permissions."""
        return msgspec.structs.replace(self, hooks=None, mcp_servers=(), permission_mode=None)


# --- where they come from -----------------------------------------------------------------------------------


def find(
    where: Where, *, given: Mapping[str, object] | None = None, settings: Json | None = None, trusted: bool = True
) -> dict[str, AgentDefinition]:
    """All agents by name. `given` is what `--agents` or an SDK says; `settings` the settings' own `agents`.

    Raises:
        UsageError: what was given is not a definition. A file that is not one is left out.
    """
    files = list(_from_files(where))
    ordered = [
        *(agent for agent in files if agent.origin == "managed"),
        *from_json(given or {}, "caller"),
        *(agent for agent in files if agent.origin == "project"),
        *(agent for agent in files if agent.origin == "user"),
        *from_json(settings or {}, "settings"),
        *BUILTIN,
    ]
    found: dict[str, AgentDefinition] = {}
    for agent in ordered:
        safe = agent if trusted or agent.origin != "project" else agent.harmless()
        found.setdefault(agent.name, safe)
    return found


def state_of_files(where: Where) -> tuple[tuple[str, int, int], ...]:
    """Every file that may be a definition, with its change time and size: another state, other agents."""
    found: list[tuple[str, int, int]] = []
    folders = [root / "agents" for root, _ in roots(where)]
    if "project" in where.sources:
        for folder in project_folders(where):
            folders += [folder / ".github" / name for name in ("chatmodes", "agents", "prompts")]
    if "user" in where.sources:
        folders.append(where.homes.user / ".copilot" / "agents")
    for folder in folders:
        for path in markdown(folder):
            with contextlib.suppress(OSError):
                stat = path.stat()
                found.append((str(path), stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def _from_files(where: Where) -> Iterator[AgentDefinition]:
    for root, origin in roots(where):
        lead = where.prefix(root)
        for path in markdown(root / "agents", within=top(where) if origin == "project" else None):
            for agent in _one(path, origin):
                yield msgspec.structs.replace(agent, name=f"{lead}{agent.name}") if lead else agent
    if "project" in where.sources:
        for folder in project_folders(where):
            github = folder / ".github"
            modes = markdown(github / "chatmodes", ".chatmode.md", within=top(where))
            for path in (*markdown(github / "agents", within=top(where)), *modes):
                yield from _one(path, "project", named=False)
            for path in markdown(github / "prompts", ".prompt.md", within=top(where)):
                yield from _one(path, "project", prompt=True)
    if "user" in where.sources:
        for path in markdown(where.homes.user / ".copilot" / "agents"):
            yield from _one(path, "user", named=False)


def _one(path: Path, origin: AgentOrigin, *, named: bool = True, prompt: bool = False) -> Iterator[AgentDefinition]:
    """The agent of a file, if it is one. A `.prompt.md` is one when it says `agent: agent` and has a name."""
    parsed = parse(path)
    if parsed is None:
        return
    fields, body = parsed
    if prompt and frontmatter.text(fields, "agent", "mode") != "agent":
        return
    name = frontmatter.text(fields, "name")
    if not name and not named:
        name = path.name.split(".", 1)[0]
    description = frontmatter.text(fields, "description")
    if not is_name(name) or (not description and named):
        return
    if frontmatter.text(fields, "target") == "github-copilot":
        return
    yield define(name, description or name, body.strip(), fields, origin, path)


def from_json(value: Mapping[str, object], origin: AgentOrigin) -> list[AgentDefinition]:
    """Agents from an object of name to definition.

    Raises:
        UsageError: a name or a definition that cannot be used.
    """
    found: list[AgentDefinition] = []
    for name, item in value.items():
        if not is_name(name):
            raise UsageError(f"{name!r} cannot be the name of an agent: letters, digits, dots and dashes only.")
        if not isinstance(item, dict):
            raise UsageError(f"The agent {name!r} is not an object.")
        fields = cast(Json, item)
        prompt, description = fields.get("prompt"), fields.get("description")
        if not isinstance(prompt, str) or not isinstance(description, str):
            raise UsageError(f"The agent {name!r} needs a `description` and a `prompt`, both texts.")
        found.append(define(name, description, prompt, fields, origin, None))
    return found


def define(
    name: str, description: str, prompt: str, fields: Json, origin: AgentOrigin, path: Path | None
) -> AgentDefinition:
    """A definition from the fields of a file or an option, in any of the spellings in use."""
    models = frontmatter.words(fields, "model") or ()
    mode = frontmatter.text(fields, "permissionMode", "permission-mode")
    turns = frontmatter.text(fields, "maxTurns", "max-turns")
    memory = frontmatter.text(fields, "memory")
    hooks = fields.get("hooks")
    return AgentDefinition(
        name=name,
        description=" ".join(description.split()),
        prompt=prompt,
        origin=origin,
        path=path,
        tools=tool_names(frontmatter.words(fields, "tools")),
        disallowed_tools=tool_names(frontmatter.words(fields, "disallowedTools", "disallowed-tools")) or (),
        agents=frontmatter.words(fields, "agents"),
        model=models[0] if models and models[0] != "inherit" else None,
        fallback_models=models[1:],
        effort=frontmatter.text(fields, "effort") or None,
        permission_mode=next((known for known in MODES if known == mode), None),
        max_turns=int(turns) if turns.isdigit() and int(turns) else None,
        skills=frontmatter.words(fields, "skills") or (),
        mcp_servers=_servers(fields),
        hooks=cast(Json, hooks) if isinstance(hooks, dict) else None,
        memory=memory if memory in ("user", "project", "local") else None,
        background=frontmatter.flag(fields, "background"),
        isolation=frontmatter.text(fields, "isolation") or None,
        color=frontmatter.text(fields, "color") or None,
        initial_prompt=frontmatter.text(fields, "initialPrompt", "initial-prompt") or None,
        argument_hint=frontmatter.text(fields, "argument-hint", "argumentHint"),
        handoffs=_objects(fields.get("handoffs")),
        for_person=frontmatter.flag(fields, "user-invocable", "userInvocable", default=True),
        for_model=not frontmatter.flag(fields, "disable-model-invocation", "disableModelInvocation")
        and frontmatter.flag(fields, "infer", default=True),
        fields=fields,
    )


def tool_names(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Our names for the tools that a definition lists; None when it has all of them."""
    if names is None:
        return None
    found: list[str] = []
    for name in names:
        if name == "*":
            return None
        server, slash, tool = name.partition("/")
        if slash and name.count("/") == 1:
            found.append(f"mcp__{server}" if tool in ("*", "") else f"mcp__{server}__{tool}")
        else:
            found += TOOL_SETS.get(name, (name,))
    return tuple(dict.fromkeys(found))


def _servers(fields: Json) -> tuple[str | Json, ...]:
    value = fields.get("mcpServers", fields.get("mcp-servers"))
    if isinstance(value, str):
        return frontmatter.words({"v": value}, "v") or ()
    if isinstance(value, dict):
        return tuple({name: config} for name, config in cast(Json, value).items())
    if isinstance(value, list):
        items = cast(list[object], value)
        return tuple(cast("str | Json", item) for item in items if isinstance(item, str | dict))
    return ()


def _objects(value: object) -> tuple[Json, ...]:
    return (
        tuple(cast(Json, item) for item in cast(list[object], value) if isinstance(item, dict))
        if isinstance(value, list)
        else ()
    )


# --- the built-in ones --------------------------------------------------------------------------------------

_REPORT = """\

Your last message is all that comes back to the agent that gave you this work: put everything into it that it needs, \
with full paths and line numbers, and nothing else. Nobody can answer questions while you work."""

BUILTIN: Final = (
    AgentDefinition(
        name="general-purpose",
        description="Work of several steps that needs its own room: searching widely, changing many files, trying "
        "something out. Has all tools.",
        prompt="You are a capable colleague who was given one piece of work. Do all of it, check it, and report what "
        "you did, what you found and what is left." + _REPORT,
        origin="builtin",
    ),
    AgentDefinition(
        name="Explore",
        description="Finds its way through code without changing it: where something is, how parts meet, what calls "
        "what. Say how thorough it should be.",
        prompt="You find things out about a code base. You only read: never change, create or delete anything. Search "
        "with several words and several ways, follow the trail to its end, and read what matters instead of guessing "
        "from names. Say how sure you are." + _REPORT,
        origin="builtin",
        tools=READ_ONLY_TOOLS,
        permission_mode="plan",
    ),
    AgentDefinition(
        name="Plan",
        description="Makes a plan for a change: reads what is there and says what to do, where and in which order. "
        "Changes nothing.",
        prompt="You plan a change to a code base. You only read: never change anything. Find out how things are done "
        "here, weigh the ways to do it, and choose one. The plan names each file to be touched, what changes in it, "
        "the order, what could go wrong, and how the result will be checked." + _REPORT,
        origin="builtin",
        tools=READ_ONLY_TOOLS,
        permission_mode="plan",
    ),
)
