"""The editor's end of a conversation: MCP's lifecycle, and what strangers send."""

import json

import pytest

from weft.protocols.ide.catalogue import SPECS, CloseTab, OpenDiff
from weft.protocols.ide.guest import Finished, Guest, MentionMade, Selected, ToolListStale
from weft.protocols.ide.guest import Send as GuestSend
from weft.protocols.ide.host import Attached, Called, Cancelled, Host, Send
from weft.protocols.ide.values import Mention, Selection


def frame(method: str, params: object = None, id: object = None) -> str:
    message = {"jsonrpc": "2.0", "method": method}
    return json.dumps(
        {**message, **({"params": params} if params is not None else {}), **({"id": id} if id is not None else {})}
    )


def started() -> Host:
    host = Host(lambda: SPECS)
    host.receive(frame("initialize", {"protocolVersion": "2025-11-25", "clientInfo": {"name": "x"}}, 0))
    return host


def only(events) -> dict:
    (event,) = events
    assert isinstance(event, Send)
    return event.message


def test_the_attach_sequence_of_the_real_command() -> None:
    host = Host(lambda: SPECS)
    answer = only(host.receive(frame("initialize", {"protocolVersion": "2025-11-25"}, 0)))
    assert answer["result"]["protocolVersion"] == "2025-11-25" and answer["result"]["serverInfo"]["name"] == "weft"
    assert host.receive(frame("notifications/initialized")) == []
    assert host.receive(frame("ide_connected", {"pid": 7})) == [Attached()] and host.agent_pid == 7
    assert len(only(host.receive(frame("tools/list", id=1)))["result"]["tools"]) == 12


def test_an_agent_that_never_says_ide_connected_is_attached_when_it_lists_tools() -> None:
    assert started().receive(frame("tools/list", id=1))[1] == Attached()


def test_tools_come_after_initialize_but_ping_may_come_first() -> None:
    host = Host(lambda: SPECS)
    assert only(host.receive(frame("tools/list", id=1)))["error"]["code"] == -32002
    assert only(host.receive(frame("ping", id=2)))["result"] == {}


def test_a_call_is_decoded_and_may_be_cancelled() -> None:
    host = started()
    arguments = {"new_file_path": "/f", "new_file_contents": "x", "tab_name": "t", "later": 1}
    events = host.receive(frame("tools/call", {"name": "openDiff", "arguments": arguments}, 5))
    assert events == [
        Attached(),
        Called(5, "openDiff", OpenDiff(new_file_path="/f", new_file_contents="x", tab_name="t")),
    ]
    assert host.receive(frame("notifications/cancelled", {"requestId": 5})) == [Cancelled(5)]
    assert host.receive(frame("notifications/cancelled", {"requestId": 5})) == []


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "nothing"}, -32602),
        ({"name": 3}, -32602),
        ({"name": "openFile"}, -32602),
        ({"name": "openFile", "arguments": {"filePath": 3}}, -32602),
        ({"name": "openFile", "arguments": []}, -32602),
    ],
)
def test_a_bad_call_is_refused(params: object, code: int) -> None:
    host = started()
    host.receive(frame("ide_connected", {"pid": 1}))
    assert only(host.receive(frame("tools/call", params, 5)))["error"]["code"] == code


@pytest.mark.parametrize(
    "data",
    [
        "",
        "nonsense",
        "[]",
        "3",
        "null",
        "{}",
        "[" * 100_000,
        '{"id": 1, "method": NaN}',
        b"\xff\xfe",
        '{"method": "x", "id": {}}',
    ],
)
def test_strange_frames_are_refused_and_the_conversation_goes_on(data: str | bytes) -> None:
    host = started()
    for event in host.receive(data):
        assert isinstance(event, Send) and "error" in event.message
    assert only(host.receive(frame("ping", id=2)))["result"] == {}


def test_an_id_that_is_in_use_is_refused_and_so_is_a_flood() -> None:
    host = started()
    host.receive(frame("ide_connected", {"pid": 1}))
    call = {"name": "close_tab", "arguments": {"tab_name": "t"}}
    assert host.receive(frame("tools/call", call, 9)) == [Called(9, "close_tab", CloseTab(tab_name="t"))]
    assert only(host.receive(frame("tools/call", call, 9)))["error"]["code"] == -32600
    for number in range(10, 10 + 255):
        host.receive(frame("tools/call", call, number))
    assert "error" in only(host.receive(frame("tools/call", call, 9999)))


def test_unknown_methods_are_told_so_and_unknown_notifications_are_passed_over() -> None:
    host = started()
    assert only(host.receive(frame("no/such", id=3)))["error"]["code"] == -32601
    assert host.receive(frame("log_event", {"eventName": "x"})) == []


def test_the_guest_answers_what_editors_ask_and_hears_what_they_say() -> None:
    guest = Guest(cwd="/ws", folder="/ws", pid=1)
    (pong,) = guest.receive(frame("ping", id="a"))
    assert isinstance(pong, GuestSend) and pong.message["result"] == {}
    (roots,) = guest.receive(frame("roots/list", id="b"))
    assert isinstance(roots, GuestSend) and roots.message["result"] == {"roots": [{"uri": "file:///ws"}]}
    assert guest.receive(frame("selection_changed", {"filePath": "/f"})) == [Selected(Selection(path="/f"))]
    assert guest.receive(frame("at_mentioned", {"filePath": "f"})) == [MentionMade(Mention(path="/ws/f"))]
    assert guest.receive(frame("notifications/tools/list_changed")) == [ToolListStale()]
    assert guest.receive(frame("diagnostics_changed", {})) == []


def test_a_late_answer_to_a_call_that_was_given_up_is_dropped() -> None:
    guest = Guest(cwd="/ws", folder="/ws", pid=1)
    id, _ = guest.call("openDiff", {})
    guest.give_up(id)
    assert guest.receive(json.dumps({"jsonrpc": "2.0", "id": id, "result": {}})) == []
    other, _ = guest.call("openFile", {})
    error = {"code": -32000, "message": "no"}
    assert guest.receive(json.dumps({"jsonrpc": "2.0", "id": other, "error": error})) == [Finished(other, {}, "no")]
