"""What a person does, key by key, and what they see."""

import json
from pathlib import Path

import msgspec
import pytest
from textual import events

from tests.e2e.terminal.stage import INFO, on_stage
from weft.errors import UsageError
from weft.permissions.trust import is_trusted
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Text, ToolUse
from weft.schema.display import DiffView, Todo
from weft.surfaces.terminal.asks.panel import Panel
from weft.surfaces.terminal.ports import Found
from weft.testing.connection import Stage as Script
from weft.testing.connection import called, said

BASH = ToolUse("t1", "Bash", {"command": "make test"})
RULES = (
    e.RuleSuggestion("Bash(make test)", "session"),
    e.RuleSuggestion("Bash(make test)", "local"),
)
BEFORE = "".join(f"line {n}\n" for n in range(30))
AFTER = BEFORE.replace("line 3\n", "LINE 3\n").replace("line 25\n", "LINE 25\n")


async def test_a_message_is_sent_and_the_reply_is_shown(tmp_path: Path) -> None:
    async with on_stage([said("Hello **there**.")], folder=tmp_path) as stage:
        await stage.shows("Weft", "/ · claude-test", "? ", "ask first", "claude-test")
        await stage.type("hi\n")
        await stage.shows("> hi", "Hello there.")
        assert stage.app.composer.text == ""


async def test_keys_are_taken_before_the_agent_is_there(tmp_path: Path) -> None:
    async with on_stage(folder=tmp_path) as stage:
        await stage.type("early")
        assert stage.app.composer.text == "early"


@pytest.mark.parametrize("size", [(80, 24), (300, 100)])
async def test_every_part_fits_on_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    turn = [*said("word " * 200), *called("Bash", {"command": "x" * 400}, output="y" * 400)]
    async with on_stage([turn, ()], folder=tmp_path, size=size) as stage:
        await stage.type("go\n")
        await stage.shows("Bash")
        lines = stage.screen().split("\n")
        assert len(lines) == size[1]
        assert "claude-test" in lines[-1]


async def test_a_new_line_is_not_yet_a_message(tmp_path: Path) -> None:
    async with on_stage(folder=tmp_path) as stage:
        await stage.type("one\\\ntwo")
        await stage.pilot.press("ctrl+j")
        await stage.type("three")
        assert stage.app.composer.text == "one\ntwo\nthree"
        assert not stage.commands


async def test_keys_in_quick_succession_keep_their_order(tmp_path: Path) -> None:
    async with on_stage(folder=tmp_path) as stage:
        for key, letter in [("a", "a"), ("b", "b"), ("backspace", None), ("c", "c"), ("left", None), ("d", "d")]:
            stage.app.post_message(events.Key(key, letter))
        await stage.until(lambda: len(stage.app.composer.text) == 3)
        await stage.pilot.pause()
        assert stage.app.composer.text == "adc"


async def test_one_key_allows_and_another_writes_the_rule_that_was_shown(tmp_path: Path) -> None:
    ask = e.PermissionAsked(request_id="r1", use=BASH, title="make test", kind="execute", suggestions=RULES)
    again = e.PermissionAsked(request_id="r2", use=BASH, title="make test", kind="execute", suggestions=RULES)
    async with on_stage([[ask, again, *said("done")]], folder=tmp_path) as stage:
        await stage.type("go\n")
        await stage.shows("Run this command?", "make test", "Bash(make test) → for this session")
        await stage.pilot.press("y")
        await stage.until(lambda: c.PermissionAnswered("r1", "allow") in stage.commands)
        await stage.until(lambda: list(stage.app.conversation.model.asks) == ["r2"])
        await stage.until(lambda: isinstance(stage.app.focused, Panel) and stage.app.focused.request_id == "r2")
        await stage.pilot.press("tab")
        await stage.shows("Bash(make test) → .claude/settings.local.json")
        await stage.pilot.press("a")
        wanted = c.PermissionAnswered("r2", "allow", rules=(RULES[1],))
        await stage.until(lambda: wanted in stage.commands)
        await stage.shows("done")


