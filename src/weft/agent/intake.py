"""A prompt becomes a message: slash commands, `!` lines, `#` notes, `@` mentions, pictures, pasted text.

The order of reading is fixed. Verbatim prompts are not read at all. `/name` is a built-in command, a skill, a command
file or a server's prompt, in this order; a name that nobody has is plain text. `!` and `#` count only where a person
types (`shortcuts`): a program's prompt may begin with either.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from weft import paths
from weft.agent import skills as skills_
from weft.agent.commands.port import Builtin, Desk, Taken
from weft.agent.folders import Where, contained
from weft.errors import WeftError
from weft.schema.commands import Prompt
from weft.schema.content import Content, Text
from weft.schema.events import CommandInfo
from weft.schema.wire import as_blocks

if TYPE_CHECKING:
    from weft.agent.commands.files import FileCommand
    from weft.agent.commands.template import Part

__all__ = ["Desk", "Intake", "Taken"]

_COMMAND: Final = r"(?s)/([A-Za-z0-9][\w.:-]*)(?:[ \t\n]+(.*))?\Z"
_NOTE: Final = r"#(?:(?:note|memory)\b[ :]*|(?P<scope>user|project|local)\b[ :]+|[ \t]+)(?P<text>\S.*)\Z"
_AGENT: Final = r"(?:^|(?<=[\s(]))@agent-([A-Za-z0-9][\w.:-]*[\w])"
PASTED: Final = 2_000
PICTURES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""The endings of a path that attaches a picture without an @; `attach` finds it."""
GENERAL: Final = "general-purpose"


