"""Records for tests: a conversation that looks like a real one, and strategies for any."""

import uuid
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from weft.schema.content import Content, Image, Text, Thinking, ToolResult, ToolUse, Unknown, UrlSource
from weft.schema.messages import Message, Reply, Usage
from weft.schema.records import (
    AssistantRecord,
    AttachmentRecord,
    MarkRecord,
    Origin,
    ProgressRecord,
    Record,
    SystemRecord,
    UserRecord,
)

SESSION = "0f0e7f0a-6a33-4f0e-9d61-0c4f5d1f6a01"


class Talk:
    """Writes a conversation record by record, each the child of the one before."""

    def __init__(self, session_id: str = SESSION, cwd: str = "/project") -> None:
        self.records: list[Record] = []
        self.tip: str | None = None
        self._session, self._cwd = session_id, cwd

    def _origin(self) -> Origin:
        number = len(self.records)
        origin = Origin(
            uuid=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._session}{number}")),
            parent_uuid=self.tip,
            session_id=self._session,
            timestamp=f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.000Z",
            cwd=self._cwd,
            version="0.1.0",
            git_branch="main",
        )
        self.tip = origin.uuid
        return origin

    def user(self, *content: str | Text | ToolResult, **flags: bool) -> UserRecord:
        blocks: Content = tuple(Text(part) if isinstance(part, str) else part for part in content)
        record = UserRecord(origin=self._origin(), message=Message("user", blocks), **flags)
        self.records.append(record)
        return record

    def assistant(
        self, *content: str | Text | ToolUse, model: str = "model-a", usage: Usage | None = None
    ) -> AssistantRecord:
        blocks: Content = tuple(Text(part) if isinstance(part, str) else part for part in content)
        origin = self._origin()
        reply = Reply(f"msg_{origin.uuid}", model, blocks, "end_turn", usage=usage or Usage(10, 5))
        record = AssistantRecord(origin=origin, reply=reply)
        self.records.append(record)
        return record

    def system(self, subtype: str) -> SystemRecord:
        logical, self.tip = self.tip, None
        record = SystemRecord(origin=self._origin(), subtype=subtype, logical_parent=logical)
        self.records.append(record)
        return record

    def mark(self, kind: str, **data: object) -> MarkRecord:
        record = MarkRecord(kind=kind, session_id=self._session, data=dict(data))
        self.records.append(record)
        return record

    def write(self, append: Callable[[Record], None]) -> None:
        for record in self.records:
            append(record)


def with_tools() -> Talk:
    """A prompt, two parallel tools, an answer, and a second prompt."""
    talk = Talk()
    talk.user("fix the bug")
    talk.assistant("I look.", ToolUse("t1", "Read", {"file_path": "/a"}), ToolUse("t2", "Read", {"file_path": "/b"}))
    talk.user(ToolResult("t1", "one"), ToolResult("t2", "two"))
    talk.assistant("Done.")
    talk.user("thanks")
    talk.assistant("You are welcome.")
    return talk


def written(path: Path, talk: Talk) -> bytes:
    from weft.sessions import codec

    data = b"".join(codec.encode_record(record) for record in talk.records)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return data


# --- any record at all --------------------------------------------------------------------------------------

texts = st.text(max_size=40)
names = st.text("abcdefgh0123456789-", min_size=1, max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(names, json_values, max_size=3)
blocks = st.one_of(
    st.builds(Text, texts),
    st.builds(Thinking, texts, texts),
    st.builds(ToolUse, names, names, objects),
    st.builds(ToolResult, names, texts, st.booleans()),
    st.builds(ToolResult, names, st.lists(st.builds(Text, texts), max_size=2).map(tuple)),
    st.builds(Image, st.builds(UrlSource, texts)),
    names.map(lambda name: Unknown(b'{"type":"x-%s","n":1}' % name.encode())),
)
contents = st.lists(blocks, max_size=3).map(tuple)
origins = st.builds(
    Origin,
    uuid=names,
    parent_uuid=st.none() | names,
    session_id=texts,
    timestamp=texts,
    cwd=texts,
    version=texts,
    git_branch=texts,
    is_sidechain=st.booleans(),
    agent_id=st.none() | names,
)
counts = st.integers(0, 10**9)
usages = st.builds(Usage, counts, counts, counts, counts, counts, counts)
users = st.builds(
    UserRecord,
    origin=origins,
    message=contents.map(lambda content: Message("user", content)),
    meta=st.booleans(),
    summary=st.booleans(),
    tool_use_result=json_values,
    source_assistant=st.none() | names,
    prompt_id=st.none() | names,
    permission_mode=st.none() | names,
    transcript_only=st.booleans(),
)


@st.composite
def assistants(draw: st.DrawFn, *, parts: int = 1) -> AssistantRecord:
    request_id = draw(st.none() | names)
    reply = Reply(
        id=draw(names),
        model=draw(names),
        content=draw(st.lists(blocks, min_size=parts, max_size=parts).map(tuple)),
        stop_reason=draw(st.none() | names),
        stop_sequence=draw(st.none() | texts),
        usage=draw(usages),
        request_id=request_id,
        diagnostics=draw(st.none() | objects),
    )
    return AssistantRecord(
        origin=draw(origins),
        reply=reply,
        cost=draw(st.none() | st.floats(0, 100)),
        duration=draw(st.none() | st.integers(0, 10**6).map(lambda ms: ms / 1000)),
        request_id=request_id,
        error=draw(st.none() | st.just("overloaded")),
    )


records: st.SearchStrategy[Record] = st.one_of(
    users,
    assistants(),
    st.builds(AttachmentRecord, origin=origins, attachment=objects),
    st.builds(
        ProgressRecord, origin=origins, tool_use_id=names, parent_tool_use_id=st.none() | names, data=json_values
    ),
    st.builds(
        SystemRecord,
        origin=origins,
        subtype=names,
        content=texts,
        data=st.dictionaries(names.map(lambda n: "x" + n), json_values, max_size=2),
        logical_parent=st.none() | names,
    ),
    st.builds(MarkRecord, kind=st.sampled_from(["tag", "mode", "custom-title"]), session_id=texts, data=objects),
)
