"""Lines on a byte stream."""

import json

import anyio
from hypothesis import given
from hypothesis import strategies as st

from weft.transports.messages import LineStream

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.lists(values), st.data())
def test_any_chunking_of_the_bytes_yields_the_same_messages(sent: list[object], data: st.DataObject) -> None:
    whole = b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in sent)
    chunks: list[bytes] = []
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        chunks.append(whole[:size])
        whole = whole[size:]
    chunks.append(b"")

    async def read() -> bytes:
        return chunks.pop(0)

    async def write(_: bytes) -> None:
        return None

    async def close() -> None:
        return None

    async def collect() -> list[object]:
        stream = LineStream(read, write, close)
        found: list[object] = []
        while (line := await stream.receive()) is not None:
            found.append(json.loads(line))
        return found

    assert anyio.run(collect) == sent
