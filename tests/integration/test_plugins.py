"""Plug-ins in a session: the two examples, installed as wheels, and one of the project's own."""

import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.integration.driving import ended, session, turn, until_end
from tests.integration.plugin_wheels import install_examples
from weft.agent.options import SessionOptions
from weft.connect.port import Connection
from weft.permissions.trust import accept
from weft.schema.commands import Cancel, PermissionAnswered, Prompt, QuestionAnswered
from weft.schema.content import Text, text_of
from weft.schema.display import LinksView, TextView
from weft.schema.events import (
    AgentEvent,
    MessageDone,
    Notice,
    PermissionAsked,
    QuestionAsked,
    SessionStarted,
    Streamed,
    ToolEnded,
    ToolProgressed,
    TurnEnded,
)
from weft.schema.messages import Request
from weft.sdk.compose import Overrides, connect
from weft.testing.scripted import ScriptedProvider, call

ASKS = frozenset({"permission", "question"})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_examples(tmp_path_factory.mktemp("plugins"))


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(site))
    yield site
    for name in [name for name in sys.modules if name.split(".")[0] in ("weft_wordcount", "weft_librarian")]:
        del sys.modules[name]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "README.md").write_text("one two three\n")
    return folder


async def answering(connection: Connection, text: str, **answers: object) -> list[AgentEvent]:
    """A turn in which questions are answered: `permission` with a behaviour, `question` with a label."""
    await connection.send(Prompt(text))
    seen: list[AgentEvent] = []
    async for event in connection.events():
        seen.append(event)
        if isinstance(event, PermissionAsked):
            behaviour = answers.get("permission", "deny")
            input = answers.get("input")
            assert behaviour in ("allow", "deny") and (input is None or isinstance(input, dict))
            await connection.send(PermissionAnswered(event.request_id, behaviour, input=input))
        elif isinstance(event, QuestionAsked):
            await connection.send(
                QuestionAnswered(event.request_id, {event.questions[0].question: str(answers["question"])})
            )
        elif isinstance(event, TurnEnded):
            break
    return seen


def of(events: list[AgentEvent], kind: type[AgentEvent]) -> list[AgentEvent]:
    return [event for event in events if isinstance(event, kind)]


def notice(events: list[AgentEvent], tag: str) -> Notice:
    return next(event for event in events if isinstance(event, Notice) and event.tag == tag)


def tool_names(request: Request) -> set[str]:
    return {tool.name for tool in request.tools}


# --- tools --------------------------------------------------------------------------------------------------


async def test_a_tool_is_told_to_the_model_without_importing_its_package(installed: Path, project: Path) -> None:
    async with session(project, ["hello"]) as (connection, provider):
        await turn(connection, "hello")
    assert "count_words" in tool_names(provider.requests[0])
    assert "word_log" not in tool_names(provider.requests[0]), "its clause is not true yet"
    assert "weft_wordcount" not in sys.modules


async def test_a_tool_asks_with_its_own_words_and_runs(installed: Path, project: Path) -> None:
    script = [call("count_words", file_path="README.md", longest=1), "done", "again"]
    async with session(project, script, asks=ASKS) as (connection, provider):
        events = await answering(connection, "count", permission="allow")
        asked = next(event for event in events if isinstance(event, PermissionAsked))
        assert isinstance(asked.preview[0], TextView) and "count its words?" in asked.preview[0].text
        assert isinstance(asked.preview[1], TextView) and '"longest": 1' in asked.preview[1].text
        progress = next(event for event in events if isinstance(event, ToolProgressed))
        assert progress.message == "Counting the words of README.md"
        (done,) = (event for event in events if isinstance(event, ToolEnded))
        said = text_of(done.result.content)
        assert "3 words" in said and '"lines": 1' in said and "Longest: three" in said
        assert done.data == {"words": 3, "lines": 1, "characters": 14}
        assert isinstance(done.display[0], TextView) and done.display[0].text == "3 words in README.md"
        assert any(isinstance(view, LinksView) for view in done.display)
        await turn(connection, "more")
    assert "word_log" in tool_names(provider.requests[2]), "the plug-in has set the key of its clause"


