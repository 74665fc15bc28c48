"""What the proxy must know of a request's body: its model and whether the answer streams. The rest stays as it is."""

from typing import Final

import msgspec

from weft.errors import RemoteProtocolError

_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Head(msgspec.Struct):
    model: str = ""
    stream: bool | None = None


_head: Final = msgspec.json.Decoder(_Head)


class Question(msgspec.Struct, frozen=True):
    model: str
    stream: bool
    body: bytes


def read_question(body: bytes) -> Question:
    """
    Raises:
        RemoteProtocolError: it is not a JSON object, or its model is no string.
    """
    try:
        head = _head.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"the body is not a request: {error}") from None
    if not head.model:
        raise RemoteProtocolError("the request names no model")
    return Question(head.model, bool(head.stream), body)


def with_model(question: Question, model: str) -> Question:
    """Asks `model` and no other: there is one `model` in the body, in one spelling, whatever it had before. Servers
    differ in which of two they take, and some read names without regard to case. All other values stay byte for byte.

    Raises:
        RemoteProtocolError: it names several models at once.
    """
    try:
        fields = _fields.decode(question.body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"the body is not a request: {error}") from None
    if any(name.lower() == "models" for name in fields):
        raise RemoteProtocolError("a request for one of several models is not taken here")
    kept = {name: value for name, value in fields.items() if name.lower() != "model"}
    body = msgspec.json.encode({"model": model, **kept})
    return Question(model, question.stream, body)