async def test_a_refusal_carries_its_reason(tmp_path: Path) -> None:
    ask = e.PermissionAsked(request_id="r1", use=BASH, kind="execute")
    async with on_stage([[ask]], folder=tmp_path) as stage:
        await stage.type("go\n")
        await stage.shows("No, and say why")
        await stage.pilot.press("r")
        await stage.type("use tox\n")
        await stage.until(lambda: c.PermissionAnswered("r1", "deny", message="use tox") in stage.commands)


async def test_changes_are_accepted_one_by_one(tmp_path: Path) -> None:
    use = ToolUse("t2", "Write", {"file_path": "/a.txt", "content": AFTER})
    view = DiffView("/a.txt", BEFORE, AFTER)
    ask = e.PermissionAsked(request_id="r1", use=use, kind="edit", preview=(view,))
    async with on_stage([[ask]], folder=tmp_path, size=(100, 50)) as stage:
        await stage.type("go\n")
        await stage.shows("Make this change?", "LINE 25", "Choose change by change")
        await stage.pilot.press("h", "down", "space", "enter")
        await stage.until(lambda: any(isinstance(each, c.PermissionAnswered) for each in stage.commands))
        answer = stage.commands[-1]
        assert isinstance(answer, c.PermissionAnswered) and answer.behavior == "allow"
        assert answer.input == {"file_path": "/a.txt", "content": BEFORE.replace("line 3\n", "LINE 3\n")}


async def test_questions_are_answered_by_number_or_in_own_words(tmp_path: Path) -> None:
    options = (e.QuestionOption("SQLite", "one file"), e.QuestionOption("Postgres"))
    questions = (e.Question("Which one?", "Database", options), e.Question("Why?"))
    ask = e.QuestionAsked(request_id="q1", tool_use_id="t", questions=questions)
    async with on_stage([[ask]], folder=tmp_path) as stage:
        await stage.type("go\n")
        await stage.shows("Which one?", "SQLite", "one file")
        await stage.pilot.press("2")
        await stage.shows("Why?")
        await stage.pilot.press("o")
        await stage.type("it is big\n")
        wanted = c.QuestionAnswered("q1", {"Which one?": "Postgres", "Why?": "it is big"})
        await stage.until(lambda: wanted in stage.commands)


async def test_a_plan_is_approved_or_sent_back(tmp_path: Path) -> None:
    first = e.PlanProposed(request_id="p1", tool_use_id="t", plan="1. look\n2. mend")
    second = e.PlanProposed(request_id="p2", tool_use_id="t", plan="1. mend")
    async with on_stage([[first, second]], folder=tmp_path) as stage:
        await stage.type("go\n")
        await stage.shows("A plan for you to approve", "1. look")
        await stage.pilot.press("r")
        await stage.type("shorter\n")
        await stage.until(lambda: c.PlanAnswered("p1", False, mode="plan", feedback="shorter") in stage.commands)
        await stage.shows("1. mend")
        await stage.pilot.press("y")
        await stage.until(lambda: c.PlanAnswered("p2", True, mode="acceptEdits") in stage.commands)


async def test_a_form_of_a_server_is_filled_by_keyboard(tmp_path: Path) -> None:
    schema = {
        "properties": {"name": {"type": "string", "title": "Name"}, "ok": {"type": "boolean"}},
        "required": ["name"],
    }
    ask = e.InputRequested(request_id="i1", server="files", message="Who are you?", schema=schema)
    async with on_stage([[ask]], folder=tmp_path) as stage:
        await stage.type("go\n")
        await stage.shows("files asks you", "Who are you?")
        await stage.pilot.press("ctrl+s")
        await stage.shows("This is needed.")
        await stage.pilot.press("1")
        await stage.type("Ada\n")
        await stage.pilot.press("2", "ctrl+s")
        wanted = c.InputGiven("i1", "accept", {"name": "Ada", "ok": True})
        await stage.until(lambda: wanted in stage.commands)


