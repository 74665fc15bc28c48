"""What prompts become."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.sessions_records import with_tools
from weft.agent.commands.port import Desk, Fill, ServerSkillInfo, Taken
from weft.agent.folders import Where
from weft.agent.intake import Intake
from weft.context.places import Homes
from weft.errors import ToolError
from weft.schema.commands import Compact, Prompt, Rewind, SetMode, SetModel, SetTitle
from weft.schema.content import Content, Image, Text
from weft.schema.display import Todo
from weft.schema.events import CommandInfo, ModelUsage, SessionInfo
from weft.schema.messages import Usage
from weft.schema.records import UserRecord
from weft.sessions.ledger import LedgerState


class Servers:
    """One MCP server with one prompt and one resource."""

    def prompts(self) -> Sequence[CommandInfo]:
        return (CommandInfo("mcp__db__query", "asks the database", "table", "mcp"),)

    async def prompt(self, name: str, arguments: Sequence[str]) -> Content:
        if not arguments:
            raise ToolError("The prompt needs a table.")
        return (Text(f"select from {arguments[0]}"),)

    def log(self, server: str) -> Sequence[str]:
        return ()

    def skills(self) -> Sequence[ServerSkillInfo]:
        return ()

    async def skill(self, name: str, arguments: str) -> str:
        return ""

    async def resource(self, server: str, uri: str) -> Content | None:
        return (Text("rows"),) if (server, uri) == ("db", "users://all") else None


class Room:
    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        self.home = root / "home"
        self.ran: list[str] = []
        homes = Homes(self.home, self.home / ".weft", self.home / ".claude", root / "etc")
        info = SessionInfo("s1", str(self.project), "model-a", title="T", agents=("Explore",))
        self.desk = Desk(info=lambda: info, run=self._run, servers=Servers())
        self.intake = Intake(self.desk, Where(cwd=self.project, homes=homes), shortcuts=True)

    async def _run(self, command: str) -> str:
        self.ran.append(command)
        return f"<{command}>"

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.project.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    async def take(self, text: str | Content, **flags: bool) -> Taken:
        return await self.intake.take(Prompt(text, **flags))


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def _texts(content: Content) -> list[str]:
    return [block.text for block in content if isinstance(block, Text)]


async def test_plain_text_stays_as_it_is(room: Room) -> None:
    assert await room.take("hello. how are you?") == Taken(content=(Text("hello. how are you?"),))


@pytest.mark.parametrize("text", ["/cost", "!ls", "# note", "@x.py"])
async def test_a_verbatim_prompt_is_not_read(room: Room, text: str) -> None:
    assert await room.take(text, verbatim=True) == Taken(content=(Text(text),))


@pytest.mark.parametrize("text", ["/nobody here", "/", "/usr/bin/env is a path", "// comment", "a /cost inside"])
async def test_an_unknown_command_is_plain_text(room: Room, text: str) -> None:
    assert _texts((await room.take(text)).content) == [text]


async def test_a_shell_line_and_a_note_are_the_persons_shortcuts(room: Room) -> None:
    assert (await room.take("!git status -s")).shell == "git status -s"
    taken = await room.take("# use tabs")
    assert taken.local == f"Noted in {room.project / 'CLAUDE.md'}." and not taken.content
    await room.take("#local: and my way")
    await room.take("#user everywhere")
    assert (room.project / "CLAUDE.md").read_text() == "# Notes\n\n- use tabs\n"
    assert (room.project / "CLAUDE.local.md").read_text() == "# Notes\n\n- and my way\n"
    assert (room.home / ".weft" / "CLAUDE.md").read_text() == "# Notes\n\n- everywhere\n"


async def test_notes_join_what_is_there_on_lines_of_their_own(room: Room) -> None:
    room.write("project/AGENTS.md", "Be kind.")
    await room.take("# one")
    await room.take("#note two")
    assert (room.project / "AGENTS.md").read_text() == "Be kind.\n\n# Notes\n\n- one\n- two\n"


@pytest.mark.parametrize("text", ["#123 is broken", "# Title\n\nbody", "#tool:x do", "#hashtag"])
async def test_other_hashes_are_plain_text(room: Room, text: str) -> None:
    assert _texts((await room.take(text)).content) == [text]


async def test_a_program_has_no_shortcuts(room: Room) -> None:
    intake = Intake(room.desk, Where.of_this_machine(room.project), shortcuts=False)
    for text in ("!rm -rf x", "# a title"):
        assert await intake.take(Prompt(text)) == Taken(content=(Text(text),))


# --- command files ------------------------------------------------------------------------------------------


async def test_a_command_file_is_two_blocks_with_its_arguments_in(room: Room) -> None:
    room.write(
        "project/.claude/commands/git/fix.md",
        "---\ndescription: fixes\nargument-hint: [issue]\nmodel: haiku\nallowed-tools: Bash(git log:*), Read\n---\n"
        "Fix $0 then $1; all: $ARGUMENTS; third: $ARGUMENTS[2]; price \\$5; log: !`git log $0`",
    )
    taken = await room.take('/git:fix "a b" c d')
    assert _texts(taken.content) == [
        "<command-message>git:fix</command-message>\n<command-name>/git:fix</command-name>\n"
        '<command-args>"a b" c d</command-args>',
        'Fix a b then c; all: "a b" c d; third: d; price $5; log: <git log a b>',
    ]
    assert (taken.model, taken.allowed_tools) == ("haiku", ("Bash(git log:*)", "Read"))
    assert room.ran == ["git log a b"]
    info = next(info for info in room.intake.completions() if info.name == "git:fix")
    assert (info.description, info.argument_hint, info.source) == ("fixes (project)", "[issue]", "project")


async def test_arguments_never_become_commands_or_slots(room: Room) -> None:
    room.write("project/.claude/commands/say.md", "Say $ARGUMENTS")
    taken = await room.take("/say !`rm -rf x` $1 ${CLAUDE_SESSION_ID}")
    assert _texts(taken.content)[1] == "Say !`rm -rf x` $1 ${CLAUDE_SESSION_ID}"
    assert room.ran == []


async def test_arguments_that_are_not_asked_for_stand_at_the_end(room: Room) -> None:
    room.write("project/.claude/commands/plain.md", "Do the thing.")
    assert _texts((await room.take("/plain now")).content)[1] == "Do the thing.\n\nARGUMENTS: now"


async def test_a_prompt_file_of_the_other_editor_is_a_command(room: Room) -> None:
    room.write(
        "project/.github/prompts/make.prompt.md",
        "---\ndescription: makes\nagent: ask\ntools: ['edit']\n---\nMake ${input:name:thing} with #tool:edit",
    )
    assert _texts((await room.take("/make box")).content)[1] == "Make box with edit"
    assert _texts((await room.take("/make")).content)[1] == "Make thing with edit"


async def test_the_project_comes_before_the_person_and_a_skill_before_a_command(room: Room) -> None:
    room.write("home/.claude/commands/a.md", "user's a")
    room.write("home/.claude/commands/b.md", "user's b")
    room.write("project/.claude/commands/a.md", "project's a")
    room.write("project/.claude/commands/s.md", "command s")
    room.write("project/.claude/skills/s/SKILL.md", "---\nname: s\ndescription: a skill\n---\nskill body $name")
    assert _texts((await room.take("/a")).content)[1] == "project's a"
    assert _texts((await room.take("/b")).content)[1] == "user's b"
    assert "skill body" in _texts((await room.take("/s")).content)[1]
    names = [info.name for info in room.intake.completions()]
    assert len(names) == len(set(names))


async def test_a_repository_cannot_replace_a_local_command_but_may_replace_a_prompt(room: Room) -> None:
    room.write("project/.claude/commands/permissions.md", "evil")
    room.write("project/.claude/commands/review.md", "our own review")
    assert "Mode:" in ((await room.take("/permissions")).local or "")
    assert _texts((await room.take("/review")).content)[1] == "our own review"


async def test_a_servers_prompt_is_a_command(room: Room) -> None:
    assert _texts((await room.take("/mcp__db__query users")).content)[1] == "select from users"
    assert (await room.take("/mcp__db__query")).local == "The prompt needs a table."


# --- what is pointed at -------------------------------------------------------------------------------------


async def test_files_folders_ranges_and_resources_are_attached(room: Room) -> None:
    room.write("project/a.py", "one\ntwo\nthree\n")
    room.write("project/dir/b c.txt", "spaced")
    taken = await room.take('look at @a.py, @a.py:2-3 @dir and @"dir/b c.txt" (@db:users://all) @nobody')
    assert _texts(taken.content) == ['look at @a.py, @a.py:2-3 @dir and @"dir/b c.txt" (@db:users://all) @nobody']
    texts = _texts(taken.reminders)
    assert texts[0] == f'<attached path="{room.project}/a.py">\n     1\tone\n     2\ttwo\n     3\tthree\n</attached>'
    assert 'lines="2-3"' in texts[1] and "one" not in texts[1]
    assert "b c.txt" in texts[2] and "spaced" in texts[3]
    assert texts[4:] == ['<attached resource="db:users://all">', "rows", "</attached>"]


async def test_code_and_addresses_are_no_mentions(room: Room) -> None:
    room.write("project/a.py", "one")
    assert (await room.take("mail me@a.py or `@a.py`")).reminders == ()


async def test_pictures_are_attached_by_mention_and_by_path(room: Room) -> None:
    path = room.write("shots/x.png", b"\x89PNG")
    taken = await room.take(f"what is in {path}?")
    assert [type(block) for block in taken.reminders] == [Text, Image]
    room.write("project/y.jpg", b"x")
    assert [type(block) for block in (await room.take("see @y.jpg")).reminders] == [Text, Image]


async def test_what_a_rule_forbids_is_not_attached(room: Room) -> None:
    room.write("project/.env", "SECRET=1")
    room.desk.may_read = lambda path: path.name != ".env"
    (block,) = (await room.take("@.env")).reminders
    assert isinstance(block, Text) and "SECRET" not in block.text and "forbids" in block.text


async def test_a_long_or_strange_file_is_cut_or_named(room: Room) -> None:
    room.write("project/long.txt", "x\n" * 5000)
    room.write("project/bin.dat", b"\0\1")
    long, binary = _texts((await room.take("@long.txt @bin.dat")).reminders)
    assert "from line 2001 on" in long and "not text" in binary


async def test_pasted_text_stands_before_the_typed_one_and_is_marked(room: Room) -> None:
    taken = await room.take((Text("log\n" * 1000), Text("what happened?")))
    texts = _texts(taken.content)
    assert texts[0].startswith('<pasted lines="1001">') and texts[1] == "what happened?"


async def test_a_repositorys_command_does_not_reach_the_persons_other_files(room: Room) -> None:
    secret = room.write("home/.ssh/key.md", "PRIVATE")
    room.write("project/.claude/commands/steal.md", f"Look at @{secret} and @../home/.ssh/key.md")
    (room.project / ".claude" / "commands" / "link.md").symlink_to(secret)
    (room.project / ".claude" / "skills" / "s").mkdir(parents=True)
    (room.project / ".claude" / "skills" / "s" / "SKILL.md").symlink_to(secret)
    taken = await room.take("/steal")
    assert "PRIVATE" not in str(taken.reminders) + str(taken.content)
    assert _texts((await room.take("/link")).content) == ["/link"]
    assert _texts((await room.take("/s")).content) == ["/s"]
    assert "PRIVATE" in str((await room.take(f"look at @{secret}")).reminders)


# --- built-in commands --------------------------------------------------------------------------------------

EXPECTED = re.findall(
    r"\w+",
    """
