"""What a host says in `initialize` takes effect."""

from pathlib import Path
from typing import Any

import anyio

from weft.agent.options import SessionOptions
from weft.cli.stream_json import with_initialize
from weft.protocols.stream_json import ControlRequest
from weft.schema.commands import Prompt
from weft.schema.content import Json, text_of
from weft.schema.events import TurnEnded
from weft.schema.messages import Request
from weft.sdk.compose import Overrides, connect
from weft.sdk.plugin_dirs import with_hooks
from weft.serve.stream_json.control import answer
from weft.testing.scripted import ScriptedProvider

LIMIT = 60


async def asked(cwd: Path, initialize: Json, **options: Any) -> tuple[Request, Json]:
    """The first request of a session that was opened so, and the answer to `initialize`."""
    provider = ScriptedProvider(["ok"])
    chosen = with_initialize(SessionOptions(cwd=cwd, **options), initialize)
    with anyio.fail_after(LIMIT):
        async with connect(chosen, Overrides(provider=provider, ask_host=host)) as connection:
            told = await answer(connection.session, ControlRequest("r", "initialize", initialize))
            await connection.send(Prompt("hi"))
            async for event in connection.events():
                if isinstance(event, TurnEnded):
                    break
    return provider.requests[0], told or {}


async def host(_request_id: str, subtype: str, fields: Json) -> Json:
    """A host with one server in its process, which has one tool."""
    assert subtype == "mcp_message"
    message: Any = fields["message"]
    results: dict[str, Json] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "own", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}]},
    }
    return {"mcp_response": {"jsonrpc": "2.0", "id": message.get("id"), "result": results.get(message["method"], {})}}


def told_in(request: Request) -> tuple[str, str]:
    """The system prompt, and the first message."""
    return "\n".join(part.text for part in request.system), text_of(request.messages[0].content)


async def test_what_is_about_this_machine_moves_into_the_conversation(tmp_path: Path):
    system, first = told_in((await asked(tmp_path, {}))[0])
    assert str(tmp_path) in system
    system, first = told_in((await asked(tmp_path, {"excludeDynamicSections": True}))[0])
    assert str(tmp_path) not in system
    assert str(tmp_path) in first


async def test_only_the_skills_that_were_named_are_there(tmp_path: Path, fresh_home: Path):
    for name in ("cook", "sing"):
        folder = fresh_home / ".claude" / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: knows how to {name}\n---\nDo it.\n")
    _system, first = told_in((await asked(tmp_path, {}))[0])
    assert "knows how to cook" in first
    assert "knows how to sing" in first
    request, told = await asked(tmp_path, {"skills": ["sing"]})
    _system, first = told_in(request)
    assert "knows how to cook" not in first
    assert "knows how to sing" in first
    assert "cook" not in [row["name"] for row in rows(told, "commands")]


def rows(told: Json, key: str) -> list[Json]:
    found: Any = told[key]
    return found


async def test_servers_of_the_hosts_process_may_be_named_here(tmp_path: Path):
    request, _told = await asked(tmp_path, {"sdkMcpServers": ["own"]})
    assert "mcp__own__look" in [tool.name for tool in request.tools]


async def test_agents_are_told_with_their_descriptions(tmp_path: Path):
    agents = {"helper": {"description": "helps a lot", "prompt": "You help.", "model": "haiku"}}
    _request, told = await asked(tmp_path, {"agents": agents})
    found = next(row for row in rows(told, "agents") if row["name"] == "helper")
    assert found["description"] == "helps a lot"
    assert "haiku" in str(found["model"])


async def test_an_empty_system_prompt_replaces_ours(tmp_path: Path):
    system, _first = told_in((await asked(tmp_path, {}))[0])
    assert "# How to work" in system
    system, _first = told_in((await asked(tmp_path, {}, system_prompt=""))[0])
    assert "# How to work" not in system
    assert "Weft" in system


async def test_a_plug_in_brings_commands_skills_agents_and_hooks_under_its_name(tmp_path: Path):
    project, folder = tmp_path / "project", tmp_path / "my plug-in"
    project.mkdir()
    files = {
        ".claude-plugin/plugin.json": '{"name": "band", "version": "1.0.0"}',
        "commands/play.md": "---\ndescription: plays\n---\nPlay.",
        "skills/sing/SKILL.md": "---\nname: sing\ndescription: knows how to sing\n---\nSing.",
        "agents/drummer.md": "---\nname: drummer\ndescription: keeps time\n---\nYou drum.",
        "hooks/hooks.json": """{"hooks": {"UserPromptSubmit": [{"hooks": [
            {"type": "command", "command": "touch \\"${CLAUDE_PLUGIN_ROOT}/called\\""}]}]}}""",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    request, told = await asked(project, {"plugins": [{"type": "local", "path": str(folder)}]})
    names = [row["name"] for row in rows(told, "commands")]
    assert {"band:play", "band:sing"} <= set(names)
    assert "band:drummer" in [row["name"] for row in rows(told, "agents")]
    assert "knows how to sing" in told_in(request)[1]
    assert (folder / "called").exists()


async def test_hooks_of_a_plug_in_that_cannot_be_read_are_told_of(tmp_path: Path):
    (tmp_path / "plug" / "hooks").mkdir(parents=True)
    (tmp_path / "plug" / "hooks" / "hooks.json").write_text("{")
    notes: list[str] = []
    assert with_hooks({"Stop": []}, [tmp_path / "plug"], notes) == {"Stop": []}
    assert "hooks.json" in notes[0]
