"""Whole turns: files go back, skills are loaded, a schema is kept."""

from pathlib import Path

from tests.integration.driving import ended, session, turn
from weft.schema.commands import Rewind
from weft.schema.events import Notice, PromptAdded, ToolEnded
from weft.testing.scripted import call


async def test_files_go_back_to_before_a_prompt(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    script = [
        call("Edit", file_path="a.txt", old_string="one", new_string="two"),
        "First.",
        call("Write", file_path="new.txt", content="x"),
        call("Edit", file_path="a.txt", old_string="two", new_string="three"),
        "Second.",
    ]
    async with session(tmp_path, script, mode="acceptEdits") as (connection, _):
        await turn(connection, "first")
        events = await turn(connection, "second")
        assert file.read_text() == "three\n"
        (prompt,) = [event.id for event in events if isinstance(event, PromptAdded)]
        await connection.send(Rewind(prompt, conversation=False))
        async for event in connection.events():
            if isinstance(event, Notice) and event.tag == "rewind":
                break
    assert file.read_text() == "two\n"
    assert not (tmp_path / "new.txt").exists()


async def test_the_model_loads_a_skill_and_its_commands_are_not_run(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "skills" / "release"
    folder.mkdir(parents=True)
    text = "---\nname: release\ndescription: How to release\n---\nTag it $ARGUMENTS. See !`touch owned`\n"
    (folder / "SKILL.md").write_text(text)
    script = [call("Skill", skill="release", args="v2"), call("Skill", skill="nope"), "Done."]
    async with session(tmp_path, script, allowed_tools=("Skill",), trust=True) as (connection, _):
        events = await turn(connection, "release it")
    first, second = [event.result for event in events if isinstance(event, ToolEnded)]
    assert "Tag it v2." in str(first.content) and "`touch owned`" in str(first.content)
    assert second.is_error and "The skills are: release" in str(second.content)
    assert not (tmp_path / "owned").exists()


async def test_a_result_that_fits_its_schema_ends_the_turn(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    script = [call("StructuredOutput", n="many"), call("StructuredOutput", n=3)]
    async with session(tmp_path, script, output_schema=schema) as (connection, provider):
        end = ended(await turn(connection, "count"))
    assert (end.has_structured, end.structured, end.reason) == (True, {"n": 3}, "completed")
    assert "n must be integer" in str(provider.requests[1].messages[-1].content)
