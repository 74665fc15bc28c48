"""Every control on the page, used once: what it does reaches the agent, the disk or the clipboard."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio

from tests.e2e.web.conftest import Visit
from tests.e2e.web.scenes import plan_turn, question_turn
from tests.e2e.web.site import Site
from tests.e2e.web.test_turns import sent
from weft.paths import weft_home
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Document, Image, Text, ToolUse
from weft.schema.display import DiffView, Todo
from weft.schema.messages import Usage
from weft.sessions.store import FileStore
from weft.settings import load_settings
from weft.surfaces.web.frames import AgentState, Row
from weft.surfaces.web.panels import HostPanels
from weft.surfaces.web.ports import EditorSight
from weft.testing.connection import Stage, called, said

Serve = Callable[..., Site]
Go = Callable[..., Visit]
CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}


def clipboard(here: Visit, words: str) -> None:
    """Waits until the clipboard has the words."""
    here.page.wait_for_function(
        "async (words) => (await navigator.clipboard.readText()).includes(words)", arg=words, polling=100
    )


def arrived(here: Visit, site: Site, kind: type[Any], count: int = 1) -> list[Any]:
    """The commands of this kind, once there are so many of them."""
    for _ in range(600):
        if len(found := sent(site, kind)) >= count:
            return found
        here.page.wait_for_timeout(50)
    raise AssertionError(f"no {kind.__name__} came: {sent(site, object)}")


def choose(here: Visit, button: str, item: str) -> None:
    here.page.get_by_role("button", name=re.compile(f"^{button}")).click()
    here.page.locator(".menu").get_by_text(item, exact=True).click()


class Copies:
    """Conversations on disk that can be copied."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def rows(self, folders: Sequence[str]) -> Sequence[Row]:
        made = [Row(id=f"copy-{n}", title=f"Copy {n}", folder=folders[0]) for n in range(len(self.asked))]
        return [Row(id="old", title="An old talk", folder=folders[0], updated=1.0), *made]

    def events(self, session_id: str) -> Sequence[e.AgentEvent]:
        count = 90 if session_id == "old" else 1
        return [e.PromptAdded(id=f"u{n}", content=(Text(f"Question {n}"),), replay=True) for n in range(count)]

    def search(self, query: str, folders: Sequence[str]) -> Sequence[str]:
        return []

    def fork(self, session_id: str, folder: str, until: str | None) -> str:
        self.asked.append((session_id, until))
        return f"copy-{len(self.asked) - 1}"


def test_the_list_is_hidden_shown_walked_and_copied_from(serve: Serve, visit: Go) -> None:
    shelf = Copies()
    here = visit(serve([said("Yes.")], shelf=shelf))
    page = here.page
    page.locator(".row", has_text="An old talk").wait_for()
    page.get_by_role("button", name="Hide the list").click()
    page.locator(".sidebar").wait_for(state="hidden")
    page.get_by_role("button", name="Show the list").click()
    page.locator(".search input").press("ArrowDown")
    page.wait_for_selector(".row-open:focus >> text=An old talk")
    page.keyboard.press("Enter")
    page.locator(".log", has_text="Question 89").wait_for()
    page.locator(".older").dispatch_event("click")  # A click of its own would scroll there, which asks as well.
    page.locator(".log", has_text="Question 0").wait_for()
    page.locator(".scroller").hover()
    page.mouse.wheel(0, -100_000)
    page.get_by_role("button", name="Latest").click()
    page.locator(".latest").wait_for(state="hidden")
    last = page.locator(".user").last
    last.hover()
    last.get_by_role("button", name="Copy up to here").click()
    page.locator(".title", has_text="Copy 0").wait_for()
    page.locator(".row", has_text="An old talk").hover()
    page.locator(".row", has_text="An old talk").get_by_role("button", name="More about").click()
    page.get_by_role("menuitem", name="Copy as a new conversation").click()
    page.locator(".title", has_text="Copy 1").wait_for()
    assert shelf.asked == [("old", "u89"), ("old", None)]
    page.keyboard.press("Alt+k")
    page.wait_for_selector(".search input:focus")
    page.keyboard.press("Alt+b")
    page.locator(".sidebar").wait_for(state="hidden")
    page.keyboard.press("Alt+b")
    page.locator(".sidebar").get_by_role("button", name="New conversation").click()
    page.wait_for_selector(".empty")
    page.keyboard.press("Alt+ArrowDown")
    page.locator(".empty").wait_for(state="detached")