async def test_the_input_can_be_edited_where_the_person_is_asked(installed: Path, project: Path) -> None:
    (project / "OTHER.md").write_text("just two\n")
    script = [call("count_words", file_path="README.md"), "done"]
    async with session(project, script, asks=ASKS) as (connection, _):
        events = await answering(connection, "count", permission="allow", input={"file_path": "OTHER.md"})
    (done,) = (event for event in events if isinstance(event, ToolEnded))
    assert "2 words" in text_of(done.result.content)


async def test_wrong_input_and_failures_are_sentences_for_the_model(installed: Path, project: Path) -> None:
    (project / "binary").write_bytes(b"\0\1")
    script = [
        call("count_words", file_path=7),
        call("count_words", file_path="binary"),
        call("count_words", file_path="gone"),
        "done",
    ]
    async with session(project, script, allowed_tools=("count_words",)) as (connection, _):
        events = await turn(connection, "count")
    said = [text_of(event.result.content) for event in events if isinstance(event, ToolEnded)]
    assert "count_words was not run" in said[0] and "file_path (required)" in said[0]
    assert said[1].endswith("is not a text file. Choose another.")
    assert "gone" in said[2] and "Traceback" not in said[2]


async def test_without_anybody_to_ask_a_tool_of_a_plugin_is_denied(installed: Path, project: Path) -> None:
    async with session(project, [call("count_words", file_path="README.md"), "done"]) as (connection, _):
        events = await turn(connection, "count")
    (done,) = (event for event in events if isinstance(event, ToolEnded))
    assert done.outcome == "denied"


async def test_a_rule_about_files_holds_for_a_tool_of_a_plugin(installed: Path, project: Path) -> None:
    script = [call("count_words", file_path="README.md"), "done"]
    rules = {"allowed_tools": ("count_words",), "disallowed_tools": ("Read(README.md)",)}
    async with session(project, script, **rules) as (connection, _):
        events = await turn(connection, "count")
    (done,) = (event for event in events if isinstance(event, ToolEnded))
    assert done.outcome == "denied" and "README.md" in text_of(done.result.content)


async def test_a_prompt_names_tools_and_sets_and_the_model_is_told(installed: Path, project: Path) -> None:
    async with session(project, ["a", "b", "c"]) as (connection, provider):
        await turn(connection, "How long is it? #words")
        await turn(connection, "#writing and issue #12")
        await turn(connection, "look with #search")
    told = [text_of(request.messages[-1].content) for request in provider.requests]
    assert "asks for these tools to be used: count_words." in told[0]
    assert "used: count_words, word_log." in told[1]
    assert "used: Grep, Glob." in told[2]


async def test_tools_are_switched_on_and_off_while_the_session_runs(installed: Path, project: Path) -> None:
    async with session(project, ["a", "b", "c"]) as (connection, provider):
        off = await turn(connection, "/tools off words")
        assert ended(off).text == "count_words: off."
        await turn(connection, "one")
        assert "off count_words (wordcount)" in ended(await turn(connection, "/tools")).text
        await turn(connection, "/tools on count_words")
        await turn(connection, "two")
        await turn(connection, "/tools off count_words")
        await turn(connection, "three #words")
        assert "no such tool" in ended(await turn(connection, "/tools off nothing")).text
    assert ["count_words" in tool_names(request) for request in provider.requests] == [False, True, True]


async def test_settings_switch_a_whole_plugin_off(installed: Path, project: Path) -> None:
    settings = '{"enabledPlugins": {"wordcount": false}}'
    async with session(project, ["a", "b"], settings=settings) as (connection, provider):
        await turn(connection, "one #words")
    assert "count_words" not in tool_names(provider.requests[0])


