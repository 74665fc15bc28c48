import json
from typing import Any

import pytest

from weft.errors import RemoteProtocolError, UsageError
from weft.schema.commands import PermissionAnswered, PlanAnswered
from weft.schema.content import ToolUse
from weft.schema.display import DiffView
from weft.schema.events import PermissionAsked, RuleSuggestion
from weft.surfaces.files import score
from weft.surfaces.web import messages as m
from weft.surfaces.web.answers import permission, plan

SEED: list[tuple[str, dict[str, Any]]] = [
    ("ready", {}),
    ("recheckCli", {}),
    ("pickFiles", {}),
    ("listWorkspaceFiles", {"query": "a"}),
    ("readFiles", {"paths": ["a"]}),
    ("openFile", {"path": "a", "line": 3}),
    ("sendMessage", {"conversation": "c", "text": "hi"}),
    ("toolApproval", {"conversation": "c", "requestId": "r", "outcome": "alwaysAllow", "scope": "session"}),
    ("questionAnswer", {"conversation": "c", "requestId": "r", "answers": {"q": "a"}}),
    ("planApproval", {"conversation": "c", "requestId": "r", "option": "feedback", "feedback": "x"}),
    ("cancelCurrent", {"conversation": "c"}),
    ("newConversation", {}),
    ("switchConversation", {"conversation": "c"}),
    ("deleteConversation", {"conversation": "c"}),
    ("clearConversation", {"conversation": "c"}),
    ("setMode", {"conversation": "c", "mode": "plan"}),
    ("setThink", {"conversation": "c", "think": True}),
    ("setModel", {"conversation": "c", "model": None}),
    ("setWorkspaceFolder", {"conversation": "c", "folder": "/p"}),
]


@pytest.mark.parametrize(("type", "fields"), SEED, ids=[type for type, _ in SEED])
def test_every_message_of_the_seed_is_read(type: str, fields: dict[str, Any]) -> None:
    message = m.decode_message(json.dumps({"type": type, **fields}))
    assert message.__struct_config__.tag == type


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"type":"x"}', '{"type":"setMode","conversation":"c","mode":"god"}'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(RemoteProtocolError):
        m.decode_message(text)


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("smart", PlanAnswered("r", True, mode="smart")),
        ("default", PlanAnswered("r", True, mode="default")),
        ("keep", PlanAnswered("r", False, mode="plan")),
        ("feedback", PlanAnswered("r", False, mode="plan", feedback="shorter")),
    ],
)
def test_a_plan_has_four_answers(option: Any, answer: PlanAnswered) -> None:
    feedback = "shorter" if option == "feedback" else ""
    assert plan(m.PlanApprovalAnswer(conversation="c", request_id="r", option=option, feedback=feedback)) == answer


OLD = "".join(f"{n}\n" for n in range(40))
NEW = OLD.replace("5\n", "five\n", 1).replace("30\n", "thirty\n", 1)
ASKED = PermissionAsked(
    request_id="r",
    use=ToolUse("t", "Write", {"file_path": "a", "content": NEW}),
    suggestions=(RuleSuggestion("Write(/a)", "session"), RuleSuggestion("Write(//x/a)", "user")),
    preview=(DiffView("a", OLD, NEW),),
)


def answered(**fields: Any) -> PermissionAnswered:
    return permission(m.ToolApproval(conversation="c", request_id="r", **fields), ASKED)


def test_allow_once_writes_no_rule() -> None:
    assert answered(outcome="allow") == PermissionAnswered("r", "allow")


def test_always_writes_the_rule_that_was_suggested_for_that_place() -> None:
    assert answered(outcome="alwaysAllow", scope="session").rules == (RuleSuggestion("Write(/a)", "session"),)
    assert answered(outcome="alwaysAllow", scope="user").rules == (RuleSuggestion("Write(//x/a)", "user"),)
    local = answered(outcome="alwaysAllow", scope="local").rules
    assert {rule.destination for rule in local} == {"local"}


def test_some_hunks_become_an_input_of_just_those() -> None:
    input = answered(outcome="allow", hunks=[1]).input
    assert input is not None
    assert input["content"] == OLD.replace("30\n", "thirty\n", 1)


def test_no_hunk_at_all_is_a_rejection() -> None:
    assert answered(outcome="allow", hunks=[]).behavior == "deny"


def test_a_rejection_carries_its_reason_and_may_stop_the_turn() -> None:
    answer = answered(outcome="reject", reason="not now", stop=True)
    assert (answer.behavior, answer.message, answer.interrupt) == ("deny", "not now", True)


def test_hunks_without_a_diff_are_refused() -> None:
    bare = PermissionAsked(request_id="r", use=ToolUse("t", "Bash", {}))
    with pytest.raises(UsageError):
        permission(m.ToolApproval(conversation="c", request_id="r", outcome="allow", hunks=(0,)), bare)


def test_files_are_ranked_by_their_own_name_first() -> None:
    paths = ["src/http/client.py", "docs/httpclient.md", "tests/test_client.py", "client.py"]
    assert max(paths, key=lambda path: score("client", path)) == "client.py"
    assert max(paths, key=lambda path: score("httpcl", path)) == "docs/httpclient.md"
    assert score("zzz", "client.py") == 0
