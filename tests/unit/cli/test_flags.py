"""What a command line says: every form of a flag, and what is said about a wrong one."""

import pytest

from weft.cli.arguments import FLAGS, Arguments, parse, show_help
from weft.errors import UsageError


def test_flags_that_are_not_given_have_their_defaults():
    found = parse([])
    assert (found.prompt, found.print, found.output_format, found.model) == ([], False, "text", None)
    assert (found.allowedTools, found.tools, found.add_dir, found.betas) == ([], None, [], [])
    assert (found.debug, found.resume, found.verbose) == (None, None, False)


def test_every_flag_has_its_typed_attribute():
    typed = set(Arguments.__annotations__)
    unused = {"debug_file", "mcp_debug"}
    assert {flag.dest for flag in FLAGS} - unused == typed - {"prompt"}


@pytest.mark.parametrize(
    "argv",
    [
        ["-p", "do it", "--model", "opus"],
        ["--model=opus", "-p", "do it"],
        ["do it", "--print", "--model", "opus"],
        ["--model", "opus", "-p", "--", "do it"],
    ],
)
def test_the_same_wish_may_be_written_in_several_ways(argv: list[str]):
    found = parse(argv)
    assert (found.print, found.model, found.prompt) == (True, "opus", ["do it"])


def test_short_flags_may_stand_together_and_have_their_value_glued_to_them():
    found = parse(["-pc", "-nTitle", "go on"])
    assert (found.print, found.continue_latest, found.name, found.prompt) == (True, True, "Title", ["go on"])


def test_a_flag_with_several_values_ends_at_the_next_flag():
    found = parse(["--allowedTools", "Read", "Bash(git log:*, x) Edit", "-p", "hi", "--add-dir", "a", "--add-dir", "b"])
    assert found.allowedTools == ["Read", "Bash(git log:*, x)", "Edit"]
    assert (found.prompt, found.add_dir) == (["hi"], ["a", "b"])


def test_several_values_given_twice_replace_or_add_as_the_flag_says():
    found = parse(["--tools", "Read", "--tools", "Edit", "--plugin-dir", "a", "--plugin-dir", "b"])
    assert (found.tools, found.plugin_dir) == (["Edit"], ["a", "b"])


def test_a_value_may_be_left_out_where_one_is_optional():
    assert parse(["--resume", "-p"]).resume == ""
    assert parse(["--resume", "x"]).resume == "x"
    assert parse(["-d"]).debug == ""


def test_of_two_flags_for_one_thing_the_later_counts():
    assert parse([]).setup == ""
    assert parse(["--init"]).setup == "init"
    assert parse(["--init", "--maintenance"]).setup == "maintenance"


def test_words_that_begin_with_a_hyphen_are_no_flags_when_they_are_sentences_or_numbers():
    found = parse(["-p", "- why is this slow?", "-5", "-"])
    assert found.prompt == ["- why is this slow?", "-5", "-"]
    assert parse(["--append-system-prompt", "- be brief"]).append_system_prompt == "- be brief"
    assert parse(["--max-thinking-tokens", "-1"]).max_thinking_tokens == -1


def test_everything_after_two_hyphens_is_prompt():
    assert parse(["-p", "--", "--model", "-x"]).prompt == ["--model", "-x"]


def test_help_is_heard_before_what_follows_it():
    assert parse(["--help", "--nonsense"]).help
    shown = show_help()
    assert "--allowedTools RULE [RULE ...]" in shown and "exit codes of -p" in shown and "--task-budget" not in shown


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--modle", "x"], "There is no flag --modle."),
        (["-z"], "There is no flag -z."),
        (["--model"], "--model needs a value."),
        (["--model", "--print"], "--model needs a value."),
        (["--allowedTools"], "--allowedTools needs a value."),
        (["--print=yes"], "--print takes no value."),
        (["--output-format", "xml"], "--output-format is one of text, json, stream-json, not 'xml'."),
        (["--max-turns", "0"], "--max-turns wants a whole number of at least 1, not '0'."),
        (["--max-budget-usd", "much"], "--max-budget-usd wants a number, not 'much'."),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(argv: list[str], sentence: str):
    with pytest.raises(UsageError) as caught:
        parse(argv)
    assert str(caught.value) == sentence
    assert "weft --help" in (caught.value.hint or "")


def test_a_flag_that_is_nearly_right_is_named():
    with pytest.raises(UsageError) as caught:
        parse(["--modle", "x"])
    assert "Did you mean --model?" in (caught.value.hint or "")


def test_one_parse_leaves_nothing_behind_for_the_next():
    parse(["--add-dir", "a"]).add_dir.append("b")
    parse([]).add_dir.append("c")
    assert parse([]).add_dir == []
