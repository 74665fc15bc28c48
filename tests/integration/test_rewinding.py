"""Going back to before a message: the files, the conversation, or both."""

from pathlib import Path

import pytest

from tests.integration.driving import session, turn, until_end
from weft.schema.commands import Prompt, Rewind
from weft.schema.content import text_of
from weft.testing.scripted import call


@pytest.mark.parametrize(("files", "conversation"), [(True, False), (False, True), (True, True)])
async def test_a_message_is_taken_back_as_far_as_was_asked(files: bool, conversation: bool, tmp_path: Path):
    target, fresh = tmp_path / "a.txt", tmp_path / "deep" / "b.txt"
    script = [
        call("Write", file_path=str(target), content="first\n"),
        "one",
        call("Edit", file_path=str(target), old_string="first", new_string="second"),
        call("Write", file_path=str(fresh), content="new\n"),
        "two",
        "three",
    ]
    async with session(tmp_path, script, mode="acceptEdits", checkpoints=True) as (connection, provider):
        await turn(connection, "do the first thing")
        second = "6b1f3c1e-0f6e-4f0e-9d5b-5a1c2b3d4e5f"
        await connection.send(Prompt("do the second thing", id=second))
        await until_end(connection)
        assert (target.read_text(), fresh.exists()) == ("second\n", True)
        await connection.send(Rewind(second, files, conversation))
        assert target.read_text() == ("first\n" if files else "second\n")
        assert fresh.exists() is not files
        await turn(connection, "go on")
    said = " ".join(text_of(message.content) for message in provider.requests[-1].messages)
    assert "do the first thing" in said and "go on" in said
    assert ("do the second thing" in said) is not conversation