async def test_the_tools_that_come_with_weft_are_there_when_they_are_named(project: Path) -> None:
    async with session(project, ["a", "b"]) as (connection, provider):
        await turn(connection, "hello")
        await turn(connection, "where is it? #codebase")
    assert "searchCodebase" not in tool_names(provider.requests[0])
    assert "searchCodebase" in tool_names(provider.requests[1])
    assert "listDirectory" not in tool_names(provider.requests[1])


# --- participants -------------------------------------------------------------------------------------------


async def test_a_participant_answers_instead_of_the_model(installed: Path, project: Path) -> None:
    async with session(project, ["the model"]) as (connection, provider):
        events = await turn(connection, "@librarian /list everything")
        again = await turn(connection, "@librarian once more")
        await turn(connection, "hello")
    assert len(provider.requests) == 1
    end = ended(events)
    assert end.reason == "completed" and "There are 1 documents; I was asked 0 times" in end.text
    assert "└── README.md" in end.text and f"[README.md](<{project / 'README.md'}>)" in end.text
    assert "I was asked 1 times" in ended(again).text, "it has its own history"
    (message,) = (event for event in events if isinstance(event, MessageDone))
    assert message.reply.model == "participant:librarian" and message.reply.text == end.text
    assert of(events, Streamed)
    assert notice(events, "participant_progress").text == "Looking at the shelves"
    assert notice(events, "participant_references").display == (
        LinksView((("README.md", str(project / "README.md")),)),
    )
    button = {"title": "Sum it up", "prompt": "@librarian /summary README.md"}
    assert notice(events, "participant_button").data == button
    follow = [{"label": "Sum up the README", "prompt": "@librarian /summary README.md"}]
    assert notice(events, "participant_followups").data == follow
    roles = [message.role for message in provider.requests[0].messages]
    assert roles == ["user", "assistant", "user", "assistant", "user"], "the model sees what was said"


async def test_a_clear_prompt_goes_to_a_participant_without_its_name(installed: Path, project: Path) -> None:
    async with session(project, ["the model", "the model"]) as (connection, provider):
        events = await turn(connection, "Which documents are in the project?")
        assert notice(events, "participant_chosen").text.startswith("@librarian answers")
        assert "documents" in ended(events).text
        await turn(connection, "Which bug is in the project?")
    assert len(provider.requests) == 1
    async with session(project, ["the model"], settings='{"detectParticipants": false}') as (connection, provider):
        assert ended(await turn(connection, "Which documents are in the project?")).text == "the model"


async def test_a_participant_uses_the_chosen_model_after_the_person_agreed(installed: Path, project: Path) -> None:
    script = ["A short text.", "Again."]
    async with session(project, script, asks=ASKS) as (connection, provider):
        events = await answering(connection, "@librarian /summary README.md", question="Always")
        asked = next(event for event in events if isinstance(event, QuestionAsked))
        assert "librarian wants to use your language models" in asked.questions[0].question
        assert "to sum a document up" in asked.questions[0].question
        assert ended(events).text == "A short text." and ended(events).usage.input_tokens > 0
    assert "one two three" in text_of(provider.requests[0].messages[0].content)
    async with session(project, ["Again."]) as (connection, _):
        assert ended(await turn(connection, "@librarian /summary README.md")).text == "Again.", "the word was kept"


async def test_where_nobody_can_be_asked_a_plugin_gets_no_model(installed: Path, project: Path) -> None:
    async with session(project, ["never"]) as (connection, provider):
        end = ended(await turn(connection, "@librarian /summary README.md"))
    assert end.reason == "error" and "does not let librarian use models" in str(end.error)
    assert provider.requests == []


async def test_settings_of_the_person_decide_about_models_and_those_of_a_project_do_not(
    installed: Path, project: Path
) -> None:
    allowed = '{"plugins": {"librarian": {"models": true}}}'
    async with session(project, ["Short."], settings=allowed) as (connection, _):
        assert ended(await turn(connection, "@librarian /summary README.md")).text == "Short."
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(allowed)
    async with session(project, ["never"], trust=True) as (connection, provider):
        assert ended(await turn(connection, "@librarian /summary README.md")).reason == "error"
    assert provider.requests == []