async def test_an_address_of_a_server_is_shown_whole_and_what_is_pasted_goes_back(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"redirect_url": {"type": "string", "title": "Address"}}}
    login = e.InputRequested(
        request_id="i1", server="web", message="Log in. Site: id.example", schema=schema, url="https://id.example/go"
    )
    visit = e.InputRequested(request_id="i2", server="web", message="Look here.", url="https://pay.example/1")
    async with on_stage([[login, visit]], folder=tmp_path) as stage:
        await stage.type("go\n")
        await stage.shows("web asks you", "Site: id.example", "https://id.example/go")
        await stage.pilot.press("1")
        await stage.type("http://127.0.0.1:9/callback?code=x\n")
        await stage.pilot.press("ctrl+s")
        pasted = c.InputGiven("i1", "accept", {"redirect_url": "http://127.0.0.1:9/callback?code=x"})
        await stage.until(lambda: pasted in stage.commands)
        await stage.shows("https://pay.example/1", "I have been there")
        await stage.pilot.press("ctrl+s")
        await stage.until(lambda: c.InputGiven("i2", "accept") in stage.commands)


async def test_escape_interrupts_and_twice_goes_back(tmp_path: Path) -> None:
    async def slow(script: Script, prompt: c.Prompt) -> None:
        await script.say("working")
        await script.ask(e.QuestionAsked(request_id="q", tool_use_id="t", questions=(e.Question("never?"),)))

    async with on_stage([[*said("first reply")], slow], folder=tmp_path) as stage:
        await stage.type("one\n")
        await stage.shows("first reply")
        await stage.until(lambda: not stage.app.conversation.model.running)
        await stage.pilot.press("escape", "escape")
        await stage.picker()
        await stage.shows("Go back to before which message?", "one")
        await stage.pilot.press("enter")
        await stage.until(lambda: any(isinstance(each, c.Rewind) for each in stage.commands))
        await stage.until(lambda: "first reply" not in stage.screen())
        assert stage.app.composer.text == "one"


async def test_escape_ends_a_running_turn(tmp_path: Path) -> None:
    async def forever(script: Script, prompt: c.Prompt) -> None:
        import anyio

        await script.say("working")
        await anyio.sleep_forever()

    async with on_stage([forever], folder=tmp_path) as stage:
        await stage.type("go\n")
        await stage.shows("working", "esc to interrupt")
        await stage.type("later\n")
        await stage.shows("1 waiting")
        await stage.pilot.press("up")
        await stage.until(lambda: stage.app.composer.text == "later")
        await stage.pilot.press("ctrl+c", "escape")
        await stage.shows("Interrupted.")


async def test_completion_of_commands_and_files(tmp_path: Path) -> None:
    (tmp_path / "parser.py").write_text("")
    async with on_stage(folder=tmp_path) as stage:
        await stage.type("/cmp")
        await stage.shows("/compact [what]")
        await stage.pilot.press("tab")
        assert stage.app.composer.text == "/compact "
        await stage.pilot.press("ctrl+c")
        await stage.type("see @prs")
        await stage.shows("parser.py")
        await stage.pilot.press("tab")
        assert stage.app.composer.text == "see @parser.py "


async def test_what_only_a_server_knows_is_offered_while_a_prompt_is_typed(tmp_path: Path) -> None:
    def completes(text: str) -> tuple[int, tuple[e.Completion, ...]]:
        if text.startswith("/mcp__tickets__show "):
            known = ("WEFT-17", "WEFT-20")
            found = [one for one in known if one.startswith(text[20:]) and one != text[20:]]
            return 20, tuple(e.Completion(one, one, "id") for one in found)
        return text.find("@"), (e.Completion("files:table://books", "@files:table://books ", "A table"),)

    prompt = e.CommandInfo("mcp__tickets__show", "Shows a ticket", "<id>", "mcp (tickets)")
    info = msgspec.structs.replace(INFO, commands=(*INFO.commands, prompt))
    async with on_stage([[*said("shown")], [*said("read")]], folder=tmp_path, info=info) as stage:
        stage.connection.completes = completes
        await stage.type("/mcp__tickets__show W")
        await stage.shows("WEFT-17", "WEFT-20")
        await stage.pilot.press("down", "tab")
        await stage.until(lambda: stage.app.composer.text == "/mcp__tickets__show WEFT-20")
        await stage.pilot.press("enter")
        await stage.shows("shown")
        await stage.type("see @book")
        await stage.shows("files:table://books")
        await stage.pilot.press("tab")
        await stage.until(lambda: stage.app.composer.text == "see @files:table://books ")
        await stage.pilot.press("enter")
        await stage.shows("read")
        prompts = [each.content for each in stage.commands if isinstance(each, c.Prompt)]
        assert prompts == ["/mcp__tickets__show WEFT-20", "see @files:table://books"]


