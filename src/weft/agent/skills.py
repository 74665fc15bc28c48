"""Skills: a folder with a `SKILL.md`. Its description is told first, its body when it is used, and the files beside
it can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.agent.folders import Origin, Where, contained, is_name, parse, project_folders, roots, top
from weft.protocols import frontmatter
from weft.schema.content import Json

if TYPE_CHECKING:
    from weft.agent.commands.template import Part

MAX_DESCRIPTION = 1024


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """What a skill says of itself. The body stays on disk until `body` is called."""

    name: str
    description: str
    path: Path
    origin: Origin
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    model: str | None = None
    effort: str | None = None
    agent: str | None = None
    fork: bool = False
    """Runs in a context of its own, as a subagent."""
    for_person: bool = True
    for_model: bool = True
    fields: Json = {}
    """Everything that the file's head says, known to us or not."""

    @property
    def folder(self) -> Path:
        return self.path.parent

    def body(self) -> str:
        """The text after the front matter, as it is on disk now; empty when the file is gone."""
        found = parse(self.path)
        return found[1].strip() if found else ""

    def parts(self, arguments: str = "", *, session_id: str = "", cwd: Path | None = None) -> "list[Part]":
        """The body for use: where its files are, and its arguments put in."""
        from weft.agent.commands.template import Part, render

        variables = {
            "CLAUDE_SKILL_DIR": str(self.folder),
            "CLAUDE_PROJECT_DIR": str(cwd or ""),
            "CLAUDE_SESSION_ID": session_id,
            "CLAUDE_EFFORT": self.effort or "",
        }
        head = Part("text", f"The files of this skill are in {self.folder}.\n\n")
        return [head, *render(self.body(), arguments, names=self.arguments, variables=variables)]


def find(where: Where) -> dict[str, Skill]:
    """All skills by name. One without a description, or whose name is not a plain word, is left out."""
    found: dict[str, Skill] = {}
    for path, origin in _files(where):
        skill = read(path, origin)
        if skill is not None:
            name = where.prefix(path.parents[2]) + skill.name
            found.setdefault(name, msgspec.structs.replace(skill, name=name))
    return found


def read(path: Path, origin: Origin = "user") -> Skill | None:
    parsed = parse(path)
    if parsed is None:
        return None
    fields, body = parsed
    name = frontmatter.text(fields, "name") or path.parent.name
    description = frontmatter.text(fields, "description") or _first_line(body)
    if not is_name(name) or not description:
        return None
    when = frontmatter.text(fields, "when_to_use")
    return Skill(
        name=name,
        description=" ".join(f"{description} {when}".split())[:MAX_DESCRIPTION],
        path=path,
        origin=origin,
        argument_hint=frontmatter.text(fields, "argument-hint"),
        arguments=frontmatter.words(fields, "arguments") or (),
        allowed_tools=frontmatter.words(fields, "allowed-tools", "tools") or (),
        disallowed_tools=frontmatter.words(fields, "disallowed-tools") or (),
        model=_unless_inherit(frontmatter.text(fields, "model")),
        effort=frontmatter.text(fields, "effort") or None,
        agent=frontmatter.text(fields, "agent") or None,
        fork=frontmatter.text(fields, "context") == "fork",
        for_person=frontmatter.flag(fields, "user-invocable", default=True),
        for_model=not frontmatter.flag(fields, "disable-model-invocation"),
        fields=fields,
    )


def _unless_inherit(model: str) -> str | None:
    return model if model and model != "inherit" else None


def _first_line(body: str) -> str:
    return next((line.strip("# ").strip() for line in body.splitlines() if line.strip("# ").strip()), "")


def _files(where: Where) -> Iterator[tuple[Path, Origin]]:
    folders: list[tuple[Path, Origin]] = list(roots(where))
    if "project" in where.sources:
        for folder in project_folders(where):
            folders.append((folder / ".github", "project"))
            folders.append((folder / ".agents", "project"))
    if "user" in where.sources:
        folders.append((where.homes.user / ".agents", "user"))
        folders.append((where.homes.user / ".copilot", "user"))
    for folder, origin in folders:
        for path in _in(folder / "skills"):
            if contained(path, top(where) if origin == "project" else None):
                yield path, origin


def _in(folder: Path) -> list[Path]:
    try:
        return sorted(path / "SKILL.md" for path in folder.iterdir() if (path / "SKILL.md").is_file())
    except OSError:
        return []
