import pytest

from weft.errors import LocalProtocolError
from weft.protocols.jsonrpc import Invalid, Notification, Peer, Request, Response, RpcError


def refusal(incoming: object) -> tuple[object, object]:
    assert isinstance(incoming, Invalid) and incoming.reply is not None
    error = incoming.reply["error"]
    assert isinstance(error, dict)
    return incoming.reply["id"], error["code"]


def test_a_request_and_its_answer_meet_by_id() -> None:
    us, them = Peer(), Peer()
    id, message = us.request("add", {"a": 1})
    assert message == {"jsonrpc": "2.0", "id": 0, "method": "add", "params": {"a": 1}}
    assert them.receive(message) == Request(0, "add", {"a": 1})
    assert us.receive(them.result(id, 3)) == Response(0, "add", 3)
    assert us.waiting == {} and them.open == {}


@pytest.mark.parametrize("id", [0, 7, -1, "", "0", "a-b"])
def test_ids_of_both_kinds_come_back_as_they_were(id: int | str) -> None:
    peer = Peer()
    assert peer.receive({"jsonrpc": "2.0", "id": id, "method": "m"}) == Request(id, "m")
    assert peer.result(id)["id"] == id


def test_a_number_and_the_same_digits_as_a_string_are_different_ids() -> None:
    peer = Peer()
    peer.receive({"jsonrpc": "2.0", "id": 1, "method": "a"})
    assert isinstance(peer.receive({"jsonrpc": "2.0", "id": "1", "method": "b"}), Request)
    assert peer.open == {1: "a", "1": "b"}


def test_an_answer_with_a_float_of_the_same_number_is_taken() -> None:
    peer = Peer()
    peer.request("a")
    assert peer.receive({"jsonrpc": "2.0", "id": 0.0, "result": {}}) == Response(0, "a", {})


def test_a_notification_needs_no_answer() -> None:
    assert Peer().receive({"jsonrpc": "2.0", "method": "n", "params": [1]}) == Notification("n", [1])


@pytest.mark.parametrize(
    ("value", "id", "code"),
    [
        ([], None, -32600),
        ([{"jsonrpc": "2.0", "id": 1, "method": "m"}], None, -32600),
        ("text", None, -32600),
        ({"id": 1, "method": "m"}, 1, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "m"}, 1, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "m"}, None, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "m"}, None, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "m"}, None, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "m", "params": 3}, 1, -32600),
        ({"jsonrpc": "2.0", "id": 1}, 1, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "absent"}, 1, -32601),
    ],
)
def test_what_breaks_the_protocol_has_an_answer_ready(value: object, id: object, code: int) -> None:
    assert refusal(Peer(methods={"m"}).receive(value)) == (id, code)


def test_a_batch_is_refused_with_a_sentence() -> None:
    incoming = Peer().receive([{"jsonrpc": "2.0", "method": "m"}])
    assert isinstance(incoming, Invalid) and "by itself" in incoming.reason


def test_text_that_is_not_json_or_too_large_is_refused() -> None:
    assert refusal(Peer().receive_bytes(b"{")) == (None, -32700)
    assert refusal(Peer().receive_bytes(b"\xff\xfe")) == (None, -32700)
    assert refusal(Peer(max_size=4).receive_bytes(b'{"jsonrpc":"2.0"}')) == (None, -32600)


def test_an_id_in_use_is_refused_and_the_open_request_stays() -> None:
    peer = Peer()
    peer.receive({"jsonrpc": "2.0", "id": 5, "method": "a"})
    assert refusal(peer.receive({"jsonrpc": "2.0", "id": 5, "method": "b"})) == (5, -32600)
    assert peer.open == {5: "a"}


def test_answering_twice_is_our_mistake() -> None:
    peer = Peer()
    peer.receive({"jsonrpc": "2.0", "id": 5, "method": "a"})
    peer.result(5)
    with pytest.raises(LocalProtocolError):
        peer.error(5, -1, "again")


def test_an_answer_to_nothing_and_a_late_one_are_told_apart() -> None:
    peer = Peer()
    assert isinstance(peer.receive({"jsonrpc": "2.0", "id": 9, "result": 1}), Invalid)
    id, _ = peer.request("slow")
    peer.give_up(id)
    late = peer.receive({"jsonrpc": "2.0", "id": id, "result": 1})
    assert isinstance(late, Invalid) and late.reply is None and "late" in late.reason


def test_a_withdrawn_request_is_no_longer_open() -> None:
    peer = Peer()
    peer.receive({"jsonrpc": "2.0", "id": 5, "method": "a"})
    assert peer.drop(5) and not peer.drop(5)


def test_errors_of_any_shape_become_an_error() -> None:
    peer = Peer()
    for error, expected in [
        ({"code": -32000, "message": "no", "data": [1]}, RpcError(-32000, "no", [1])),
        ("text", RpcError(-32603, "text")),
        ({}, RpcError(-32603, "no message")),
    ]:
        id, _ = peer.request("m")
        assert peer.receive({"jsonrpc": "2.0", "id": id, "error": error}) == Response(id, "m", error=expected)


def test_closing_says_which_answers_will_never_come() -> None:
    peer = Peer()
    peer.request("a")
    peer.request("b")
    assert peer.close() == [0, 1]


def test_too_many_open_requests_are_refused() -> None:
    peer = Peer(max_open=1)
    peer.receive({"jsonrpc": "2.0", "id": 1, "method": "a"})
    assert refusal(peer.receive({"jsonrpc": "2.0", "id": 2, "method": "a"})) == (2, -32603)


def test_a_lenient_peer_takes_messages_without_a_version() -> None:
    assert Peer(lenient=True).receive({"id": 1, "method": "m"}) == Request(1, "m")
