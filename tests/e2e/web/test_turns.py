"""Whole turns in a real browser: permissions, hunks, questions, plans, cancelling."""

from collections.abc import Callable
from typing import Any

from tests.e2e.web.conftest import Visit
from tests.e2e.web.scenes import AFTER, BEFORE, edit, plan_turn, question_turn, whole_turn
from tests.e2e.web.site import Site
from weft.schema import events as e
from weft.schema.commands import Cancel, InputGiven, PermissionAnswered, PlanAnswered, Prompt, QuestionAnswered
from weft.schema.content import ToolUse
from weft.schema.events import RuleSuggestion
from weft.surfaces.diffs import apply_hunks
from weft.testing.connection import Stage

Serve = Callable[..., Site]
Go = Callable[..., Visit]


def sent(site: Site, kind: type[Any]) -> list[Any]:
    return [command for connection in site.connections for command in connection.commands if isinstance(command, kind)]


def test_a_whole_turn_with_a_permission(serve: Serve, visit: Go) -> None:
    site = serve([whole_turn])
    here = visit(site)
    here.page.wait_for_selector(".empty")
    here.shot("empty")
    here.say("Fix the failing test in `tests/test_shelf.py` and tell me what was wrong.")
    here.page.wait_for_selector(".ask.permission")
    assert "Edits are asked for in this mode." in here.page.inner_text(".ask.permission")
    assert "Edit(src/**)" in here.page.inner_text(".ask-rule")
    here.shot("permission")
    here.page.keyboard.press("1")
    here.page.wait_for_selector("text=Done. All tests pass.")
    assert here.page.locator(".dock .ask").count() == 0
    assert sent(site, PermissionAnswered) == [PermissionAnswered("ask-edit", "allow")]
    bash = here.page.locator(".tool", has_text="Bash").first
    assert "exit 1" in bash.inner_text()
    assert here.page.locator(".tool-children .tool", has_text="Grep").count() == 1
    assert here.page.locator(".code-frame .hl-k").count() > 0
    here.page.wait_for_selector(".row-title >> text=Fix the failing test")
    here.shot("conversation")


def test_a_rejected_hunk_is_left_out_of_what_runs(serve: Serve, visit: Go) -> None:
    async def turn(stage: Stage, prompt: Prompt) -> None:
        await edit(stage)

    site = serve([turn])
    here = visit(site)
    here.say("Edit")
    here.page.wait_for_selector(".ask.permission .diff-hunk-bar")
    here.page.locator(".diff-hunk-bar").nth(0).get_by_role("button", name="Reject").click()
    assert "Apply 1 of 2" in here.page.inner_text(".ask .primary")
    here.page.locator(".ask .diff-head .button").click()
    here.page.wait_for_selector(".ask .diff-body.side")
    here.shot("hunks")
    here.page.click(".ask .primary")
    here.page.wait_for_selector(".dock:not(.full)", state="attached")
    answer = sent(site, PermissionAnswered)[0]
    from weft.schema.display import DiffView

    wanted = apply_hunks(DiffView("x", BEFORE, AFTER), {1})
    assert BEFORE.replace(answer.input["old_string"], answer.input["new_string"]) == wanted
    assert wanted not in (BEFORE, AFTER)


def test_a_rejection_has_a_reason_and_always_writes_the_rule_shown(serve: Serve, visit: Go) -> None:
    site = serve([whole_turn])
    here = visit(site)
    here.say("One")
    here.page.wait_for_selector(".ask.permission")
    here.page.fill(".ask-reason", "Keep the old parser")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("text=Understood: Keep the old parser")
    here.say("Two")
    here.page.wait_for_selector(".ask.permission")
    here.page.keyboard.press("3")
    here.page.wait_for_selector("text=Done. All tests pass.")
    first, second = sent(site, PermissionAnswered)
    assert (first.behavior, first.message) == ("deny", "Keep the old parser")
    assert second.rules == (RuleSuggestion("Edit(src/**)", "local"),)


def test_a_command_is_edited_before_it_is_allowed(serve: Serve, visit: Go) -> None:
    use = ToolUse("b", "Bash", {"command": "rm -rf build", "description": "Clean"})
    site = serve([[e.PermissionAsked(request_id="r", use=use, title="Run a command", kind="execute")]])
    here = visit(site)
    here.say("Clean")
    here.page.click("text=Edit what runs")
    here.page.fill(".ask-editor", "rm -r build/tmp")
    here.page.click(".ask .primary")
    here.page.wait_for_selector(".dock:not(.full)", state="attached")
    assert sent(site, PermissionAnswered)[0].input == {"command": "rm -r build/tmp", "description": "Clean"}


