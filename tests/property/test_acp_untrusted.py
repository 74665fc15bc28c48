"""What a peer sends is untrusted: anything that is JSON, and much that is not, must not break us."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.connect.acp import asks
from weft.connect.acp.fold import Fold
from weft.connect.port import Connection
from weft.protocols.acp import frames
from weft.protocols.acp.content import decode_block
from weft.protocols.acp.draft2 import Draft2
from weft.protocols.acp.updates import decode_update
from weft.schema import events as e
from weft.serve.acp.agent import AcpAgent
from weft.serve.acp.content import to_content
from weft.serve.acp.request import SessionRequest
from weft.sessions.store import MemoryStore
from weft.testing.connection import ScriptedConnection, said
from weft.transports.messages import memory_pair


def any_of(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(tuple(words.split()))


scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
keys = any_of(
    "toolCallId title kind status content locations rawInput rawOutput messageId entries "
    "availableCommands used size cost currentModeId configOptions severity compactionId "
    "agentId args toolName type text path newText oldText"
)
kinds = any_of(
    "user_message_chunk agent_message_chunk agent_thought_chunk tool_call tool_call_update "
    "plan usage_update notice available_commands_update current_mode_update "
    "config_option_update session_info_update compaction_update x"
)
updates = st.builds(
    lambda kind, fields: {**fields, "sessionUpdate": kind}, kinds, st.dictionaries(keys, values, max_size=6)
)


@given(st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_some_frame(data: bytes) -> None:
    assert frames.decode(data) is not None


@given(st.lists(updates, max_size=6))
def test_any_updates_fold_and_what_they_open_is_closed(sent: list[dict[str, Any]]) -> None:
    fold = Fold(e.SessionInfo("s", "/w", "m"))
    events = [event for update in sent for event in fold.feed(decode_update(json.dumps(update).encode()))]
    events += fold.close()
    called = {event.use.id for event in events if isinstance(event, e.ToolCalled)}
    ended = [event.tool_use_id for event in events if isinstance(event, e.ToolEnded)]
    assert sorted(called) == sorted(set(ended))
    assert len(ended) == len(set(ended))


@given(values)
def test_any_block_of_a_prompt_becomes_content(value: object) -> None:
    raw = json.dumps(value).encode()
    assert decode_block(raw) is not None
    assert len(to_content((msgspec.Raw(raw),))) == 1


@given(
    st.sampled_from(
        ["session/request_permission", "elicitation/create", "_iflow/user/questions", "_iflow/plan/exit", "other"]
    ),
    st.dictionaries(
        any_of("sessionId toolCall options mode message requestedSchema questions plan url _meta"),
        values,
    ),
)
def test_any_request_is_an_ask_or_is_refused(method: str, params: dict[str, Any]) -> None:
    with suppress(msgspec.ValidationError):
        asks.to_ask(method, msgspec.Raw(json.dumps(params).encode()), "r", Fold(e.SessionInfo("s", "/w", "m")))


@given(st.lists(st.dictionaries(st.sampled_from(["id", "method", "params", "result", "error"]), values), max_size=4))
def test_the_draft_translates_or_passes_any_frame(sent: list[dict[str, Any]]) -> None:
    draft = Draft2()
    draft.from_client({"id": 1, "method": "initialize", "params": {"protocolVersion": 2}})
    for frame in sent:
        draft.from_client(frame)
        draft.from_agent(frame)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.builds(
            lambda method, params: {"jsonrpc": "2.0", "id": 5, "method": method, "params": params},
            any_of(
                "initialize authenticate session/new session/load session/prompt session/list "
                "session/set_mode session/set_config_option session/cancel session/close session/delete "
                "session/fork"
            ),
            st.dictionaries(any_of("sessionId cwd mcpServers prompt modeId configId value"), values),
        ),
        max_size=5,
    )
)
def test_any_requests_are_answered_and_the_agent_goes_on(sent: list[dict[str, Any]]) -> None:
    async def open_session(request: SessionRequest) -> Connection:
        return ScriptedConnection([said("hi")], info=e.SessionInfo(request.session_id, str(request.cwd), "m"))

    async def talk() -> None:
        here, there = memory_pair()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(AcpAgent(there, open_session, MemoryStore()).run)
                for frame in sent:
                    await here.send(json.dumps(frame))
                await here.send(
                    '{"jsonrpc":"2.0","id":"last","method":"session/new","params":{"cwd":"/","mcpServers":[]}}'
                )
                while json.loads(await here.receive() or "{}").get("id") != "last":
                    pass
                await here.close()

    anyio.run(talk)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    from weft.protocols.acp import session as s
    from weft.protocols.acp.frames import RpcError
    from weft.serve.acp.request import to_request

    try:
        to_request(s.OpenSession(cwd=str(tmp_path / "none"), mcp_servers=()), "id")
    except RpcError as error:
        assert error.code == -32602
    else:
        raise AssertionError("accepted")
