"""Commands that are files: `.claude/commands/**/*.md` and `.github/prompts/*.prompt.md`."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from weft.agent.commands.template import Part, render
from weft.agent.folders import Origin, Where, is_name, markdown, parse, project_folders, roots, top
from weft.protocols import frontmatter
from weft.schema.content import Json
from weft.schema.events import CommandInfo

_MODES = ("ask", "agent", "edit", "plan")


class FileCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that somebody wrote. Its body is read when it is used."""

    name: str
    description: str
    path: Path
    origin: Origin
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    model: str | None = None
    effort: str | None = None
    agent: str | None = None
    fork: bool = False
    for_model: bool = True
    fields: Json = {}

    @property
    def info(self) -> CommandInfo:
        return CommandInfo(self.name, f"{self.description} ({self.origin})".strip(), self.argument_hint, self.origin)

    def parts(self, arguments: str, *, session_id: str = "", cwd: Path | None = None) -> list[Part]:
        found = parse(self.path)
        variables = {"CLAUDE_SESSION_ID": session_id, "CLAUDE_PROJECT_DIR": str(cwd or ""), "selection": ""}
        return render(found[1].strip() if found else "", arguments, names=self.arguments, variables=variables)


def find(where: Where) -> dict[str, FileCommand]:
    """All command files by name; the first of a name counts. A name that is not a plain word is left out."""
    found: dict[str, FileCommand] = {}
    for name, path, origin in _files(where):
        if name not in found and is_name(name) and (command := _read(name, path, origin)) is not None:
            found.setdefault(command.name, command)
    return found


def _files(where: Where) -> Iterator[tuple[str, Path, Origin]]:
    for root, origin in roots(where):
        folder = root / "commands"
        for path in markdown(folder, within=top(where) if origin == "project" else None):
            yield where.prefix(root) + ":".join(path.relative_to(folder).with_suffix("").parts), path, origin
    if "project" in where.sources:
        for folder in project_folders(where):
            for path in markdown(folder / ".github" / "prompts", ".prompt.md", within=top(where)):
                yield path.name.removesuffix(".prompt.md"), path, "project"


def _read(name: str, path: Path, origin: Origin) -> FileCommand | None:
    parsed = parse(path)
    if parsed is None:
        return None
    fields, body = parsed
    prompt = path.name.endswith(".prompt.md")
    own = frontmatter.text(fields, "name") if prompt else ""
    agent = frontmatter.text(fields, "agent", "mode")
    if prompt and agent == "agent" and own and frontmatter.text(fields, "description"):
        # This form declares an agent: `agent/definitions.py` has it.
        return None
    model = frontmatter.text(fields, "model")
    first = next((line.strip("# ").strip() for line in body.splitlines() if line.strip()), "")
    return FileCommand(
        name=own if own and is_name(own) else name,
        description=frontmatter.text(fields, "description") or first[:100],
        path=path,
        origin=origin,
        argument_hint=frontmatter.text(fields, "argument-hint") or _hint(fields),
        arguments=frontmatter.words(fields, "arguments") or (),
        allowed_tools=frontmatter.words(fields, "allowed-tools", *(("tools",) if prompt else ())) or (),
        model=model if model and model != "inherit" else None,
        effort=frontmatter.text(fields, "effort") or None,
        agent=agent if agent and agent not in _MODES else None,
        fork=frontmatter.text(fields, "context") == "fork",
        for_model=not frontmatter.flag(fields, "disable-model-invocation"),
        fields=fields,
    )


def _hint(fields: Json) -> str:
    # `argument-hint: [file]` is a list to YAML and a hint to people.
    words = frontmatter.words(fields, "argument-hint")
    return f"[{', '.join(words)}]" if words else ""
