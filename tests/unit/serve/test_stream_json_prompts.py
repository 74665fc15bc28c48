"""A host's own lines are followed by name: queued, started, completed or cancelled."""

from weft.schema.content import Json
from weft.serve.stream_json.prompts import Prompts


def made(prompt_id: str, state: str) -> Json:
    return {prompt_id: state}


def accept(prompts: Prompts, prompt_id: str, *, busy: bool, named: bool = True) -> list[Json]:
    return prompts.accept(prompt_id, named=named, origin=None, content=prompt_id, busy=busy)


def test_a_line_that_starts_at_once_is_queued_and_started_together():
    prompts = Prompts(made)
    assert accept(prompts, "a", busy=False) == []
    assert prompts.begin(["a"], "human") == [{"a": "queued"}, {"a": "started"}]
    assert prompts.stamps() == {"user_message_uuid": "a", "user_message_uuids": ["a"]}
    assert prompts.end() == [{"a": "completed"}]
    assert prompts.stamps() == {}


def test_a_line_that_waits_is_told_of_at_once_and_may_join_the_turn():
    prompts = Prompts(made)
    accept(prompts, "a", busy=False)
    prompts.begin(["a"], "human")
    assert accept(prompts, "b", busy=True) == [{"b": "queued"}]
    assert prompts.start("b") == [{"b": "started"}]
    assert prompts.start("b") == []
    assert prompts.end() == [{"a": "completed"}, {"b": "completed"}]


def test_a_line_that_is_taken_back_is_cancelled_and_never_completed():
    prompts = Prompts(made)
    accept(prompts, "a", busy=True)
    assert prompts.drop("a") == [{"a": "cancelled"}]
    assert prompts.drop("a") == []
    assert prompts.begin(["a"], "human") == []
    assert prompts.end() == []


def test_lines_without_a_name_are_not_told_of_but_their_origin_is_kept():
    prompts = Prompts(made)
    assert prompts.accept("x", named=False, origin={"kind": "robot"}, content="hi", busy=True) == []
    assert prompts.begin(["x"], "robot") == []
    assert prompts.origin == {"kind": "robot"}
    assert prompts.as_sent("x") == "hi"
    assert prompts.end() == []
    assert (prompts.as_sent("x"), prompts.origin) == (None, None)


def test_a_turn_of_background_work_has_its_origin():
    prompts = Prompts(made)
    prompts.begin(["n"], "task-notification")
    assert prompts.origin == {"kind": "task-notification"}
