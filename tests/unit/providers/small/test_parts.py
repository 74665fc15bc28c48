"""The pieces of the profile, each by tables: turns, questions, looks, shapes, repairs."""

from typing import cast

import jsonschema
import pytest

from tests.unit.providers.small.talks import TOOLS, called, listed, prompt, request, shown
from weft.providers.catalogue import ModelFacts
from weft.providers.small.actions import Action, Refused, to_call
from weft.providers.small.choose import decided, parameters_in
from weft.providers.small.excerpt import CUT, excerpt
from weft.providers.small.look import code_words, named_files, next_look
from weft.providers.small.question import is_question
from weft.providers.small.repair import anchored, indented_as, unfenced, unnumbered
from weft.providers.small.shape import shape, speaks_of
from weft.providers.small.sound import fault, new_fault
from weft.providers.small.turn import Files, read_turn
from weft.schema.content import Json
from weft.schema.messages import Message

CALC = "def add(a, b):\n    return a - b\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does calc.py do?", True),
        ("Which port does the server listen on, according to config.ini?", True),
        ("Explain the function add.", True),
        ("How do I rename a file and keep its history?", True),
        ("Tell me what the tests check", True),
        ("Fix the bug in calc.py", False),
        ("Can you fix the bug in calc.py?", False),
        ("Could you please add a test?", False),
        ("Can you tell me what this does?", True),
        ("What is the sum of the numbers in a.txt? Write it to b.txt.", False),
        ("The function add gives wrong results. Fix it.", False),
        ("Please rename foo to bar", False),
        ("Find the bug and fix it.", False),
        ("the tests fail", False),
        ("When the input is blank, the message should be 'empty'.", False),
        ("is it tested?", True),
    ],
)
def test_a_question_is_told_from_a_task(text: str, expected: bool):
    assert is_question(text) is expected


@pytest.mark.parametrize(
    ("task", "paths", "expected"),
    [
        ("Fix calc.py", ["calc.py", "other.py"], ["calc.py"]),
        ("Fix `src/calc.py`, please.", ["src/calc.py"], ["src/calc.py"]),
        ("Fix util.py", ["a/util.py", "b/util.py"], []),
        ("Change deep.py and top.txt", ["x/deep.py", "top.txt"], ["x/deep.py", "top.txt"]),
        ("Rename logo.png", ["logo.png"], []),
        ("Read the README", ["README", "x.py"], ["README"]),
    ],
)
def test_files_that_a_task_names_are_found(task: str, paths: list[str], expected: list[str]):
    assert named_files(task, paths) == expected


def test_names_that_look_like_code_are_found_in_a_task():
    assert code_words("Make `parse_range` and HttpClient call close() when 'limit' is set") == [
        "parse_range",
        "limit",
        "HttpClient",
        "close",
    ]


def test_the_files_follow_what_was_done_to_them():
    messages = (
        prompt("work"),
        *listed("a.py", "b.txt"),
        *shown("a.py", CALC),
        *called("Edit", "Edited", id="1", file_path="a.py", old_string="a - b", new_string="a + b"),
        *called("Write", "Wrote", id="2", file_path="c.txt", content="new\n"),
        *called("Bash", "", id="3", command="rm -- b.txt"),
        *called("Bash", "", id="4", command="mv -- c.txt d.txt"),
        *called("Edit", "no", id="5", failed=True, file_path="a.py", old_string="a + b", new_string="0"),
    )
    files = Files(read_turn(request(*messages)).steps)
    assert files.paths == ["a.py", "d.txt"]
    assert files.texts == {"a.py": "def add(a, b):\n    return a + b\n", "d.txt": "new\n"}


def test_reminders_are_no_part_of_a_task_and_earlier_turns_are_told_apart():
    first = prompt("<system-reminder>\nmemory\n</system-reminder>\nfirst task")
    turn = read_turn(request(first, *called("Read", "1\tx", id="1", file_path="x"), prompt("second task")))
    assert (turn.task, turn.steps, turn.earlier) == ("second task", (), (("first task", ""),))