help clear compact context cost usage model mode permissions memory agents mcp hooks init resume rewind rename export
review doctor status todos
""",
)


@pytest.mark.parametrize("name", EXPECTED)
async def test_every_expected_command_is_there_and_answers(room: Room, name: str) -> None:
    taken = await room.take(f"/{name}")
    assert taken.command == name
    assert taken.local or taken.content or taken.commands
    assert any(name in (info.name, *info.aliases) for info in room.intake.completions())


async def test_commands_that_change_the_session_become_commands(room: Room) -> None:
    assert (await room.take("/model opus")).commands == (SetModel("opus"),)
    assert (await room.take("/model default")).commands == (SetModel(None),)
    assert (await room.take("/mode PLAN")).commands == (SetMode("plan"),)
    assert (await room.take("/mode nonsense")).commands == ()
    assert (await room.take("/compact the API")).commands == (Compact("the API"),)
    assert (await room.take("/rename  My   title")).commands == (SetTitle("My title"),)
    assert (await room.take("/clear")).clear


async def test_rewind_lists_prompts_and_goes_back_to_one(room: Room) -> None:
    talk = with_tools()
    room.desk.records = lambda: talk.records
    assert "1  fix the bug" in ((await room.take("/rewind")).local or "")
    record = talk.records[4]
    assert isinstance(record, UserRecord)
    assert (await room.take("/rewind 2")).commands == (Rewind(record.origin.uuid),)
    assert (await room.take("/rewind 2 files")).commands == (Rewind(record.origin.uuid, conversation=False),)
    assert (await room.take("/rewind 9")).commands == ()


async def test_export_writes_a_file_and_never_over_one(room: Room) -> None:
    room.desk.records = lambda: with_tools().records
    assert (await room.take("/export out.md")).local == f"Written to {room.project / 'out.md'}."
    text = (room.project / "out.md").read_text()
    assert "## You" in text and "fix the bug" in text and "Tool: Read" in text
    assert "exists already" in ((await room.take("/export out.md")).local or "")
    await room.take("/export out.html")
    assert "<!doctype html>" in (room.project / "out.html").read_text()


async def test_cost_and_context_say_what_is_known_and_what_is_not(room: Room) -> None:
    models = {"a": ModelUsage(Usage(1000, 20, 300, 4), 0.5), "b": ModelUsage(Usage(1, 1), 0.0, False)}
    room.desk.ledger = lambda: LedgerState(models=models)
    text = (await room.take("/cost")).local or ""
    assert "$0.5000 and more: no price is known for b" in text and "300 read from cache, 4 written" in text
    room.desk.fill = lambda: Fill(5000, 10_000)
    assert "5,000 of 10,000 tokens (50%)" in ((await room.take("/context")).local or "")
    room.desk.todos = lambda: (Todo("write tests", "in_progress"),)
    assert (await room.take("/todos")).local == "[>] write tests"
