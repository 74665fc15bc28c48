"""A server on loopback that speaks OpenAI's chat completions from a script; `python -m weft.testing.fake_openai`."""

from collections.abc import Callable, Mapping
from typing import cast

from weft.protocols.anthropic_server import ServedRequest
from weft.protocols.openai_server import ChatEncoder, decode_request, encode_error, encode_reply
from weft.schema.content import Json
from weft.schema.messages import Reply
from weft.schema.stream import StreamEvent, StreamFailed
from weft.testing.fake_server import Answer, FakeServer, Recorded, fail, serve_from_command_line, web_page


class FakeOpenAI(FakeServer):
    """A fake of the OpenAI chat completions API."""

    def env(self) -> dict[str, str]:
        """The variables that send a program here."""
        return {"OPENAI_BASE_URL": self.url + "/v1", "OPENAI_API_KEY": self._key or "sk-fake"}

    def _is_question(self, path: str) -> bool:
        return path == "/v1/chat/completions"

    def _decode(self, body: bytes, headers: Mapping[str, str]) -> ServedRequest:
        return decode_request(body)

    def _encoder(self, body: Json) -> Callable[[StreamEvent], bytes]:
        options = body.get("stream_options")
        wanted = isinstance(options, dict) and bool(cast(Json, options).get("include_usage"))
        return ChatEncoder(include_usage=wanted).encode

    def _whole(self, reply: Reply) -> bytes:
        return encode_reply(reply)

    def _error(self, failed: StreamFailed) -> tuple[int, bytes]:
        return encode_error(failed)

    def _rest(self, path: str, body: Json) -> object:
        if path == "/v1/models":
            return {"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]}
        return None


__all__ = ["Answer", "FakeOpenAI", "Recorded", "fail", "web_page"]

if __name__ == "__main__":
    serve_from_command_line(FakeOpenAI, "fake_openai")