def test_the_list_comes_first_then_the_named_files_then_nothing():
    begin = (prompt("Fix calc.py"),)
    assert [use.name for use in next_look(read_turn(request(*begin)))] == ["Glob"]
    begin += listed("calc.py", "a.py", "b.py", "c.py")
    looks = next_look(read_turn(request(*begin)))
    assert [(use.name, use.input) for use in looks] == [("Read", {"file_path": "calc.py"})]
    assert next_look(read_turn(request(*begin, *shown("calc.py", CALC)))) == ()


def test_a_task_that_names_no_file_is_searched_for_its_code():
    begin = (prompt("Make parse_range accept 0"), *listed("a.py", "b.py", "c.py", "d.py"))
    assert [use.name for use in next_look(read_turn(request(*begin)))] == ["Grep"]
    found = called("Grep", "c.py", id="toolu_look_2", pattern="parse_range")
    looks = next_look(read_turn(request(*begin, *found)))
    assert [use.input for use in looks] == [{"file_path": "c.py"}]


def test_a_file_whose_edit_failed_is_read_again():
    begin = (prompt("Fix calc.py"), *listed("calc.py"), *shown("calc.py", CALC))
    failed = called("Edit", "not found", id="x", failed=True, file_path="calc.py", old_string="q", new_string="r")
    assert [use.name for use in next_look(read_turn(request(*begin, *failed)))] == ["Read"]


def options(schema: Json) -> list[str]:
    found = cast(list[dict[str, dict[str, dict[str, str]]]], schema["anyOf"])
    return [one["properties"]["action"]["const"] for one in found]


def shape_of(*messages: Message, question: bool = False, tools: tuple[str, ...] = TOOLS) -> Json:
    made = request(*messages, tools=tools)
    turn = read_turn(made)
    return shape(turn, Files(turn.steps), question=question, room=1300)


def test_done_is_offered_after_an_action_that_worked_and_never_first_or_after_an_error():
    begin = (prompt("Fix calc.py"), *listed("calc.py"), *shown("calc.py", CALC))
    worked = called("Edit", "Edited", id="1", file_path="calc.py", old_string="a - b", new_string="a + b")
    failed = called("Edit", "not there", id="2", failed=True, file_path="calc.py", old_string="q", new_string="r")
    assert "done" not in options(shape_of(*begin))
    assert "done" in options(shape_of(*begin, *worked))
    assert "done" not in options(shape_of(*begin, *worked, *failed))
    assert "done" not in options(shape_of(*begin, *called("Read", "1\tx", id="3", file_path="x")))


def test_a_question_gets_no_action_that_changes_anything():
    begin = (prompt("What does calc.py do?"), *listed("calc.py", "b.py"), *shown("calc.py", CALC))
    assert options(shape_of(*begin, question=True)) == ["read", "search", "answer"]