async def test_what_was_typed_before_comes_back_and_is_searched(tmp_path: Path) -> None:
    async with on_stage([[*said("ok")]], folder=tmp_path) as stage:
        for text in ("first thing", "second thing"):
            await stage.type(f"{text}\n")
        await stage.pilot.press("up", "up")
        assert stage.app.composer.text == "first thing"
        await stage.pilot.press("down", "down")
        assert stage.app.composer.text == ""
        await stage.pilot.press("ctrl+r")
        await stage.picker()
        await stage.type("first\n")
        await stage.until(lambda: stage.app.composer.text == "first thing")


async def test_a_long_paste_becomes_an_attachment(tmp_path: Path) -> None:
    async with on_stage([[*said("ok")]], folder=tmp_path) as stage:
        stage.app.composer.post_message(events.Paste("row\n" * 100))
        await stage.shows("[Pasted text #1, 101 lines]")
        await stage.type("count\n")
        await stage.until(lambda: any(isinstance(each, c.Prompt) for each in stage.commands))
        prompt = next(each for each in stage.commands if isinstance(each, c.Prompt))
        assert isinstance(prompt.content, tuple) and prompt.content[-1] == Text("[Pasted text #1, 101 lines] count")


async def test_a_model_a_mode_and_a_theme_are_chosen_from_lists(tmp_path: Path) -> None:
    async with on_stage(folder=tmp_path) as stage:
        await stage.type("/model\n")
        await stage.picker()
        await stage.shows("another one", "200k tokens")
        await stage.type("other\n")
        await stage.until(lambda: c.SetModel("claude-other") in stage.commands)
        await stage.shows("claude-other")
        await stage.pilot.press("shift+tab")
        await stage.shows("accept edits")
        await stage.type("/theme\n")
        await stage.picker()
        await stage.type("light\n")
        await stage.until(lambda: stage.app.theme_name == "light")
        path = tmp_path / ".weft" / "settings.json"
        await stage.until(path.exists)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/mcp", "files"),
        ("/permissions", "No rules are set"),
        ("/hooks", "No hooks are set."),
        ("/agents", "review"),
        ("/settings", "respectGitignore"),
        ("/tasks", "Nothing runs in the background."),
        ("/thinking", "adaptive"),
        ("/help", "interrupt; twice"),
        ("/setup", "sk-found"),
    ],
)
async def test_each_screen_opens_and_closes(tmp_path: Path, command: str, shown: str) -> None:
    async with on_stage(folder=tmp_path, size=(110, 40), found=[Found(state="ok", text="sk-found")]) as stage:
        await stage.type(f"{command}\n")
        await stage.picker()
        await stage.shows(shown)
        await stage.pilot.press("escape")
        await stage.until(lambda: len(stage.app.screen_stack) == 1)


async def test_conversations_in_tabs_have_their_own_words_and_drafts(tmp_path: Path) -> None:
    async with on_stage([[*said("reply")]], folder=tmp_path) as stage:
        await stage.type("hello\n")
        await stage.shows("reply")
        await stage.type("draft")
        await stage.pilot.press("ctrl+n")
        await stage.until(lambda: len(stage.opened) == 2)
        await stage.shows("2 New conversation", "1 hello")
        assert stage.app.composer.text == ""
        assert "reply" not in stage.screen()
        await stage.pilot.press("alt+1")
        await stage.shows("reply", "draft")
        await stage.pilot.press("alt+2", "alt+w")
        await stage.until(lambda: len(stage.app.conversations) == 1)
        await stage.shows("reply")