class Intake:
    """Reads prompts for one session. Command files and skills are looked up when first needed, and again when
    `refresh` is called."""

    def __init__(self, desk: Desk, where: Where, *, shortcuts: bool, only: tuple[str, ...] | None = None) -> None:
        """`only` names the skills that count; None is all."""
        self.desk = desk
        self._where = where
        self._shortcuts = shortcuts
        self._only = only
        self._builtins: dict[str, Builtin] | None = None
        self._brought: list[Builtin] = []
        self._commands: dict[str, FileCommand] | None = None
        self._skills: dict[str, skills_.Skill] | None = None

    # --- what there is --------------------------------------------------------------------------------------

    def refresh(self) -> None:
        self._commands = self._skills = None

    def add(self, command: Builtin) -> None:
        """A command that somebody brings; the name of one that is there stays with that."""
        self._brought.append(command)
        self._builtins = None

    @property
    def builtins(self) -> dict[str, Builtin]:
        """Ours, and those that were brought."""
        if self._builtins is None:
            from weft.agent.commands.builtin import by_name

            self._builtins = by_name()
            for command in self._brought:
                for name in (command.name, *command.aliases):
                    self._builtins.setdefault(name, command)
        return self._builtins

    @property
    def skills(self) -> dict[str, skills_.Skill]:
        if self._skills is None:
            found = skills_.find(self._where)
            self._skills = found if self._only is None else {key: found[key] for key in found if key in self._only}
        return self._skills

    @property
    def commands(self) -> "dict[str, FileCommand]":
        if self._commands is None:
            from weft.agent.commands.files import find

            self._commands = find(self._where)
        return self._commands

    def completions(self) -> tuple[CommandInfo, ...]:
        """Every command that may be typed, each name once, as `take` would find it."""
        found = [entry.info for entry in dict.fromkeys(self.builtins.values())]
        found += [
            CommandInfo(skill.name, skill.description, skill.argument_hint, f"skill ({skill.origin})")
            for skill in self.skills.values()
            if skill.for_person
        ]
        found += [command.info for command in self.commands.values()]
        found += [
            CommandInfo(skill.name, skill.description, "", f"skill ({skill.server})")
            for skill in self.desk.servers.skills()
            if skill.for_person
        ]
        found += self.desk.servers.prompts()
        by_name: dict[str, CommandInfo] = {}
        for info in found:
            by_name.setdefault(info.name, info)
        return tuple(by_name.values())

    # --- what a prompt is -----------------------------------------------------------------------------------

    async def take(self, prompt: Prompt) -> Taken:
        """Never raises for what is in a prompt: what cannot be done is said in `local`."""
        content = as_blocks(prompt.content)
        if prompt.verbatim or not content:
            return Taken(content=content)
        last = content[-1]
        typed = last.text if isinstance(last, Text) else ""
        before = tuple(_pasted(block) if isinstance(block, Text) else block for block in content[:-1])
        if len(content) == 1 and (found := await self._special(typed.strip())) is not None:
            return found
        if await self.desk.handed(typed):
            return Taken(content=(*before, last))
        if typed.startswith("/") and (taken := await self._command(typed.strip(), before)) is not None:
            return taken
        reminders = (
            *await self._attached(f"{typed}\n{self.desk.pointed_at()}"),
            *await self.desk.referred(typed),
            *self._asked_for(typed),
        )
        return Taken(content=(*before, last), reminders=(*self.desk.looked_at(), *reminders))

    async def _special(self, text: str) -> Taken | None:
        if not self._shortcuts or not text:
            return None
        if text.startswith("!") and text[1:].strip():
            return Taken(shell=text[1:].strip())
        note = re.match(_NOTE, text) if text.startswith("#") else None
        if note is not None and "\n" not in text:
            return self._note(note["text"], note["scope"])
        return None

    def _note(self, text: str, scope: str | None) -> Taken:
        from weft.context import notes

        cwd = Path(self.desk.info().cwd)
        try:
            path = notes.add(text, notes.choose(scope, cwd, self._where.homes))
        except WeftError as error:
            return Taken(local=str(error))
        return Taken(local=f"Noted in {path}.")

    def _asked_for(self, text: str) -> Content:
        """`@agent-NAME`: the model is told whom the person wants for this."""
        if "@agent-" not in text:
            return ()
        info = self.desk.info()
        known = {one.name for one in info.staff}
        names = [name for name in dict.fromkeys(re.findall(_AGENT, text)) if name in known]
        if not names or "Task" not in info.tools:
            return ()
        words = f"The person asks for the agent {' and '.join(names)}: give this work to it with the Task tool."
        return (Text(f"<system-reminder>\n{words}\n</system-reminder>"),)

    async def _attached(self, text: str, *, only_here: bool = False) -> Content:
        """What a text points at. With `only_here` nothing outside the folder: somebody else wrote that text."""
        if "@" not in text and not any(suffix in text.lower() for suffix in PICTURES):
            return ()
        from weft.agent.attach import attachments

        cwd = Path(self.desk.info().cwd)

        def may_read(path: Path) -> bool:
            return self.desk.may_read(path) and (not only_here or contained(path, cwd))

        return await attachments(text, cwd, paths.user_home(), self.desk.servers, may_read)

    # --- commands -------------------------------------------------------------------------------------------

    async def _command(self, text: str, before: Content) -> Taken | None:
        found = re.match(_COMMAND, text)
        if found is None:
            return None
        name, arguments = found[1], (found[2] or "").strip()
        own = self.builtins.get(name)
        if own is not None and (own.kind == "local" or not self._overridden(name)):
            try:
                taken = await own.run(arguments, self.desk)
            except WeftError as error:
                return Taken(local=str(error), command=name)
            if taken.then:
                return await self.take(Prompt(taken.then))
            if own.kind == "prompt" and taken.content:
                taken = msgspec.structs.replace(taken, content=_framed(name, arguments, taken.content))
            return msgspec.structs.replace(taken, command=name)
        skill = self.skills.get(name)
        if skill is not None and skill.for_person:
            info = self.desk.info()
            body = await self._body(skill.parts(arguments, session_id=info.session_id, cwd=Path(info.cwd)))
            return await self._finished(skill, name, arguments, body, before)
        command = self.commands.get(name)
        if command is not None:
            info = self.desk.info()
            body = await self._body(command.parts(arguments, session_id=info.session_id, cwd=Path(info.cwd)))
            return await self._finished(command, name, arguments, body, before)
        return await self._server_prompt(name, arguments, before)

    def _overridden(self, name: str) -> bool:
        return name in self.skills or name in self.commands

    async def _body(self, parts: "list[Part]") -> str:
        """The parts as one text, each command replaced by what it printed. They run in order, one at a time."""
        return "".join([await self.desk.run(part.text) if part.kind == "shell" else part.text for part in parts])

    async def _finished(
        self, source: "skills_.Skill | FileCommand", name: str, arguments: str, body: str, before: Content
    ) -> Taken:
        return Taken(
            content=(*before, *_framed(name, arguments, (Text(body),))),
            reminders=await self._attached(body, only_here=source.origin == "project"),
            model=source.model,
            effort=source.effort,
            allowed_tools=source.allowed_tools,
            agent=source.agent or (GENERAL if source.fork else None),
            command=name,
        )

    async def _server_prompt(self, name: str, arguments: str, before: Content) -> Taken | None:
        from weft.agent.commands.template import words_of

        servers = self.desk.servers
        try:
            if any(name == skill.name and skill.for_person for skill in servers.skills()):
                body = (Text(await servers.skill(name, arguments)),)
                return Taken(content=(*before, *_framed(name, arguments, body)), command=name)
            if not any(name in (info.name, *info.aliases) for info in servers.prompts()):
                return None
            body = await self.desk.servers.prompt(name, words_of(arguments))
        except WeftError as error:
            return Taken(local=str(error), command=name)
        return Taken(content=(*before, *_framed(name, arguments, body)), command=name)


def _framed(name: str, arguments: str, body: Content) -> Content:
    """The two-block form: which command it was, then what it says."""
    head = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>"
    if arguments:
        head += f"\n<command-args>{arguments}</command-args>"
    return (Text(head), *body)


def _pasted(block: Text) -> Text:
    """A long text before the typed one was pasted: it is marked as such."""
    if len(block.text) < PASTED or block.text.startswith("<"):
        return block
    lines = block.text.count("\n") + 1
    body = block.text.replace("</pasted", "<\u200b/pasted")
    return Text(f'<pasted lines="{lines}">\n{body}\n</pasted>')
