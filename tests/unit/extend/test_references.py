"""What a prompt names, and where."""

import pytest

from weft.extend.references import read, tools


def commands_of(name: str) -> tuple[str, ...] | None:
    return {"librarian": ("list",), "weft": ()}.get(name)


def test_a_participant_its_command_a_tool_and_a_file() -> None:
    text = "@librarian /list all of #words in @docs/a.md"
    named = read(text, commands_of)
    assert (named.participant, named.command) == ("librarian", "list")
    assert named.prompt == "all of #words in @docs/a.md"
    assert [text[slice(*one.range)] for one in named.tools] == ["#words"]
    assert [text[slice(*one.range)] for one in named.files] == ["@docs/a.md"]


@pytest.mark.parametrize("text", ["@nobody hello", "hello @librarian", "@librarian's book", "mail@librarian"])
def test_what_is_not_at_the_beginning_or_not_known_is_no_participant(text: str) -> None:
    assert read(text, commands_of).participant == ""


def test_a_command_that_the_participant_lacks_is_part_of_the_prompt() -> None:
    named = read("@librarian /nothing here", commands_of)
    assert (named.command, named.prompt) == ("", "/nothing here")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("use #codebase and #tool:x, please", ["codebase", "x"]),
        ("# heading", []),
        ("##two", []),
        ("issue #12", []),
        ("https://a.b/c#part", []),
        ("&#x27;", []),
        ("#server/* and #server/tool", ["server/*", "server/tool"]),
        ("(#words)", ["words"]),
    ],
)
def test_tools_are_named_with_a_hash(text: str, found: list[str]) -> None:
    assert [span.name for span in tools(text)] == found
