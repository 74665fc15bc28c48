"""The WebSocket server and client, on the loopback."""

import anyio
import pytest

from weft.errors import TransportError, UsageError
from weft.transports.websocket import Access, WebSocketClient, WebSocketServer, WebSocketStream, refusal

TOKEN = "0123456789abcdef"
LOCAL = [("Host", "127.0.0.1:80")]


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        ("/acp?token=" + TOKEN, LOCAL, None),
        ("/acp", [*LOCAL, ("Authorization", "Bearer " + TOKEN)], None),
        ("/acp", [*LOCAL, ("X-Key", TOKEN)], None),
        ("/acp", [("Host", "localhost"), ("X-Key", TOKEN)], None),
        ("/acp", [("Host", "[::1]:80"), ("X-Key", TOKEN)], None),
        ("/acp", LOCAL, 401),
        ("/acp?token=wrong", LOCAL, 401),
        ("/acp?token=" + TOKEN, [("Host", "evil.example")], 403),
        ("/acp?token=" + TOKEN, [("Host", "127.0.0.1.evil.example")], 403),
        ("/acp?token=" + TOKEN, [], 403),
        ("/acp?token=" + TOKEN, [*LOCAL, *LOCAL], 403),
        ("/acp?token=" + TOKEN, [*LOCAL, ("Origin", "http://evil.example")], 403),
        ("/acp?token=" + TOKEN, [*LOCAL, ("Origin", "http://localhost:3000")], None),
        ("/other?token=" + TOKEN, LOCAL, 404),
    ],
)
def test_a_socket_opens_only_for_the_right_host_origin_path_and_token(
    target: str, headers: list[tuple[str, str]], status: int | None
) -> None:
    access = Access(
        token=TOKEN, headers=("authorization", "x-key"), origins=("http://localhost:3000",), paths=("/acp",)
    )
    refused = refusal(target, headers, access)
    assert (refused.status if refused else None) == status


async def echo(stream: WebSocketStream) -> None:
    while (message := await stream.receive()) is not None:
        await stream.send(message)


@pytest.mark.parametrize("deflate", [True, False])
async def test_messages_come_back_whole_and_in_order(deflate: bool) -> None:
    with anyio.fail_after(30):
        async with WebSocketServer(echo, access=Access(token=TOKEN), deflate=deflate) as server:
            url = f"ws://127.0.0.1:{server.port}/acp?token={TOKEN}"
            async with WebSocketClient(url, deflate=deflate) as client:
                for number in range(50):
                    await client.send(f"{number} " + "x" * 2000)
                assert [str(await client.receive()).split()[0] for _ in range(50)] == [str(n) for n in range(50)]
                assert await client.ping(timeout=2)


async def test_a_wrong_token_never_reaches_the_handler() -> None:
    with anyio.fail_after(30):
        async with WebSocketServer(echo, access=Access(token=TOKEN)) as server:
            with pytest.raises(TransportError, match="401"):
                async with WebSocketClient(f"ws://127.0.0.1:{server.port}/acp?token=nope"):
                    raise AssertionError("opened")


async def test_a_message_over_the_limit_closes_the_socket() -> None:
    with anyio.fail_after(30):
        async with WebSocketServer(echo, access=Access(token=TOKEN), max_size=1000) as server:
            async with WebSocketClient(f"ws://127.0.0.1:{server.port}/?token={TOKEN}") as client:
                await client.send("x" * 2000)
                assert await client.receive() is None


async def test_a_port_that_is_taken_is_said_with_what_to_do() -> None:
    async with WebSocketServer(echo, access=Access(token=TOKEN)) as server:
        with pytest.raises(TransportError) as caught:
            async with WebSocketServer(echo, access=Access(token=TOKEN), port=server.port):
                raise AssertionError("opened")
        assert caught.value.hint


def test_a_short_token_is_refused() -> None:
    with pytest.raises(UsageError):
        WebSocketServer(echo, access=Access(token="short"))