async def test_an_error_of_a_participant_ends_the_turn_with_its_sentence(installed: Path, project: Path) -> None:
    async with session(project, ["x"]) as (connection, _):
        end = ended(await turn(connection, "@librarian /summary nothing.md"))
        assert (end.reason, end.error) == ("error", "@librarian: There is no document nothing.md.")
        assert ended(await turn(connection, "still there?")).text == "x"


async def test_edits_of_a_participant_pass_the_rules_and_the_person(installed: Path, project: Path) -> None:
    async with session(project, ["x"], asks=ASKS) as (connection, _):
        text = "@librarian /title README.md A new name"
        left = await answering(connection, text, question="Leave it")
        assert ended(left).text == "Nothing was changed."
        refused = await answering(connection, text, question="Do it", permission="deny")
        assert ended(refused).reason == "error"
        assert (project / "README.md").read_text() == "one two three\n"
        done = await answering(connection, text, question="Do it", permission="allow")
    assert ended(done).text == "README.md has its title."
    assert (project / "README.md").read_text() == "# A new name\n\none two three\n"
    assert next(event for event in done if isinstance(event, ToolEnded)).edits


async def test_feedback_reaches_the_participant_that_answered_last(installed: Path, project: Path) -> None:
    async with session(project, ["x"]) as (connection, _):
        assert "No participant" in ended(await turn(connection, "/feedback good")).text
        await turn(connection, "@librarian hello")
        assert ended(await turn(connection, "/feedback bad too short")).text == "@librarian was told."
        assert "Say /feedback" in ended(await turn(connection, "/feedback")).text


async def test_what_was_said_is_still_known_after_a_resume(installed: Path, project: Path) -> None:
    id = "6b2e4b54-52f1-4a3b-9d8f-0d9f6c1c7a11"
    async with session(project, ["x"], session_id=id) as (connection, _):
        await turn(connection, "@librarian hello")
    async with session(project, ["x"], resume=id) as (connection, _):
        assert "I was asked 1 times" in ended(await turn(connection, "@librarian again")).text


# --- models, servers, agents --------------------------------------------------------------------------------


async def test_the_agent_runs_on_a_model_of_a_plugin(installed: Path, project: Path) -> None:
    options = SessionOptions(cwd=project, model="librarian/parrot-1")
    with anyio.fail_after(60):
        async with connect(options, Overrides()) as connection:
            events = await turn(connection, "say it again")
            started = connection.info
    assert ended(events).reason == "completed" and ended(events).text.strip() == "say it again"
    assert started.model == "librarian/parrot-1"


async def test_servers_of_a_plugin_are_hosted_when_its_clause_is_true(installed: Path, project: Path) -> None:
    settings = '{"plugins": {"librarian": {"shelf": true}}}'
    async with session(project, ["x"], settings=settings) as (connection, _):
        first = await anext(aiter(connection.events()))
    assert isinstance(first, SessionStarted) and [server.name for server in first.info.servers] == ["shelf"]
    async with session(project, ["x"]) as (connection, _):
        first = await anext(aiter(connection.events()))
    assert isinstance(first, SessionStarted) and first.info.servers == ()


async def test_agents_of_a_provider_and_of_files_come_and_go_while_the_session_runs(
    installed: Path, project: Path
) -> None:
    (project / "readers").mkdir()
    (project / "readers" / "critic.txt").write_text("You doubt everything.")
    async with session(project, ["a", "b", "c"]) as (connection, _):
        await turn(connection, "one")
        assert "critic" in connection.info.agents and "poet" not in connection.info.agents
        (project / "readers" / "poet.txt").write_text("You rhyme.")
        folder = project / ".claude" / "agents"
        folder.mkdir(parents=True)
        (folder / "painter.md").write_text("---\nname: painter\ndescription: Paints.\n---\nPaint.\n")
        await turn(connection, "two")
        assert {"critic", "poet", "painter"} <= set(connection.info.agents)
        (folder / "painter.md").unlink()
        await turn(connection, "three")
        assert "painter" not in connection.info.agents


