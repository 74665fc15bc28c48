"""Compaction: what goes, what stays, and that it always gets shorter."""

from collections.abc import Sequence

import pytest

from tests.property.test_session_log import check_valid
from tests.sessions_records import SESSION, Talk
from weft.schema.content import Text, ToolResult, ToolUse
from weft.schema.display import Todo
from weft.schema.messages import Message, Request, Usage
from weft.schema.records import Origin, Record
from weft.schema.wire import encode
from weft.sessions import compaction, resume, tokens
from weft.sessions.compaction import DROPPED

WINDOW = 20_000
INSTRUCTIONS = ("Always answer in French.", "Never touch vendor/.", "Use tabs.", "Run make check at the end.")


def _user(*parts: str | ToolResult) -> Message:
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


def _turn(number: int, size: int = 400) -> list[Message]:
    result = ToolResult(f"t{number}", f"line {number} of some output\n" * (size // 6))
    return [
        _user(f"Now do part {number} of the work, please."),
        Message("assistant", (Text("I look."), ToolUse(f"t{number}", "Read", {"file_path": f"/p/{number}.py"}))),
        _user(result),
        Message("assistant", (Text(f"Part {number} is done."),)),
    ]


class Conversation:
    """The way an agent uses the plan: drop old results first, then summarise."""

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.compactions = 0
        self.sent: list[tuple[Message, ...]] = []

    def ask(self, summary: str) -> None:
        if compaction.needs_compaction(0, compaction.estimate(self.history), WINDOW):
            self.history = list(compaction.drop_old_results(self.history))
        if compaction.needs_compaction(0, compaction.estimate(self.history), WINDOW):
            before = compaction.estimate(self.history)
            parts = compaction.split(self.history, window=WINDOW)
            done = compaction.apply(summary, parts, todos=(Todo("finish part 300", "in_progress"),), window=WINDOW)
            self.history = list(done.messages)
            self.compactions += 1
            assert compaction.Progress().note(before, compaction.estimate(self.history))
        self.sent.append(tuple(self.history))


@pytest.mark.parametrize("size", [1_200, 6_000])
def test_after_many_turns_every_instruction_of_the_first_is_still_sent(size: int) -> None:
    talk = Conversation()
    for number in range(120):
        one = _turn(number, size)
        if number == 0:
            one[0] = _user("<system-reminder>\nmemory words\n</system-reminder>", "Rules:\n" + "\n".join(INSTRUCTIONS))
        talk.history.append(one[0])
        talk.ask("The work goes on." * 50)
        talk.history += one[1:3]
        talk.ask("The work goes on." * 50)
        talk.history.append(one[3])
    assert talk.compactions >= 1
    for sent in talk.sent[::7]:
        check_valid(sent)
        text = encode(sent).decode()
        assert all(instruction in text for instruction in INSTRUCTIONS)
        assert compaction.estimate(sent) < WINDOW
    last = encode(talk.sent[-1]).decode()
    assert "finish part 300" in last and "part 119" in last and "memory words" in last
    assert last.count("<summary>") == 1 and last.count("<first-request>") == 1


def test_old_results_go_first_and_the_newest_stay() -> None:
    history = [message for number in range(10) for message in _turn(number)]
    dropped = compaction.drop_old_results(history, keep=3)
    check_valid(dropped)
    results = [b.content for m in dropped for b in m.content if isinstance(b, ToolResult)]
    assert results[:7] == [DROPPED] * 7 and DROPPED not in results[7:]
    assert compaction.drop_old_results(dropped, keep=3) == dropped


def test_the_last_turns_stay_word_for_word() -> None:
    history = [message for number in range(30) for message in _turn(number, 600)]
    parts = compaction.split(history, window=WINDOW)
    assert (*parts.old, *parts.kept) == tuple(history)
    assert len(parts.kept) >= 8 and parts.kept[0].role == "user"
    done = compaction.apply("short", parts)
    assert done.messages[1:] == parts.kept[1:]
    assert done.messages[0].content[-1] == parts.kept[0].content[0]


def test_one_turn_that_is_too_long_is_cut_between_steps() -> None:
    history: list[Message] = [_user("Do it all.")]
    for number in range(40):
        history += _turn(number, 1_500)[1:3]
    parts = compaction.split(history, window=WINDOW)
    assert parts.old and parts.kept and parts.kept[0].role == "assistant"
    done = compaction.apply("so far", parts).messages
    check_valid(done)
    assert compaction.estimate(done) < WINDOW // 2
    assert "Do it all." in encode(done).decode()


def test_a_last_result_that_is_too_long_is_shortened() -> None:
    history = [_user("Read it."), *_turn(1, 200_000)[1:3]]
    done = compaction.apply("", compaction.split(history, window=WINDOW), window=WINDOW).messages
    check_valid(done)
    assert compaction.estimate(done) < WINDOW // 2


def test_what_the_person_said_since_is_kept_with_its_ends() -> None:
    history = [message for number in range(200) for message in _turn(number, 10)]
    parts = compaction.split(history, window=4_000)
    assert parts.said[0].startswith("Now do part 1 ") and "part 18" in parts.said[-1]
    again = compaction.split(
        [*compaction.apply("s", parts).messages, *(m for n in range(200, 260) for m in _turn(n, 10))], window=4_000
    )
    assert again.said[0].startswith("Now do part 1 ")
    assert sum(map(tokens.of_text, again.said)) < 400


def test_memory_stays_with_the_first_request_as_long_as_it_fits() -> None:
    memory = "<system-reminder>\n" + "memory words " * 500 + "</system-reminder>"
    tree = "<system-reminder>\n" + "tree.py " * 9_000 + "</system-reminder>"
    history = [_user(memory, tree, "Do it."), *(m for n in range(30) for m in _turn(n, 600))]
    (first,) = compaction.split(history, window=WINDOW).first
    assert isinstance(first, Text)
    assert "memory words" in first.text and "Do it." in first.text and "tree.py" not in first.text


def test_the_summary_is_asked_with_the_same_prefix() -> None:
    history = [message for number in range(5) for message in _turn(number)]
    request = Request("m", tuple(history), max_tokens=32_000)
    asked = compaction.summary_request(request, history, "the API", window=WINDOW)
    assert asked.messages[:-1] == tuple(history)
    assert "the API" in asked.messages[-1].text and asked.max_tokens < 4_000
    check_valid(asked.messages)


@pytest.mark.parametrize("turns", [60, 1])
def test_a_summary_request_always_fits_the_window(turns: int) -> None:
    history = [message for number in range(turns) for message in _turn(number, 30_000 // turns * 5)]
    history += [Message("user", (Text("word " * 2_000),)), Message("assistant", (Text("word " * 9_000),))] * 2
    asked = compaction.summary_request(Request("m", tuple(history)), history, window=WINDOW)
    assert compaction.estimate(asked.messages) < WINDOW
    assert asked.messages[0].role == "user"


def test_without_a_model_the_summary_says_which_tools_were_used() -> None:
    text = compaction.fallback_summary([message for number in range(100) for message in _turn(number)])
    assert "- Read /p/0.py" in text and "and 40 more" in text and "Part 99 is done." in text


def test_a_compaction_that_does_not_shrink_is_given_up() -> None:
    progress = compaction.Progress()
    assert progress.note(1000, 500) and progress.may_try
    assert not progress.note(1000, 990) and progress.may_try
    assert not progress.note(1000, 1000) and not progress.may_try
    progress.grew()
    assert progress.may_try


def test_the_threshold_leaves_room_for_a_reply() -> None:
    assert compaction.needs_compaction(Usage(10_000, 500, 5_000, 600), 0, WINDOW)
    assert not compaction.needs_compaction(Usage(10_000), 1_000, WINDOW)
    assert compaction.needs_compaction(160_000, 10_000, 200_000)
    assert not compaction.needs_compaction(10**9, 0, 0)


def _logged(history: Sequence[Message], done: compaction.Compaction) -> list[Record]:
    talk = Talk()
    for message in history:
        if message.role == "user":
            talk.user(
                *(b.text if isinstance(b, Text) else b for b in message.content if isinstance(b, Text | ToolResult))
            )
        else:
            talk.assistant(
                *(b.text if isinstance(b, Text) else b for b in message.content if isinstance(b, Text | ToolUse))
            )
    tip = talk.tip

    def new_origin() -> Origin:
        number = len(talk.records) + 1000
        origin = Origin(uuid=f"c{number}", parent_uuid=talk.tip, session_id=SESSION)
        talk.tip = origin.uuid
        return origin

    for record in compaction.to_records(done, new_origin, logical_parent=tip, trigger="auto", before=9):
        talk.records.append(record)
    return talk.records


def test_a_compacted_session_resumes_as_it_was_and_exports_whole() -> None:
    from weft.sessions import codec, export, files

    history = [message for number in range(30) for message in _turn(number, 600)]
    done = compaction.apply("the summary", compaction.split(history, window=WINDOW), window=WINDOW)
    records = _logged(history, done)
    data = b"".join(codec.encode_record(record) for record in records)
    whole, recent = files.decode(data)[0], files.decode_recent(data)
    assert len(recent) < len(whole) / 2
    for loaded in (records, whole, recent):
        assert resume.rebuild(SESSION, loaded).history == done.messages
    text = export.to_markdown(whole)
    assert text.count("Part 29 is done.") == 1 and text.count("Part 0 is done.") == 1 and "the summary" in text