def test_paths_are_those_that_exist_and_old_text_is_a_real_line():
    begin = (prompt("Delete calc.py or change it"), *listed("calc.py"), *shown("calc.py", CALC))
    schema = shape_of(*begin)
    fits = {"action": "edit", "path": "calc.py", "old": "    return a - b", "new": "x"}
    jsonschema.validate(fits, schema)
    jsonschema.validate({"action": "delete", "path": "calc.py"}, schema)
    for wrong in ({**fits, "path": "no.py"}, {**fits, "old": "return a - b"}, {"action": "delete", "path": "no.py"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_files_go_only_when_the_task_has_a_word_for_it():
    begin = (*listed("calc.py"), *shown("calc.py", CALC))
    assert "delete" not in options(shape_of(prompt("Fix calc.py"), *begin))
    assert "delete" in options(shape_of(prompt("Remove calc.py"), *begin))


@pytest.mark.parametrize(
    ("task", "action", "expected"),
    [
        ("Delete the file a.txt.", "delete", True),
        ("Please remove `old.py`", "delete", True),
        ("Remove the debug print from greet.py.", "delete", False),
        ("Rename the file draft.md to report.md.", "move", True),
        ("Move a.py to src/a.py", "move", True),
        ("Rename the function get_data to load_data in app.py.", "move", False),
        ("Fix the bug", "edit", True),
    ],
)
def test_a_task_about_a_file_is_told_from_one_about_its_text(task: str, action: str, expected: bool):
    assert speaks_of(task, action) is expected


def test_only_tools_in_play_are_offered():
    begin = (prompt("Fix calc.py"), *listed("calc.py"), *shown("calc.py", CALC))
    assert set(options(shape_of(*begin, tools=("Glob", "Read", "Edit")))) == {"edit", "insert"}


def files_of(path: str, text: str) -> Files:
    return Files(read_turn(request(prompt("x"), *listed(path), *shown(path, text))).steps)


TURN = read_turn(request(prompt("x")))


def call(action: Action, files: Files) -> tuple[str, Json, tuple[str, ...]]:
    meant = to_call(action, files, TURN)
    return meant.use.name, meant.use.input, meant.repairs


def test_an_edit_keeps_the_indentation_that_the_model_forgot_and_says_so():
    name, given, repairs = call(
        Action(action="edit", path="calc.py", old="    return a - b", new="return a + b"), files_of("calc.py", CALC)
    )
    assert (name, given["new_string"]) == ("Edit", "    return a + b")
    assert repairs == ("the indentation of the replaced line was kept",)


def test_fences_line_numbers_and_white_space_of_an_edit_are_put_right():
    action = Action(action="edit", path="calc.py", old="2\treturn  a - b", new="```python\nreturn a + b\n```")
    _, given, repairs = call(action, files_of("calc.py", CALC))
    assert (given["old_string"], given["new_string"]) == ("    return a - b", "    return a + b")
    assert len(repairs) == 4


def test_an_edit_that_changes_nothing_is_refused():
    with pytest.raises(Refused, match="changes nothing"):
        call(
            Action(action="edit", path="calc.py", old="    return a - b", new="    return a - b"),
            files_of("calc.py", CALC),
        )


def test_a_body_beside_its_def_takes_the_place_of_a_body_of_one_line():
    beside = Action(action="edit", path="calc.py", old="def add(a, b):", new="def add(a, b): return a + b")
    _, given, repairs = call(beside, files_of("calc.py", CALC))
    assert given["new_string"] == "def add(a, b):\n    return a + b"
    assert repairs == ("the new body took the place of the old one",)


def test_a_comma_that_was_forgotten_is_put_back():
    text = '{\n  "a": 1,\n  "b": 2\n}\n'
    forgot = Action(action="edit", path="a.json", old='  "a": 1,', new='  "a": 3')
    assert call(forgot, files_of("a.json", text))[1]["new_string"] == '  "a": 3,'


def test_a_file_does_not_lose_what_it_has_unless_the_task_says_so():
    action = Action(action="write", path="calc.py", text="def sub(a, b):\n    return b")
    with pytest.raises(Refused, match="lose what it has"):
        call(action, files_of("calc.py", CALC))
    anew = read_turn(request(prompt("Rewrite calc.py")))
    assert to_call(action, files_of("calc.py", CALC), anew).use.name == "Write"


def test_a_name_that_is_still_used_is_not_renamed_in_one_place_alone():
    text = "def get():\n    return 1\n\n\nprint(get())\n"
    with pytest.raises(Refused, match="still uses get"):
        call(Action(action="edit", path="a.py", old="def get():", new="def take():"), files_of("a.py", text))


def test_a_change_that_would_break_the_file_is_refused():
    broken = Action(action="edit", path="calc.py", old="def add(a, b):", new="def add(a, b:")
    with pytest.raises(Refused, match="would break"):
        call(broken, files_of("calc.py", CALC))


def test_a_removed_line_takes_its_end_with_it():
    _, given, _ = call(Action(action="edit", path="a.txt", old="two", new=""), files_of("a.txt", "one\ntwo\nthree\n"))
    assert (given["old_string"], given["new_string"]) == ("two\n", "")


def test_a_line_that_occurs_twice_is_told_apart_by_what_is_around_it():
    _, given, _ = call(Action(action="edit", path="a.txt", old="x", new="y"), files_of("a.txt", "one\nx\ntwo\nx\n"))
    assert (given["old_string"], given["new_string"]) == ("one\nx", "one\ny")


def test_an_insert_below_the_start_of_a_block_stands_inside_it():
    action = Action(action="insert", path="calc.py", after="def add(a, b):", text='"""Adds."""')
    _, given, _ = call(action, files_of("calc.py", CALC))
    assert given["new_string"] == 'def add(a, b):\n    """Adds."""'


def test_a_word_is_replaced_and_longer_names_with_it_are_not():
    text = "get = 1\nget_all = get\n"
    name, given, _ = call(Action(action="replace_all", path="a.py", old="get", new="take"), files_of("a.py", text))
    assert (name, given["content"]) == ("Write", "take = 1\nget_all = take\n")


def test_a_file_that_was_not_read_whole_is_not_written_anew():
    files = Files(read_turn(request(prompt("x"), *listed("big.py"))).steps)
    with pytest.raises(Refused, match="exists"):
        call(Action(action="write", path="big.py", text="x = 1"), files)


def test_paths_of_commands_are_quoted():
    files = Files(read_turn(request(prompt("x"), *listed("a b; rm x.txt"))).steps)
    _, given, _ = call(Action(action="delete", path="a b; rm x.txt"), files)
    assert given["command"] == "rm -- 'a b; rm x.txt'"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (unfenced("```py\nx = 1\n```"), "x = 1"),
        (unfenced("say ```x``` twice"), "say ```x``` twice"),
        (unnumbered("1\ta\n2\tb"), "a\nb"),
        (unnumbered("1\ta\nb"), "1\ta\nb"),
        (anchored("a\n  b c\n", "b  c"), "  b c"),
        (anchored("a b\na  b\n", "a\tb"), None),
        (indented_as("    x", "if y:\n    z"), "    if y:\n        z"),
        (indented_as("x", "y"), "y"),
    ],
)
def test_repairs(made: str | None, expected: str | None):
    assert made == expected