# --- the project's own --------------------------------------------------------------------------------------

LOCAL = """
[plugin]
name = "here"

[[tool]]
name = "greet_all"
run = "tools:greet"
display_name = "Greet"
model_description = "Greets everybody."

[[participant]]
id = "here.slow"
name = "slow"
run = "tools:slow"
sticky = true
"""
CODE = """
import anyio
from .words import HELLO

async def greet(input, call):
    return HELLO

async def slow(request, context, stream):
    stream.markdown("one ")
    if request.prompt == "wait":
        await anyio.sleep_forever()
    if request.prompt == "break":
        raise ValueError("broken")
    stream.markdown("two")
"""


def local(project: Path) -> None:
    folder = project / ".weft" / "plugins" / "here"
    folder.mkdir(parents=True)
    (folder / "plugin.toml").write_text(LOCAL)
    (folder / "tools.py").write_text(CODE)
    (folder / "words.py").write_text("HELLO = 'hello all'\n")


async def test_a_projects_plugins_count_after_trust_and_until_they_change(project: Path) -> None:
    local(project)
    script = [call("greet_all"), "done"]
    async with session(project, list(script), allowed_tools=("greet_all",)) as (connection, provider):
        events = await turn(connection, "greet")
        assert "left out until you run weft trust" in notice(events, "startup").text
    assert "greet_all" not in tool_names(provider.requests[0])
    accept(project)
    async with session(project, list(script), allowed_tools=("greet_all",)) as (connection, _):
        events = await turn(connection, "greet")
    (done,) = (event for event in events if isinstance(event, ToolEnded))
    assert text_of(done.result.content) == "hello all"
    (project / ".weft" / "plugins" / "here" / "words.py").write_text("HELLO = 'something else'\n")
    async with session(project, list(script)) as (connection, provider):
        await turn(connection, "greet")
    assert "greet_all" not in tool_names(provider.requests[0])


async def test_a_sticky_participant_keeps_the_turn_until_weft_is_named(project: Path) -> None:
    local(project)
    async with session(project, ["the model"], trust=True) as (connection, _):
        assert ended(await turn(connection, "@slow hello")).text == "one two"
        assert ended(await turn(connection, "and more")).text == "one two"
        assert ended(await turn(connection, "@weft hello")).text == "the model"


async def test_a_cancel_ends_a_participants_turn_and_keeps_what_it_said(project: Path) -> None:
    local(project)
    async with session(project, ["the model"], trust=True) as (connection, provider):
        await connection.send(Prompt("@slow wait"))
        async for event in connection.events():
            if isinstance(event, Streamed):
                break
        await connection.send(Cancel())
        events = await until_end(connection)
        assert ended(events).reason == "cancelled"
        assert next(event for event in events if isinstance(event, MessageDone)).aborted
        await turn(connection, "@weft go on")
    assert (Text("one "),) in [message.content for message in provider.requests[0].messages]


async def test_a_handler_that_breaks_is_a_sentence(project: Path) -> None:
    local(project)
    async with session(project, ["the model"], trust=True) as (connection, _):
        end = ended(await turn(connection, "@slow break"))
    assert end.error == "@slow: the plug-in here failed: ValueError: broken"


async def test_a_plugin_may_not_take_the_name_of_a_tool_that_rules_know(project: Path) -> None:
    local(project)
    path = project / ".weft" / "plugins" / "here" / "plugin.toml"
    path.write_text(LOCAL.replace("greet_all", "readFile"))
    async with session(project, ["x"], trust=True) as (connection, provider):
        events = await turn(connection, "hello")
    assert "'readFile' is Weft's own" in notice(events, "startup").text
    assert "readFile" not in tool_names(provider.requests[0])


async def test_a_bare_session_has_no_plugins(installed: Path, project: Path) -> None:
    provider = ScriptedProvider(["a"])
    async with session(project, provider, bare=True) as (connection, _):
        await turn(connection, "@librarian #words")
    assert "count_words" not in tool_names(provider.requests[0])
