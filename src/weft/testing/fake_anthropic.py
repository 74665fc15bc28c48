"""A server on loopback that speaks the Anthropic Messages API from a script.

    async with FakeAnthropic(["Hello", fail(529, "overloaded"), call("Read", file_path="a")]) as server:
        env = server.env()

or, for another process: `python -m weft.testing.fake_anthropic --script replies.json`.
"""

from collections.abc import Callable, Mapping

from weft.protocols.anthropic_server import (
    MessagesEncoder,
    ServedRequest,
    decode_request,
    encode_error,
    encode_reply,
)
from weft.schema.content import Json
from weft.schema.messages import Reply
from weft.schema.stream import StreamEvent, StreamFailed
from weft.schema.wire import encode
from weft.testing.fake_server import Answer, FakeServer, Recorded, fail, serve_from_command_line, web_page


class FakeAnthropic(FakeServer):
    """A fake of the Anthropic Messages API."""

    def env(self) -> dict[str, str]:
        """The variables that send a program here."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": self._key or "sk-fake"}

    def _is_question(self, path: str) -> bool:
        return path == "/v1/messages"

    def _decode(self, body: bytes, headers: Mapping[str, str]) -> ServedRequest:
        return decode_request(body, betas=headers.get("anthropic-beta", ""))

    def _encoder(self, body: Json) -> Callable[[StreamEvent], bytes]:
        return MessagesEncoder().encode

    def _whole(self, reply: Reply) -> bytes:
        return encode_reply(reply)

    def _error(self, failed: StreamFailed) -> tuple[int, bytes]:
        return encode_error(failed)

    def _rest(self, path: str, body: Json) -> object:
        if path == "/v1/messages/count_tokens":
            return {"input_tokens": len(encode(body)) // 4}
        if path == "/v1/models":
            return {"data": [{"type": "model", "id": name, "display_name": name} for name in self._models]}
        return None


__all__ = ["Answer", "FakeAnthropic", "Recorded", "fail", "web_page"]

if __name__ == "__main__":
    serve_from_command_line(FakeAnthropic, "fake_anthropic")
