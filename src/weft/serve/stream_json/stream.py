"""Stream events in the raw shape of the Messages API, whoever the provider was."""

from collections.abc import Callable
from typing import assert_never

from weft.schema.content import Json
from weft.schema.messages import Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    Ping,
    Retry,
    StreamDone,
    StreamEvent,
    StreamFailed,
)
from weft.schema.wire import encode, to_builtins
from weft.serve.stream_json.results import usage_fields


def to_stream_event(event: StreamEvent) -> Json | None:
    """The API's event, or None for what is only ours."""
    match event:
        case MessageStart(id=message_id, model=model, usage=usage):
            message: Json = {
                "id": message_id,
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage_fields(usage),
            }
            return {"type": "message_start", "message": message}
        case BlockStart(index=index, block=block):
            return {"type": "content_block_start", "index": index, "content_block": to_builtins(block)}
        case BlockDelta(index=index, delta=delta):
            return {"type": "content_block_delta", "index": index, "delta": to_builtins(delta)}
        case BlockStop(index=index):
            return {"type": "content_block_stop", "index": index}
        case MessageDelta(stop_reason=reason, stop_sequence=sequence, usage=usage):
            stop: Json = {"stop_reason": reason, "stop_sequence": sequence}
            return {"type": "message_delta", "delta": stop, "usage": usage_fields(usage)}
        case StreamDone() | Ping() | Retry() | StreamFailed():
            return None
    assert_never(event)


class OpenStream:
    """What of the message that streams is still open, for the ends that a cut stream never gets."""

    def __init__(self) -> None:
        self._message = ""
        self._blocks: list[int] = []
        self._next = 0
        self._usage = Usage()

    def follow(self, event: StreamEvent, message_id: str) -> None:
        match event:
            case MessageStart(usage=usage):
                self._message, self._blocks, self._next, self._usage = message_id, [], 0, usage
            case BlockStart(index=index):
                self._blocks.append(index)
                self._next = index + 1
            case BlockStop(index=index) if index in self._blocks:
                self._blocks.remove(index)
            case _:
                pass

    def close(self) -> None:
        """It had its end."""
        self._message = ""

    def abandon(self) -> list[tuple[Json, Json]]:
        """The events that close what is open, each with the other fields of its line."""
        message, self._message = self._message, ""
        if not message:
            return []
        about: Json = {"api_message_id": message}
        found: list[tuple[Json, Json]] = [
            ({"type": "content_block_stop", "index": index}, about) for index in self._blocks
        ]
        stop: Json = {"stop_reason": None, "stop_sequence": None}
        ended: Json = {"type": "message_delta", "delta": stop, "usage": usage_fields(self._usage)}
        left: Json = {"api_message_id": message, "from_block_index": self._next}
        return [*found, (ended, about), ({"type": "message_stop"}, {**about, "abandoned_blocks": left})]


class PieceLines:
    """The lines of the pieces of blocks. All but the piece and the id of a line stays as it is while a message
    streams, so it is made once; our own structs of a piece have the API's shape."""

    def __init__(self, stamp: Callable[[], str]) -> None:
        self._stamp = stamp
        self._of = ("", "")
        self._tail = b""

    def line(self, piece: BlockDelta, message_id: str, session_id: str) -> bytes:
        if self._of != (message_id, session_id):
            self._of = (message_id, session_id)
            fields: Json = {"parent_tool_use_id": None, "api_message_id": message_id, "session_id": session_id}
            self._tail = b"," + encode(fields)[1:-1] + b',"uuid":"'
        return b"".join((_HEAD, encode(piece), self._tail, self._stamp().encode(), b'"}'))


_HEAD = b'{"type":"stream_event","event":'
