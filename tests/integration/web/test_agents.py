"""Agents by name, as the page opens them."""

import sys
from pathlib import Path

import anyio

from weft.schema.commands import Prompt
from weft.schema.events import MessageDone, Notice, SessionStarted, TurnEnded
from weft.surfaces.web.agents import NamedAgent
from weft.surfaces.web.ports import Opening

FORGETFUL = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        result = {"protocolVersion": 1, "agentInfo": {"name": "forgetful", "version": "1"}}
    elif asked["method"] == "session/new":
        result = {"sessionId": "fresh"}
    elif asked["method"] == "session/prompt":
        said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Who are you?"}}
        note = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "fresh", "update": said}}
        print(json.dumps(note), flush=True)
        result = {"stopReason": "end_turn"}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


async def test_an_agent_that_cannot_go_on_begins_anew_and_says_so(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(FORGETFUL)
    spec = f"{sys.executable} {script}"
    opening = Opening(session_id="x", folder=str(tmp_path), agent=spec, resume=True, agent_session="earlier")
    with anyio.fail_after(60):
        async with NamedAgent(opening) as agent:
            await agent.send(Prompt("Go on"))
            seen: list[object] = []
            async for event in agent.events():
                seen.append(event)
                if isinstance(event, TurnEnded):
                    break
    assert isinstance(seen[0], SessionStarted)
    assert isinstance(seen[1], Notice)
    assert "knows nothing of what was said before" in seen[1].text
    assert agent.info.session_id == "fresh"
    assert [event.reply.text for event in seen if isinstance(event, MessageDone)] == ["Who are you?"]
