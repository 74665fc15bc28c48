"""Any records, any cut, any crash: the log is read, and the history is valid."""

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests import sessions_records as any_
from weft.schema.content import Content, ToolResult, ToolUse
from weft.schema.messages import Message
from weft.schema.records import AssistantRecord, MarkRecord, Record
from weft.sessions import codec, files, resume
from weft.sessions.store import FileLog


@given(any_.records)
def test_encode_then_decode_is_identity(record: Record) -> None:
    line = codec.encode_record(record)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert codec.decode_line(line[:-1]) == record


@given(st.integers(2, 4).flatmap(lambda n: any_.assistants(parts=n)))
def test_a_reply_of_many_blocks_is_one_chain_that_ends_in_its_uuid(record: AssistantRecord) -> None:
    parts = [codec.decode_line(line) for line in codec.encode_record(record).splitlines()]
    assert all(isinstance(part, AssistantRecord) for part in parts)
    replies = [part for part in parts if isinstance(part, AssistantRecord)]
    assert tuple(block for part in replies for block in part.reply.content) == record.reply.content
    assert replies[0].origin.parent_uuid == record.origin.parent_uuid
    assert [part.origin.parent_uuid for part in replies[1:]] == [part.origin.uuid for part in replies[:-1]]
    assert replies[-1].origin.uuid == record.origin.uuid


@given(st.lists(any_.records, max_size=5), st.data())
def test_any_cut_of_the_file_is_a_prefix_of_its_records(records: Sequence[Record], data: st.DataObject) -> None:
    whole = b"".join(codec.encode_record(record) for record in records)
    cut = data.draw(st.integers(0, len(whole)))
    read, problems = files.decode(whole[:cut])
    assert read == list(records)[: len(read)]
    assert len(problems) <= 1
    # Only the line that was cut may be missing.
    assert len(read) >= whole[:cut].count(b"\n")


@settings(max_examples=40)
@given(st.data())
def test_after_a_kill_at_any_byte_the_next_record_stands_on_a_line_of_its_own(
    data: st.DataObject,
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        whole = any_.written(path, any_.with_tools())
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        before = files.decode(path.read_bytes())[0]
        log = FileLog("s", path)
        mark = MarkRecord(kind="tag", session_id="s", data={"tag": "after"})
        log.append(mark)
        log.close()
        after = files.decode(path.read_bytes())[0]
        assert after == [*before, mark]
        assert path.read_bytes().startswith(whole[:cut])


def check_valid(history: Sequence[Message]) -> None:
    open_uses: list[str] = []
    for index, message in enumerate(history):
        assert message.content, "an empty message"
        assert message.role == ("user" if index % 2 == 0 else "assistant")
        results = [block.tool_use_id for block in message.content if isinstance(block, ToolResult)]
        assert sorted(results) == sorted(open_uses)
        open_uses = [use.id for use in message.tool_uses]
    assert not open_uses


@given(st.lists(any_.records, max_size=8))
def test_any_records_give_a_valid_history(records: Sequence[Record]) -> None:
    check_valid(resume.rebuild("s", records).history)


conversation_blocks: st.SearchStrategy[Content] = st.lists(
    st.one_of(
        st.builds(ToolUse, st.sampled_from("abcd"), st.just("Read"), st.just({})),
        st.builds(ToolResult, st.sampled_from("abcd"), any_.texts),
        any_.blocks,
    ),
    max_size=4,
).map(tuple)


@given(st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), conversation_blocks), max_size=8))
def test_repair_makes_any_messages_valid_and_leaves_valid_ones_alone(messages: Sequence[Message]) -> None:
    fixed = resume.repair(messages)
    check_valid(fixed)
    assert resume.repair(fixed) == fixed
    assert resume.mended(messages) == fixed
    assert resume.mended(fixed) == fixed


@given(st.data())
def test_a_conversation_cut_at_any_byte_resumes_valid(data: st.DataObject) -> None:
    whole = b"".join(codec.encode_record(record) for record in any_.with_tools().records)
    cut = data.draw(st.integers(0, len(whole)))
    resumed = resume.rebuild("s", files.decode(whole[:cut])[0])
    check_valid(resumed.history)
    if cut == len(whole):
        assert len(resumed.history) == 6
