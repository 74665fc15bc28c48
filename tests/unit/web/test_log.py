from weft.schema.content import Text
from weft.schema.events import AgentEvent, MessageDone, PromptAdded
from weft.schema.messages import Reply
from weft.surfaces.web import stream as s
from weft.surfaces.web.log import RECENT, ChunkLog
from weft.surfaces.web.past import Past


def test_the_short_form_puts_the_pieces_of_a_block_together() -> None:
    log = ChunkLog()
    log.add(s.UserMessage(id="u", text="hi"))
    log.add(s.TextChunk(id="b", html=("<p>1</p>",), tail="<p>2"))
    log.add(s.TextChunk(id="b", text=" more"))
    log.add(s.TextChunk(id="b", html=("<p>2 more</p>",), tail="", done=True))
    chunks, older = log.tail()
    assert older is None
    assert chunks[1] == s.TextChunk(id="b", html=("<p>1</p><p>2 more</p>",), tail="", done=True)


def test_an_open_block_keeps_its_tail_and_what_was_added_to_it() -> None:
    log = ChunkLog()
    for _ in range(100):
        log.add(s.TextChunk(id="b", text="x"))
    chunks, _ = log.tail()
    assert "".join(c.text for c in chunks if isinstance(c, s.TextChunk)) == "x" * 100


def test_a_tool_that_ended_keeps_its_start_and_end_only() -> None:
    log = ChunkLog()
    for chunk in (s.ToolStart(id="t", name="Bash", state="streaming"), s.ToolStart(id="t", name="Bash")):
        log.add(chunk)
    for _ in range(200):
        log.add(s.ToolOutput(id="t", text="y"))
    assert sum(len(c.text) for c in log.tail()[0] if isinstance(c, s.ToolOutput)) == 200
    log.add(s.ToolEnd(id="t"))
    assert log.tail()[0] == (s.ToolStart(id="t", name="Bash"), s.ToolEnd(id="t"))


def test_a_page_that_comes_back_gets_what_it_missed_or_nothing_known() -> None:
    log = ChunkLog()
    for number in range(RECENT + 10):
        log.keep(log.add(s.NoticeChunk(text=str(number))), str(number))
    assert log.since(log.seq) == []
    assert log.since(log.seq - 2) == [str(RECENT + 8), str(RECENT + 9)]
    assert log.since(3) is None
    assert log.since(log.seq + 5) is None


def test_long_conversations_are_given_from_the_end_in_whole_turns() -> None:
    log = ChunkLog()
    for number in range(300):
        log.add(s.UserMessage(id=f"u{number}", text="q"))
        log.add(s.TextChunk(id=f"b{number}", html=("<p>a</p>",), tail="", done=True))
    chunks, older = log.tail()
    seen = len(chunks)
    assert isinstance(chunks[0], s.UserMessage)
    while older is not None:
        chunks, older = log.before(older)
        assert isinstance(chunks[0], s.UserMessage)
        seen += len(chunks)
    assert seen == 600


def test_open_requests_are_known_until_they_are_closed() -> None:
    log = ChunkLog()
    log.add(s.ToolConfirmation(request_id="r", tool_id="t", name="Bash", input={}))
    assert list(log.asks) == ["r"]
    log.add(s.AskClosed(request_id="r"))
    assert not log.asks
    assert log.tail()[0] == ()


def test_going_back_forgets_what_came_after() -> None:
    log = ChunkLog()
    log.add(s.UserMessage(id="a", text="one"))
    log.add(s.UserMessage(id="b", text="two"))
    log.add(s.TextChunk(id="x", html=("<p/>",)))
    assert log.user_text("b") == "two"
    log.cut("b")
    assert log.tail()[0] == (s.UserMessage(id="a", text="one"),)


def test_what_was_said_before_goes_in_front_and_comes_in_parts_of_whole_turns() -> None:
    events: list[AgentEvent] = []
    for number in range(100):
        events.append(PromptAdded(id=f"u{number}", content=(Text("q"),), replay=True))
        events.append(MessageDone(reply=Reply("same", "x", (Text(f"answer {number}"),)), replay=True))
    past = Past(events)
    log = ChunkLog()
    for chunk in past.take():
        log.add(chunk)
    while past:
        assert isinstance(log.prepend(past.take())[0], s.UserMessage)
    chunks, older = log.tail()
    while older is not None:
        more, older = log.before(older)
        chunks = (*more, *chunks)
    said = [chunk.html[0] for chunk in chunks if isinstance(chunk, s.TextChunk)]
    assert said == [f"<p>answer {number}</p>\n" for number in range(100)]