async def test_without_a_model_the_set_up_says_what_was_found(tmp_path: Path) -> None:
    found = [Found(state="missing", text="no key"), Found(state="ok", text="qwen3", advice="ollama", model="qwen3")]
    async with on_stage([[*said("local")]], folder=tmp_path, fail=UsageError("No model."), found=found) as stage:
        await stage.picker()
        await stage.shows("no key", "qwen3", "Give an Anthropic API key")
        await stage.type("qwen\n")
        await stage.until(lambda: len(stage.opened) == 2)
        assert stage.opened[1].model == "qwen3"
        await stage.until(lambda: len(stage.app.screen_stack) == 1)
        await stage.until(lambda: stage.app.conversation.live)
        await stage.type("hi\n")
        await stage.shows("local")


async def test_a_folder_that_would_run_something_is_asked_about(tmp_path: Path) -> None:
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    async with on_stage(folder=tmp_path) as stage:
        await stage.picker()
        await stage.shows("Trust this folder", ".claude/settings.json: hooks")
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: len(stage.opened) == 2)
        assert is_trusted(tmp_path, stage.app.parts.env)


async def test_a_lost_agent_is_said_and_started_again(tmp_path: Path) -> None:
    async with on_stage([[*said("reply")]], folder=tmp_path) as stage:
        await stage.type("one\n")
        await stage.shows("reply")
        await stage.connection.die()
        await stage.shows("The agent has ended.")
        await stage.type("two\n")
        await stage.until(lambda: len(stage.opened) == 2)
        assert stage.opened[1].resume == "s1"


async def test_what_was_said_is_shown_again(tmp_path: Path) -> None:
    history = [
        e.PromptAdded(id="p", content=(Text("old"),), replay=True),
        *called("Bash", {"command": "ls"}),
        *said("older"),
    ]
    async with on_stage(folder=tmp_path, history=history) as stage:
        await stage.shows("> old", "Bash", "older")


async def test_the_to_do_list_is_shown_while_something_is_open(tmp_path: Path) -> None:
    todos = (Todo("one", "completed"), Todo("two", "in_progress", "Doing two"))
    done = (Todo("one", "completed"), Todo("two", "completed"))
    turns = [[e.TodosChanged(todos=todos), *said("a")], [e.TodosChanged(todos=done), *said("b")]]
    async with on_stage(turns, folder=tmp_path) as stage:
        await stage.type("go\n")
        await stage.shows("To do", "1/2", "Doing two")
        await stage.type("go\n")
        await stage.until(lambda: "To do" not in stage.screen())


async def test_a_tool_call_opens_and_folds(tmp_path: Path) -> None:
    turn = called("Bash", {"command": "seq 9"}, output="".join(f"row{n}\n" for n in range(9)), kind="execute")
    async with on_stage([turn], folder=tmp_path, size=(80, 40)) as stage:
        await stage.type("go\n")
        await stage.shows("seq 9", "5 more lines", "row8")
        assert "row0" not in stage.screen()
        await stage.pilot.press("alt+up", "enter")
        await stage.shows("row0", "command: seq 9")
        await stage.pilot.press("enter")
        await stage.until(lambda: "row0" not in stage.screen())


async def test_without_colour_nothing_on_the_screen_has_one(tmp_path: Path) -> None:
    turn = [*said("words `code`"), *called("Edit", {}, display=(DiffView("a", "x\n", "y\n"),))]
    async with on_stage([turn], folder=tmp_path, env={"NO_COLOR": "1"}) as stage:
        await stage.type("go\n")
        await stage.shows("words code", "+ y")
        for widget in (stage.app.transcript, stage.app.status, stage.app.popup):
            for y in range(widget.size.height):
                for segment in widget.render_line(y):
                    colour = segment.style.color if segment.style else None
                    assert colour is None or colour.is_default


async def test_a_resize_paints_everything_again(tmp_path: Path) -> None:
    async with on_stage([[*said("word " * 60)]], folder=tmp_path) as stage:
        await stage.type("go\n")
        await stage.shows("word word")
        before = stage.app.transcript.total
        await stage.pilot.resize_terminal(50, 20)
        await stage.until(lambda: stage.app.transcript.total > before)
        assert all(len(line) <= 50 for line in stage.screen().split("\n"))
