"""Our questions as ACP requests, and what the client chose as our commands."""

import msgspec
import pytest

from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import ToolUse
from weft.serve.acp import asks

RULES = tuple(
    e.RuleSuggestion(rule, place)
    for place, rule in (
        ("session", "Edit(/a)"),
        ("local", "Edit(/a)"),
        ("project", "Edit(/a)"),
        ("user", "Edit(//w/a)"),
    )
)
EVENT = e.PermissionAsked(request_id="r", use=ToolUse("t", "Edit", {}), title="Edit a", suggestions=RULES)


def chosen(option: str) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode({"outcome": {"outcome": "selected", "optionId": option}}))


def test_always_says_what_it_writes_and_where_and_writes_it_once() -> None:
    request = asks.permission(EVENT, "s", dialect=False)
    assert [(option.name, option.kind) for option in request.options] == [
        ("Allow once", "allow_once"),
        ("Allow Edit(/a) for this session", "allow_always"),
        ("Always allow Edit(/a) in this project", "allow_always"),
        ("Reject", "reject_once"),
    ]
    assert asks.permission_answer(EVENT, chosen("proceed_session")).rules == (e.RuleSuggestion("Edit(/a)", "session"),)
    assert asks.permission_answer(EVENT, chosen("proceed_always")).rules == (e.RuleSuggestion("Edit(/a)", "local"),)
    assert asks.permission_answer(EVENT, chosen("proceed_once")).rules == ()


@pytest.mark.parametrize(
    "raw",
    [
        b'{"outcome":{"outcome":"cancelled"}}',
        b'{"outcome":{"outcome":"selected","optionId":"cancel"}}',
        b'{"outcome":{"outcome":"selected","optionId":"something else"}}',
        b'{"outcome":"selected"}',
        b"{}",
        b"null",
    ],
)
def test_whatever_is_not_one_of_our_allowing_options_is_a_refusal(raw: bytes) -> None:
    assert asks.permission_answer(EVENT, msgspec.Raw(raw)).behavior == "deny"
    plan = e.PlanProposed(request_id="r", tool_use_id="t", plan="p")
    assert not asks.plan_answer(plan, msgspec.Raw(raw)).approved


def test_the_plans_options_choose_the_mode_that_follows() -> None:
    plan = e.PlanProposed(request_id="r", tool_use_id="t", plan="p")
    assert asks.plan_answer(plan, chosen("proceed_once")) == c.PlanAnswered("r", True, "default")
    assert asks.plan_answer(plan, chosen("proceed_always")) == c.PlanAnswered("r", True, "acceptEdits")


def test_a_form_is_answered_by_choice_by_choices_and_in_other_words() -> None:
    options = (e.QuestionOption("A"), e.QuestionOption("B"))
    event = e.QuestionAsked(
        request_id="r",
        tool_use_id="t",
        questions=(
            e.Question("One?", "", options),
            e.Question("Many?", "", options, True),
            e.Question("Other?", "", options),
        ),
    )
    given = {"q0": "A", "q1": ["A", "B"], "q2": "A", "q2_other": "neither"}
    raw = msgspec.Raw(msgspec.json.encode({"action": "accept", "content": given}))
    assert asks.form_answer(event, raw).answers == {"One?": "A", "Many?": "A, B", "Other?": "neither"}
    assert asks.form_answer(event, msgspec.Raw(b'{"action":"decline"}')).declined


@pytest.mark.parametrize("answers", [{"Which?": "A"}, {"0": "A"}, {"W": ["A"]}])
def test_iflow_answers_are_found_by_text_number_or_header(answers: dict[str, object]) -> None:
    event = e.QuestionAsked(
        request_id="r", tool_use_id="t", questions=(e.Question("Which?", "W", (e.QuestionOption("A"),)),)
    )
    raw = msgspec.Raw(msgspec.json.encode({"answers": answers}))
    assert asks.iflow_answer(event, raw).answers == {"Which?": "A"}
    assert asks.iflow_answer(event, msgspec.Raw(b'{"answers":{}}')).declined