def test_a_long_file_is_shown_around_what_the_task_speaks_of():
    text = "\n".join(f"line {n}" for n in range(500)) + "\ndef special_case():\n    return 1\n"
    lines = excerpt(text, "Change special_case", 300)
    assert "def special_case():" in lines and CUT in lines and sum(map(len, lines)) < 400


@pytest.mark.parametrize(
    ("path", "text", "wrong"),
    [
        ("a.py", "def f(:", True),
        ("a.py", "x = 1", False),
        ("a.json", "{,}", True),
        ("a.toml", "a =", True),
        ("a.txt", "{", False),
    ],
)
def test_the_form_of_a_file_is_known(path: str, text: str, wrong: bool):
    assert bool(fault(path, text)) is wrong


def test_a_file_that_was_broken_before_may_stay_so():
    assert new_fault("a.py", "def f(:", "def g(:") == ""


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("qwen2.5-coder:1.5b", 1_500_000_000),
        ("qwen2.5-coder-0.5b-instruct-q4_k_m", 500_000_000),
        ("SmolLM2-135M-Instruct.Q4_1", 135_000_000),
        ("llama3.1:70b", 70_000_000_000),
        ("gpt-oss", 0),
    ],
)
def test_a_name_tells_the_size(name: str, count: int):
    assert parameters_in(name) == count


@pytest.mark.parametrize(
    ("facts", "wish", "expected"),
    [
        (ModelFacts(id="qwen2.5:1.5b"), "", True),
        (ModelFacts(id="qwen2.5:1.5b"), "full", False),
        (ModelFacts(id="qwen2.5:72b"), "", False),
        (ModelFacts(id="qwen2.5:72b", profile="small"), "", True),
        (ModelFacts(id="some"), "", None),
        (ModelFacts(id="some", tools=False), "", True),
        (ModelFacts(id="some", parameters=494_000_000), "", True),
    ],
)
def test_who_gets_the_profile(facts: ModelFacts, wish: str, expected: bool | None):
    assert decided(facts, wish) is expected
