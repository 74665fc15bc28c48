"""What the model is really sent: memory, commands, mentions, compaction, resumed history."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.driving import ended, session, turn
from tests.property.test_session_log import check_valid
from weft.errors import SessionError, UsageError
from weft.schema.content import ToolUse
from weft.schema.events import AgentEvent, Compacted, PromptAdded
from weft.schema.messages import Message, Request, Usage
from weft.schema.wire import encode
from weft.sessions import compaction, tokens
from weft.sessions.store import FileStore
from weft.testing.scripted import Cue, Line, ScriptedProvider, call, say

SMALL = json.dumps({"models": {"small": {"contextWindow": 20000, "maxOutput": 2000}}})
RULES = ("Always answer in French.", "Never touch vendor/.", "Use tabs.", "Run make check at the end.")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text("memory of the project", encoding="utf-8")
    (folder / "sub" / "AGENTS.md").write_text("memory of the folder below", encoding="utf-8")
    (folder / "sub" / "a.py").write_text("x = 1\n", encoding="utf-8")
    return folder


def _body(request: Request) -> str:
    return encode(request.messages).decode()


async def test_memory_is_sent_once_and_two_turns_share_every_byte_before_the_new_message(project: Path) -> None:
    async with session(project, ["one", "two", "three"]) as (connection, provider):
        for text in ("first", "second", "third"):
            await turn(connection, text)
    first, second, third = provider.requests
    assert _body(third).count("memory of the project") == 1
    assert encode(first.system) == encode(second.system) == encode(third.system)
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages


async def test_the_memory_of_a_folder_below_follows_a_read_there(project: Path) -> None:
    script = [call("Read", file_path=str(project / "sub" / "a.py")), "done"]
    async with session(project, script) as (connection, provider):
        await turn(connection, "read it")
    assert "memory of the folder below" not in _body(provider.requests[0])
    assert "memory of the folder below" in _body(provider.requests[1])


async def test_a_command_file_and_a_mention_reach_the_model_as_they_should(project: Path) -> None:
    commands = project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "fix.md").write_text("---\ndescription: d\n---\nFix $0 with care, see @sub/a.py", encoding="utf-8")
    async with session(project, ["ok"]) as (connection, provider):
        events = await turn(connection, "/fix it")
    body = _body(provider.requests[0])
    assert "<command-name>/fix</command-name>" in body and "Fix it with care" in body and "x = 1" in body
    shown = [event for event in events if isinstance(event, PromptAdded)]
    assert len(shown) == 1 and "memory of the project" not in str(shown[0].content)


async def test_a_commands_own_model_and_effort_hold_for_its_turn_only(project: Path) -> None:
    commands = project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "quick.md").write_text("---\nmodel: claude-haiku-4-5\neffort: low\n---\nBe quick.", encoding="utf-8")
    async with session(project, ["one", "two", "three"], model="claude-sonnet-4-5") as (connection, provider):
        for text in ("first", "/quick", "last"):
            await turn(connection, text)
    assert [request.model for request in provider.requests] == [
        "claude-sonnet-4-5",
        "claude-haiku-4-5",
        "claude-sonnet-4-5",
    ]
    assert [request.thinking.effort for request in provider.requests] == [None, "low", None]


async def test_a_local_command_asks_no_model(project: Path) -> None:
    async with session(project, []) as (connection, provider):
        end = ended(await turn(connection, "/status"))
    assert end.reason == "local_command" and str(project) in end.text and provider.requests == []


async def test_commands_about_a_session_that_has_said_nothing_yet_answer(project: Path) -> None:
    async with session(project, []) as (connection, _):
        for name in ("rewind", "export", "todos", "cost", "hooks", "memory", "permissions", "resume", "context"):
            end = ended(await turn(connection, f"/{name}"))
            assert end.reason == "local_command" and end.text, name


async def test_a_session_goes_on_in_another_process_with_the_same_bytes(project: Path) -> None:
    script = [[say("I look."), call("Read", id="t1", file_path=str(project / "sub" / "a.py"))], "done"]
    async with session(project, script) as (connection, provider):
        await turn(connection, "read it")
    before = provider.requests[-1].messages
    async with session(project, ["again"], continue_latest=True) as (connection, provider):
        await turn(connection, "and?")
    sent = provider.requests[0].messages
    assert encode(sent[: len(before)]) == encode(before)
    assert [message.text for message in sent[len(before) :]] == ["done", "and?"]
    (row,) = FileStore(Path.home() / ".weft").list(project)
    assert (row.first_prompt, row.last_prompt) == ("read it", "and?")


def _by_identity(count: Callable[[Message], int]) -> Callable[[Message], int]:
    """Counts each message once: most of a request was in the one before."""
    known: dict[int, tuple[Message, int]] = {}

    def counted(message: Message) -> int:
        if id(message) not in known:
            known[id(message)] = (message, count(message))
        return known[id(message)][1]

    return counted


async def test_an_id_that_is_taken_is_refused_and_a_strange_one_too(project: Path) -> None:
    taken = "0f0e7f0a-6a33-4f0e-9d61-0c4f5d1f6a01"
    async with session(project, ["one"], session_id=taken) as (connection, _):
        await turn(connection, "hello")
    with pytest.raises(UsageError, match="already in use"):
        async with session(project, [], session_id=taken):
            pass
    with pytest.raises(SessionError, match="is not a session id"):
        async with session(project, [], session_id="../x"):
            pass


class Worker:
    """A model that works through a long job: a tool call and an answer for each prompt. It counts as a provider
    does, and when it is asked for a summary it writes one that forgets everything."""

    def __init__(self, file: Path) -> None:
        self._file = str(file)
        self.summaries = 0
        self.sizes: list[int] = []
        self._size = _by_identity(tokens.of_message)
        self._number = 0
        self._prefix = 0

    def _around(self, request: Request) -> int:
        """What a provider counts besides the messages: the system prompt and the tools, the same in every request."""
        if not self._prefix:
            tools = sum(tokens.of_text(f"{tool.name} {tool.description}{tool.input_schema}") for tool in request.tools)
            self._prefix = tools + sum(tokens.of_text(part.text) for part in request.system)
        return self._prefix

    def __call__(self, request: Request) -> Cue:
        self.sizes.append(sum(map(self._size, request.messages)) + self._around(request))
        usage = Usage(input_tokens=self.sizes[-1], output_tokens=50)
        if compaction.ASK[:60] in request.messages[-1].text:
            self.summaries += 1
            return Line((say("Work was done and goes on."),), usage)
        self._number += 1
        if self._number % 2:
            use = ToolUse(f"t{self._number}", "Read", {"file_path": self._file})
            return Line((say("I read. " * 20), use), usage)
        return Line((say(f"Step {self._number} is done. " * 20),), usage)


async def test_after_300_turns_with_a_small_window_the_first_turn_is_still_honoured(project: Path) -> None:
    file = project / "sub" / "big.txt"
    file.write_text("some line of text\n" * 150, encoding="utf-8")
    worker = Worker(file)
    provider = ScriptedProvider([worker], cycle=True, chunk=4000)
    seen: list[AgentEvent] = []
    async with session(project, provider, model="small", settings=SMALL) as (connection, _):
        await turn(connection, "Rules for all of this:\n" + "\n".join(RULES))
        for number in range(300):
            seen += [e for e in await turn(connection, f"Now part {number}.") if isinstance(e, Compacted)]
    assert worker.summaries >= 3
    assert not [event for event in seen if isinstance(event, Compacted) and event.state == "failed"]
    assert max(worker.sizes) < 20_000
    for request in provider.requests[::11]:
        check_valid(request.messages)
        body = _body(request)
        assert all(rule in body for rule in RULES)
        assert "memory of the project" in body
    last = _body(provider.requests[-1])
    assert all(rule in last for rule in RULES) and "Now part 299." in last and "Now part 1." in last
