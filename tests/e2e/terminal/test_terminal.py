"""`weft` in a real terminal, as a person uses it."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.terminal.tmux import LIMIT, Terminal, has_colour, terminal


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Terminal]:
    with terminal(tmp_path) as found:
        yield found


def test_a_new_user_has_a_bug_mended(window: Terminal) -> None:
    window.start()
    window.shows("Weft", "ask first", "> ")
    window.type("mend the tests")
    window.press("Enter")
    window.shows("Run this command?", "python3 -m unittest -q", "TodoWrite")
    window.press("y")
    window.shows("Make this change?", "-     return ordered[len(ordered) // 2]")
    window.press("y")
    window.shows("Run this command?")
    window.press("y")
    screen = window.shows("The tests pass now.", "even count", "All done.")
    assert "2) / 2" not in screen
    assert "ordered[middle]" in (window.folder / "tally.py").read_text()


def test_a_resize_in_the_middle_keeps_everything_readable(window: Terminal) -> None:
    window.start()
    window.shows("ask first")
    window.type("tell me a story about a fox that ran and ran and ran until it came to the wide river in the valley")
    window.press("Enter")
    window.shows("You said: tell me a story")
    for size in ((50, 20), (140, 45), (80, 24)):
        window.resize(*size)
        screen = window.shows("You said:", "the valley", "ask first")
        assert all(len(line) <= size[0] for line in screen.split("\n"))


def test_a_flood_is_shown_to_its_end_and_keys_still_count(window: Terminal) -> None:
    window.start()
    window.shows("ask first")
    window.type("flood me")
    window.press("Enter")
    window.shows("Line ")
    window.type("typed meanwhile")
    window.shows("> typed meanwhile")
    window.shows("Line 3999 of a long reply", "> typed meanwhile")


def test_a_loud_command_shows_its_end(window: Terminal) -> None:
    window.start("--permission-mode", "bypassPermissions", IS_SANDBOX="1")
    window.shows("bypass permissions")
    window.type("make some noise")
    window.press("Enter")
    window.shows("That was loud.", "more lines")


def test_after_a_kill_in_mid_turn_everything_is_there_again(window: Terminal) -> None:
    window.start()
    window.shows("ask first")
    window.type("my first words")
    window.press("Enter")
    window.shows("You said: my first words")
    window.type("mend the tests")
    window.press("Enter")
    window.shows("Run this command?")
    window.press("y")
    window.shows("Make this change?")
    os.kill(window.weft_pid(), signal.SIGKILL)
    window.shows("left with")
    window.start("--continue", size=(100, 60))
    window.shows(
        "> my first words",
        "You said: my first words",
        "> mend the tests",
        "Thoughts",
        "I'll run the tests first",
        "python3 -m unittest -q",
        "One test fails",
        "median takes the upper",
        "ask first",
    )
    window.type("go on")
    window.press("Enter")
    window.shows("You said: go on")


def test_escape_interrupts_and_twice_opens_the_way_back(window: Terminal) -> None:
    window.start()
    window.shows("ask first")
    window.type("speak slowly")
    window.press("Enter")
    window.shows("one two three", "esc to interrupt")
    window.press("Escape")
    window.shows("Interrupted.", "? for help")
    window.press("Escape")
    if "Go back" not in window.shows(" back to "):
        window.press("Escape")
    window.shows("Go back to before which message?", "speak slowly")
    window.press("Enter")
    window.shows("> speak slowly", "is back")


def test_conversations_are_found_by_search_and_opened(window: Terminal) -> None:
    window.start("remember the word heliotrope")
    window.shows("You said: remember the word heliotrope")
    window.press("C-d")
    window.shows("left with 0")
    window.start("--resume", size=(100, 40))
    window.shows("Conversations", "remember the word heliotrope")
    window.type("heliotrope")
    window.shows("You said: remember")
    window.press("Enter")
    window.shows("> remember the word heliotrope", "? for help")


def test_questions_and_plans_are_answered_in_the_terminal(window: Terminal) -> None:
    window.start()
    window.shows("ask first")
    window.type("ask me a question")
    window.press("Enter")
    window.shows("Which database should it use?", "one file, no server")
    window.press("2")
    window.shows("Thank you for your answer.")


def test_a_message_is_written_in_the_persons_editor(window: Terminal) -> None:
    window.start(EDITOR="sed -i s/cat/dog/")
    window.shows("ask first")
    window.type("the cat sat")
    window.shows("> the cat sat")
    window.press("C-g")
    window.shows("> the dog sat")
    window.press("Enter")
    window.shows("You said: the dog sat")


def test_without_colour_only_weight_is_left(window: Terminal) -> None:
    window.start("hello there", NO_COLOR="1")
    window.shows("You said: hello there", "ask first")
    assert not has_colour(window.screen(escapes=True))


def test_with_colour_there_is_some(window: Terminal) -> None:
    window.start("hello there")
    window.shows("You said: hello there", "ask first")
    assert has_colour(window.screen(escapes=True))


def test_chinese_words_and_wide_letters(window: Terminal) -> None:
    window.start(LANG="zh_CN.UTF-8")
    window.shows("先询问", "? 查看帮助")
    window.type("你好，世界")
    window.press("Enter")
    window.shows("> 你好，世界", "You said: 你好，世界")


def test_a_screen_reader_gets_plain_lines(window: Terminal) -> None:
    window.start("--screen-reader", size=(100, 40))
    window.shows("Type a message and press Enter.")
    window.type("mend the tests")
    window.press("Enter")
    window.shows("May it use Bash?", "Answer: yes")
    window.type("no use tox instead")
    window.press("Enter")
    window.shows("May it use Edit?")
    window.type("/stop")
    window.press("Enter")
    window.shows("Interrupted.")


def test_a_terminated_weft_leaves_the_terminal_as_it_was(window: Terminal) -> None:
    window.start()
    window.shows("ask first")
    os.kill(window.weft_pid(), signal.SIGTERM)
    screen = window.shows("left with 143")
    assert "ask first" not in screen
    window.type("echoed again")
    window.shows("echoed again")


def test_an_idle_screen_costs_next_to_nothing(window: Terminal) -> None:
    window.start()
    window.shows("ask first")
    pid = window.weft_pid()

    def cpu() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        before, began = cpu(), time.monotonic()
        while time.monotonic() < began + 3:
            time.sleep(0.1)
        if (cpu() - before) / 3 <= 0.005:
            return
    raise AssertionError("it is never idle")
