from weft.schema import events as e
from weft.schema.content import Text, Thinking, ToolUse
from weft.schema.display import DiffView
from weft.schema.messages import Reply
from weft.schema.stream import BlockDelta, TextDelta
from weft.surfaces.web import stream as s
from weft.surfaces.web.weave import Weaver
from weft.testing.connection import called, said


def woven(events: list[e.AgentEvent], *, flush_each: bool = False) -> list[s.StreamChunk]:
    weaver = Weaver(clock=lambda: 0.0)
    out: list[s.StreamChunk] = []
    for event in events:
        out += weaver.weave(event)
        if flush_each:
            out += weaver.flush()
    return out + weaver.flush()


def html_of(chunks: list[s.StreamChunk]) -> str:
    return "".join(part for chunk in chunks if isinstance(chunk, s.TextChunk) for part in chunk.html)


def test_streamed_text_is_said_once_though_it_also_comes_whole() -> None:
    assert html_of(woven(said("Hello **you**\n\nBye"))) == "<p>Hello <strong>you</strong></p>\n<p>Bye</p>\n"


def test_text_that_only_comes_whole_is_said() -> None:
    done = e.MessageDone(reply=Reply("m", "x", (Text("Hi"),)), replay=True)
    assert html_of(woven([done])) == "<p>Hi</p>\n"


def test_think_tags_cut_anywhere_become_thinking() -> None:
    chunks = woven(said("<think>why not</think>Because.", chunk=3), flush_each=True)
    kinds = [type(chunk).__name__ for chunk in chunks]
    assert kinds[0] == "ThinkingStart"
    assert "".join(c.text for c in chunks if isinstance(c, s.ThinkingContent)) == "why not"
    assert html_of(chunks) == "<p>Because.</p>\n"


def test_thinking_blocks_are_said_once() -> None:
    chunks = woven([*said("Yes", thinking="let me see"), e.MessageDone(reply=Reply("z", "x", (Thinking("more"),)))])
    assert "".join(c.text for c in chunks if isinstance(c, s.ThinkingContent)) == "let me seemore"
    assert sum(isinstance(c, s.ThinkingEnd) for c in chunks) == 2


def test_a_retry_names_the_text_that_is_void() -> None:
    weaver = Weaver()
    weaver.weave(e.Streamed(message_id="m", delta=BlockDelta(0, TextDelta("half"))))
    weaver.flush()
    out = weaver.weave(e.Retrying(attempt=1, max_retries=2, delay=0, error="cut"))
    assert isinstance(out[0], s.RetryChunk)
    assert out[0].discard == ("m:0.0",)


def test_output_of_a_tool_is_gathered_until_it_is_flushed() -> None:
    chunks = woven(called("Bash", {"command": "ls"}, output="a\nb\nc\n"))
    assert [c.text for c in chunks if isinstance(c, s.ToolOutput)] == ["a\nb\nc\n"]
    assert isinstance(chunks[-1], s.ToolEnd)


def test_a_confirmation_has_a_preview_whose_hunks_can_be_chosen() -> None:
    before = "".join(f"line {n}\n" for n in range(40))
    after = before.replace("line 3\n", "LINE 3\n").replace("line 30\n", "LINE 30\n")
    use = ToolUse("t", "Write", {"file_path": "a.py", "content": after})
    asked = e.PermissionAsked(request_id="r", use=use, preview=(DiffView("a.py", before, after),))
    chunk = woven([asked])[0]
    assert isinstance(chunk, s.ToolConfirmation)
    assert chunk.hunks
    assert chunk.views[0].kind == "diff"


def test_hidden_characters_are_named_in_what_is_asked() -> None:
    asked = e.PermissionAsked(request_id="r", use=ToolUse("t", "Bash", {"command": "ls \u202e txt"}), title="ls \u200b")
    chunk = woven([asked])[0]
    assert isinstance(chunk, s.ToolConfirmation)
    assert "⟨U+202E⟩" in chunk.views[0].html
    assert "⟨U+200B⟩" in chunk.title


def test_ids_that_an_agent_counts_anew_in_each_turn_are_told_apart() -> None:
    def turn(number: int) -> list[e.AgentEvent]:
        return [
            e.TurnStarted(turn_id=str(number)),
            e.MessageDone(reply=Reply("m", "x", (Text(f"answer {number}"),))),
            *called("Bash", {"command": "ls"}, id="call_1"),
            e.TurnEnded(turn_id=str(number), reason="completed"),
        ]

    chunks = woven([*turn(1), *turn(2)])
    assert html_of(chunks) == "<p>answer 1</p>\n<p>answer 2</p>\n"
    assert {c.id for c in chunks if isinstance(c, s.TextChunk)} == {"m:0.0", "m:0~2.0"}
    assert {c.id for c in chunks if isinstance(c, s.ToolStart)} == {"call_1", "call_1~2"}
    assert [c.id for c in chunks if isinstance(c, s.ToolEnd)] == ["call_1", "call_1~2"]