class TwoAgents:
    def __init__(self) -> None:
        self.fresh = 0

    async def list(self, *, check: str | None = None, fresh: bool = False) -> Sequence[AgentState]:
        self.fresh += fresh
        return [
            AgentState(name="weft", title="Weft", available=True, version="1.0"),
            AgentState(name="other", title="Another", available=None),
        ]


def test_folders_and_agents_are_chosen_at_the_top(serve: Serve, visit: Go, project: Path, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    agents = TwoAgents()
    site = serve([said("Yes.")], agents=agents)
    here = visit(site)
    choose(here, "Folder:", "Add a folder…")
    here.page.fill("dialog input", str(tmp_path / "nowhere"))
    here.page.keyboard.press("Enter")
    here.page.locator(".toast", has_text="There is no folder").wait_for()
    choose(here, "Folder:", "Add a folder…")
    here.page.fill("dialog input", str(tmp_path / "second"))
    here.page.locator("dialog").get_by_role("button", name="OK").click()
    here.page.locator("dialog").wait_for(state="detached")
    here.page.wait_for_function("weft.state.folders.length === 2")
    choose(here, "Folder:", "second")
    here.page.get_by_role("button", name=f"Folder: {tmp_path / 'second'}").wait_for()
    choose(here, "Agent:", "Look again for agents")
    choose(here, "Agent:", "Another")
    here.page.get_by_role("button", name="Agent: other").wait_for()
    here.say("Hello")
    here.page.wait_for_selector("text=Yes.")
    assert agents.fresh == 1
    assert (site.openings[-1].agent, site.openings[-1].folder) == ("other", str(tmp_path / "second"))
    assert site.openings[-1].directories == (str(project),)


def test_the_menu_exports_begins_afresh_and_changes_how_the_page_looks(serve: Serve, visit: Go) -> None:
    site = serve([said("The answer.")])
    here = visit(site, **CLIPBOARD)
    here.say("A question")
    here.page.wait_for_selector("text=The answer.")
    with here.page.expect_download() as download:
        choose(here, "Menu", "Export as JSON")
    messages = json.loads(Path(download.value.path()).read_text())["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    choose(here, "Menu", "Keyboard")
    here.page.wait_for_selector("dialog .keys")
    here.page.locator("dialog").get_by_role("button", name="Close").click()
    choose(here, "Menu", "Light or dark")
    here.page.wait_for_selector("html[data-theme=dark]")
    choose(here, "Menu", "Copy a link for another browser")
    clipboard(here, "/open/")
    choose(here, "Menu", "Start afresh")
    here.page.wait_for_selector(".empty")
    here.page.get_by_role("button", name="Find and fix a failing test").click()
    assert here.page.input_value(".composer textarea") == "Find and fix a failing test"
    choose(here, "Menu", "中文")
    here.page.wait_for_selector("html[lang=zh-CN]")
    here.page.wait_for_selector("html[data-theme=dark]")


def test_files_are_attached_from_the_workspace_and_the_computer_and_taken_off(
    serve: Serve, visit: Go, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    site = serve([said("Seen.")])
    here = visit(site)
    choose(here, "Attach", "A file of the workspace")
    pick = here.page.locator(".picker")
    pick.get_by_role("button", name="src").click()
    pick.get_by_role("button", name="Up").click()
    pick.get_by_role("button", name="src").click()
    pick.get_by_role("button", name="shelf.py").click()
    here.page.locator(".attachments .chip", has_text="src/shelf.py").wait_for()
    for name in ("notes.txt", "notes.txt"):
        with here.page.expect_file_chooser() as chooser:
            choose(here, "Attach", "A file or picture of this computer")
        chooser.value.set_files(str(tmp_path / name))
    here.page.locator(".attachments .chip", has_text="notes.txt").nth(1).wait_for()
    here.page.get_by_role("button", name="Remove notes.txt").first.click()
    here.page.fill(".composer textarea", "Look")
    here.page.get_by_role("button", name="Send", exact=True).click()
    here.page.wait_for_selector("text=Seen.")
    (prompt,) = sent(site, c.Prompt)
    assert [type(block) for block in prompt.content] == [Document, Text]
    assert prompt.content[-1] == Text("Look\n\n@src/shelf.py")


async def waiting(stage: Stage, prompt: c.Prompt) -> None:
    todos = (Todo("Read", "completed"), Todo("Write", "in_progress"))
    await stage.emit(e.TodosChanged(todos=todos))
    await stage.emit(e.UsageChanged(context_tokens=100, context_window=1000, total_cost=0.5, usage=Usage(10, 5)))
    await stage.say("Working on it")
    await anyio.sleep_forever()


def test_prompts_wait_are_dropped_edited_and_put_in_and_a_button_stops(serve: Serve, visit: Go) -> None:
    site = serve([waiting, said("Done.")])
    here = visit(site)
    here.say("Go")
    here.page.wait_for_selector("text=Working on it")
    for text in ("one", "two"):
        here.say(text)
        here.page.locator(".queued", has_text=text).wait_for()
    here.page.locator(".queued", has_text="one").get_by_role("button", name="Take it back").click()
    here.page.locator(".queued", has_text="one").wait_for(state="detached")
    here.page.locator(".composer textarea").press("ArrowUp")
    here.page.fill("dialog input", "three")
    here.page.keyboard.press("Enter")
    here.page.locator(".queued", has_text="three").wait_for()
    here.page.fill(".composer textarea", "now")
    here.page.locator(".composer textarea").press("Control+Enter")
    assert arrived(here, site, c.Prompt, 4)[-1].steer
    here.page.locator(".plan-strip summary").click()
    here.page.locator(".plan-strip .todo", has_text="Write").wait_for()
    here.page.get_by_role("button", name="Context 10% full").click()
    here.page.locator(".menu", has_text="$0.50").wait_for()
    here.page.get_by_role("menuitem", name="Make it shorter").click()
    here.page.locator(".log", has_text="was made shorter").wait_for()
    here.page.get_by_role("button", name="Stop", exact=True).click()
    here.page.locator(".log", has_text="Stopped").wait_for()
    assert arrived(here, site, c.Cancel) == [c.Cancel()]


def test_mode_thinking_and_the_editor_s_file_are_chosen_below_the_message(serve: Serve, visit: Go) -> None:
    async def watch(told: Callable[[EditorSight | None], None]) -> None:
        told(EditorSight("src/shelf.py", "def", 1, 1))
        await anyio.sleep_forever()

    site = serve([said("Yes.")], watch_editor=watch)
    here = visit(site)
    choose(here, "Mode:", "Plan")
    here.page.get_by_role("button", name="Mode: Plan").wait_for()
    choose(here, "Thinking off", "A lot")
    here.page.get_by_role("button", name="Thinking on").wait_for()
    chip = here.page.locator(".chip.context")
    chip.click()
    here.page.wait_for_selector(".chip.context[aria-pressed=false]")
    here.say("Without the file")
    here.page.wait_for_selector("text=Yes.")
    assert sent(site, c.Prompt)[0].content == (Text("Without the file"),)
    assert site.openings[0].mode == "plan"
    assert site.openings[0].thinking is not None
    assert site.openings[0].thinking.effort == "high"
    here.page.keyboard.type("#We")
    here.page.locator(".completion-item.on", has_text="#WebFetch").click()
    here.page.keyboard.type("@revi")
    here.page.locator(".completion-item.on", has_text="@reviewer").wait_for()
    here.page.keyboard.press("Tab")
    assert here.page.input_value(".composer textarea") == "#WebFetch @reviewer "


async def rich(stage: Stage, prompt: c.Prompt) -> None:
    use = ToolUse("bg", "Bash", {"command": "sleep 99"})
    text = "Look:\n\n```py\nx = 1\n```\n\n[out](https://example.com/)"
    await stage.say(text, thinking="First a thought.")
    await stage.emit(
        *called("Bash", {"command": "seq 40"}, kind="execute", output="".join(f"row {n}\n" for n in range(40))),
        *called("Edit", {"file_path": "src/shelf.py"}, kind="edit", display=(DiffView("src/shelf.py", "a\n", "b\n"),)),
        *called("Read", {"file_path": "README.md"}, kind="read", output="# Bookshop\n"),
        e.ToolCalled(use=use, state="running", kind="execute"),
        e.TaskChanged(task=e.TaskInfo("task-1", "shell", "Sleeping", tool_use_id="bg", background=True)),
    )


def test_what_was_said_is_copied_opened_folded_and_gone_back_to(serve: Serve, visit: Go) -> None:
    site = serve([rich])
    here = visit(site, **CLIPBOARD)
    page = here.page
    here.say("Show me `everything`")
    page.wait_for_selector("body:not(.running) .turn-end", state="attached")
    page.locator(".code-head").get_by_role("button", name="Copy").click()
    clipboard(here, "x = 1")
    page.get_by_role("button", name="Copy the reply").click()
    clipboard(here, "Look:")
    page.locator(".user").hover()
    page.locator(".user").get_by_role("button", name="Copy", exact=True).click()
    clipboard(here, "Show me `everything`")
    page.locator(".thinking summary").click()
    page.locator(".thinking-body", has_text="First a thought.").wait_for()
    page.get_by_role("button", name="Show all").click()
    page.get_by_role("button", name="Show less").click()
    page.wait_for_selector("pre.output.folded")
    page.locator(".tool-head", has_text="Read").click()
    page.locator(".tool pre", has_text="# Bookshop").wait_for()
    page.locator(".diff-path").click()
    page.locator("dialog .file-view", has_text="def parse").wait_for()
    page.keyboard.press("Escape")
    page.locator(".tool-task").get_by_role("button", name="Stop this task").click()
    assert arrived(here, site, c.StopTask) == [c.StopTask("task-1")]
    page.locator(".prose a").click()
    page.locator("dialog").get_by_role("button", name="Copy the address").click()
    clipboard(here, "https://example.com/")
    page.locator(".prose a").click()
    page.locator("dialog").get_by_role("button", name="Cancel").click()
    ways = (("Files only", True, False), ("Files and conversation", True, True))
    for number, (words, files, conversation) in enumerate(ways):
        page.locator(".user").hover()
        page.locator(".user").get_by_role("button", name="Go back to here").click()
        page.locator("dialog").get_by_role("button", name=words).click()
        rewound = arrived(here, site, c.Rewind, number + 1)[-1]
        assert (rewound.files, rewound.conversation) == (files, conversation)
    page.wait_for_selector(".user", state="detached")
    assert page.input_value(".composer textarea") == "Show me `everything`"


def asked(id: str, **more: Any) -> e.PermissionAsked:
    use = ToolUse(id, "WebFetch", {"url": "https://example.com/", "prompt": "Read it"})
    rules = (e.RuleSuggestion("WebFetch(domain:example.com)", "local"),)
    return e.PermissionAsked(request_id=id, use=use, title="Fetch a page", suggestions=rules, **more)


def test_a_permission_has_an_answer_for_each_length_of_time_and_each_refusal(serve: Serve, visit: Go) -> None:
    site = serve([[asked(f"r{number}") for number in range(6)]])
    here = visit(site)
    page = here.page
    here.say("Ask me six times")

    def card(number: int) -> Any:
        found = page.locator(f'[data-request="r{number}"]')
        found.wait_for()
        return found

    card(0).get_by_role("button", name="For this conversation").click()
    card(1).get_by_role("button", name="Always", exact=True).click()
    card(2).get_by_role("button", name="Edit what runs").click()
    page.fill(".ask-editor", "{")
    card(2).get_by_role("button", name="Allow once").click()
    card(2).get_by_text("This is not valid JSON.").wait_for()
    page.fill(".ask-editor", '{"url": "https://example.org/"}')
    card(2).get_by_role("button", name="Allow once").click()
    card(3).get_by_role("button", name="Reject", exact=True).click()
    card(4).focus()
    page.keyboard.press("Escape")
    card(5).get_by_role("button", name="Reject and stop").click()
    answers = arrived(here, site, c.PermissionAnswered, 6)
    assert [(a.behavior, a.interrupt, [r.destination for r in a.rules]) for a in answers] == [
        ("allow", False, ["session"]),
        ("allow", False, ["user"]),
        ("allow", False, []),
        ("deny", False, []),
        ("deny", False, []),
        ("deny", True, []),
    ]
    assert answers[2].input == {"url": "https://example.org/"}


def test_questions_and_plans_are_answered_in_every_way(serve: Serve, visit: Go) -> None:
    options = (e.QuestionOption("Red"), e.QuestionOption("Blue"))
    several = e.Question("Which colours?", "", options, multiple=True)
    free = e.Question("Which name?", "", ())
    both = e.QuestionAsked(request_id="both", tool_use_id="q", questions=(several, free))
    site = serve([[both], question_turn, plan_turn])
    here = visit(site)
    page = here.page
    here.say("Ask")
    page.wait_for_selector(".ask.question")
    for name in ("Red", "Blue"):
        page.locator(".option", has_text=name).click()
    page.locator(".other").nth(0).fill("Green")
    page.locator(".other").nth(1).fill("Weft")
    page.locator(".ask").get_by_role("button", name="Answer").click()
    assert arrived(here, site, c.QuestionAnswered)[0].answers == {
        "Which colours?": "Red, Blue, Green",
        "Which name?": "Weft",
    }
    page.wait_for_selector("body:not(.running)")
    here.say("Ask again")
    page.locator(".ask.question").get_by_role("button", name="Rather not").click()
    assert arrived(here, site, c.QuestionAnswered, 2)[1].declined
    page.wait_for_selector("body:not(.running)")
    here.say("Plan")
    first = page.locator('[data-request="ask-plan-0"]')
    first.get_by_role("button", name="Send feedback").click()
    page.wait_for_selector(".ask.plan textarea:focus")
    page.keyboard.type("Shorter")
    first.get_by_role("button", name="Send feedback").click()
    page.locator('[data-request="ask-plan-1"]').get_by_role("button", name="ask before each step").click()
    page.wait_for_selector("text=Going on in default.")
    answers = [(a.approved, a.mode, a.feedback) for a in arrived(here, site, c.PlanAnswered, 2)]
    assert answers == [(False, "plan", "Shorter"), (True, "default", "")]


def test_a_server_s_questions_are_declined_or_lead_to_an_address(serve: Serve, visit: Go) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"kinds": {"type": "array", "items": {"enum": ["a", "b", "c"]}}},
    }
    many = e.InputRequested(request_id="many", server="db", message="Which?", schema=schema)
    form = e.InputRequested(request_id="form", server="db", message="Which?", schema=schema)
    visit_url = e.InputRequested(request_id="url", server="db", message="Log in", url="https://example.com/login")
    site = serve([[many, form, visit_url]])
    here = visit(site)
    here.say("Connect")
    here.page.locator('[data-request="many"] select').select_option(["a", "c"])
    here.page.locator('[data-request="many"]').get_by_role("button", name="Send").click()
    here.page.locator('[data-request="form"]').get_by_role("button", name="Rather not").click()
    here.page.locator('[data-request="url"]').get_by_role("button", name="Open the address").click()
    here.page.locator("dialog .address", has_text="https://example.com/login").wait_for()
    here.page.keyboard.press("Escape")
    given = [(answer.request_id, answer.action, answer.content) for answer in arrived(here, site, c.InputGiven, 3)]
    assert given == [("many", "accept", {"kinds": ["a", "c"]}), ("form", "decline", None), ("url", "accept", None)]


def test_servers_settings_and_rules_are_changed_in_their_views(serve: Serve, visit: Go, project: Path) -> None:
    local = project / ".claude" / "settings.local.json"
    local.parent.mkdir()
    local.write_text(json.dumps({"permissions": {"allow": ["Bash(ls:*)"]}}))
    panels = HostPanels(lambda folder: load_settings(folder, trusted=True), FileStore(weft_home()))
    site = serve([said("Yes.")], panels=panels)
    here = visit(site)
    page = here.page
    here.say("Hello")
    page.wait_for_selector("text=Yes.")
    choose(here, "Menu", "MCP servers")
    row = page.locator(".server", has_text="database")
    row.locator("summary").click(position={"x": 40, "y": 12})
    row.locator(".server-tools", has_text="schema").wait_for()
    row.get_by_role("button", name="Connect again").click()
    row.get_by_role("button", name="Switch off").click()
    wanted = [c.ServerCommand("database", "reconnect"), c.ServerCommand("database", "disable")]
    assert arrived(here, site, c.ServerCommand, 2) == wanted
    page.keyboard.press("Escape")
    choose(here, "Menu", "Permissions")
    page.get_by_role("button", name="Remove this rule").click()
    page.get_by_text("No rules yet.").wait_for()
    page.keyboard.press("Escape")
    choose(here, "Menu", "Settings")
    page.get_by_label("Saved to").select_option("local")
    page.get_by_label("respectGitignore").uncheck()
    page.locator(".setting", has_text="respectGitignore").get_by_text("settings.local.json").wait_for()
    page.get_by_label("Saved to").select_option("local")
    page.get_by_label("permissions.defaultMode").select_option("plan")
    page.locator(".setting", has_text="defaultMode").get_by_text("settings.local.json").wait_for()
    page.get_by_label("Saved to").select_option("local")
    page.get_by_label("fallbackModel").fill("small")
    page.keyboard.press("Tab")
    page.locator(".setting", has_text="fallbackModel").get_by_text("settings.local.json").wait_for()
    written = json.loads(local.read_text())
    assert (written["respectGitignore"], written["fallbackModel"]) == (False, "small")
    assert written["permissions"] == {"allow": [], "defaultMode": "plan"}


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_a_picture_of_one_s_own_is_made_larger_from_the_keyboard(serve: Serve, visit: Go, tmp_path: Path) -> None:
    import base64

    (tmp_path / "shot.png").write_bytes(base64.b64decode(PIXEL))
    site = serve([said("Pretty.")])
    here = visit(site)
    with here.page.expect_file_chooser() as chooser:
        choose(here, "Attach", "A file or picture of this computer")
    chooser.value.set_files(str(tmp_path / "shot.png"))
    here.page.locator(".attachments .chip", has_text="shot.png").wait_for()
    here.page.get_by_role("button", name="Send", exact=True).click()
    here.page.wait_for_selector("text=Pretty.")
    assert [type(block) for block in sent(site, c.Prompt)[0].content] == [Image]
    here.page.locator(".thumb").press("Enter")
    here.page.wait_for_selector(".thumb.large[aria-expanded=true]")
    # A message without words is a conversation too: it is in the list, and a reload finds it.
    here.page.wait_for_selector(".row")
    here.page.reload()
    here.page.wait_for_selector("text=Pretty.")