def test_a_question_is_answered_from_the_keyboard(serve: Serve, visit: Go) -> None:
    site = serve([question_turn])
    here = visit(site)
    here.say("Ask me")
    here.page.wait_for_selector(".ask.question")
    here.shot("question")
    here.page.keyboard.press("2")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("text=You chose: Keep them")
    assert sent(site, QuestionAnswered)[0].answers == {"Should blank lines be kept as empty words?": "Keep them"}


def test_a_plan_gets_feedback_and_then_approval(serve: Serve, visit: Go) -> None:
    site = serve([plan_turn])
    here = visit(site)
    here.say("Plan it")
    here.page.wait_for_selector(".ask.plan")
    here.shot("plan")
    here.page.fill(".ask.plan textarea", "Leave the shelf alone")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("text=Planning again: Leave the shelf alone")
    here.page.wait_for_selector('[data-request="ask-plan-1"]')
    here.page.keyboard.press("3")
    here.page.wait_for_selector("text=Planning again: as before")
    here.page.wait_for_selector('[data-request="ask-plan-2"]')
    here.page.keyboard.press("1")
    here.page.wait_for_selector("text=Going on in smart.")
    answers = [(a.approved, a.mode, a.feedback) for a in sent(site, PlanAnswered)]
    assert answers == [(False, "plan", "Leave the shelf alone"), (False, "plan", ""), (True, "smart", "")]


def test_a_form_of_an_mcp_server_is_filled_in(serve: Serve, visit: Go) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "title": "Database"},
            "port": {"type": "integer", "default": 5432},
            "secure": {"type": "boolean", "default": True},
            "kind": {"type": "string", "enum": ["read", "write"]},
        },
    }
    asked = e.InputRequested(request_id="i", server="database", message="Where is it?", schema=schema)
    site = serve([[asked]])
    here = visit(site)
    here.say("Connect")
    here.page.wait_for_selector(".ask.input")
    here.page.fill(".ask.input input[type=text]", "books")
    here.page.select_option(".ask.input select", "write")
    here.shot("form")
    here.page.click(".ask .primary")
    here.page.wait_for_selector(".dock:not(.full)", state="attached")
    given = sent(site, InputGiven)[0]
    assert (given.action, given.content) == (
        "accept",
        {"name": "books", "port": 5432, "secure": True, "kind": "write"},
    )


def test_an_address_of_an_mcp_server_is_shown_whole_and_what_is_pasted_goes_back(serve: Serve, visit: Go) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"redirect_url": {"type": "string", "title": "Address"}},
    }
    where = "https://id.example/authorize?scope=read"
    asked = e.InputRequested(request_id="i", server="tickets", message="Log in.", schema=schema, url=where)
    site = serve([[asked]])
    here = visit(site)
    here.say("Connect")
    here.page.wait_for_selector(f".ask.input >> text={where}")
    here.page.fill(".ask.input input[type=text]", "http://127.0.0.1:9/callback?code=x")
    here.page.click(".ask .primary")
    here.page.wait_for_selector(".dock:not(.full)", state="attached")
    given = sent(site, InputGiven)[0]
    assert (given.action, given.content) == ("accept", {"redirect_url": "http://127.0.0.1:9/callback?code=x"})


def test_a_turn_is_stopped_and_prompts_wait_meanwhile(serve: Serve, visit: Go) -> None:
    async def forever(stage: Stage, prompt: Prompt) -> None:
        import anyio

        await stage.say("Working on it")
        await anyio.sleep_forever()

    site = serve([forever, [*_said("Second turn")]])
    here = visit(site)
    here.say("Go on for long")
    here.page.wait_for_selector("text=Working on it")
    here.say("And then this")
    here.page.wait_for_selector(".queued >> text=And then this")
    here.shot("queue")
    here.page.locator(".queued").get_by_role("button", name="Edit this message").click()
    here.page.fill("dialog input", "And then that")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector(".queued >> text=And then that")
    here.page.focus(".composer textarea")
    here.page.keyboard.press("Escape")
    here.page.wait_for_selector("text=Stopped")
    here.page.wait_for_selector("text=Second turn")
    here.page.wait_for_selector(".user >> text=And then that")
    assert sent(site, Cancel) == [Cancel()]


def _said(text: str) -> list[e.AgentEvent]:
    from weft.testing.connection import said

    return said(text)
