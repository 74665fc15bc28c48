"""The wrapping provider: what the inner model is asked, and what the loop sees of its answers."""

import json
from pathlib import Path
from typing import cast

import anyio

from tests.unit.providers.small.talks import called, listed, prompt, request, shown
from weft.providers.port import Provider
from weft.providers.small.choose import ProbedProvider, read_verdicts
from weft.providers.small.provider import SmallProvider, read_action
from weft.schema.content import Text, ToolUse
from weft.schema.messages import Message, Reply, Request
from weft.schema.stream import StreamDone, StreamFailed
from weft.sessions import tokens
from weft.testing.scripted import Fail, ScriptedProvider, call

CALC = "def add(a, b):\n    return a - b\n"
BEGIN = (prompt("Fix the bug in calc.py: add must return the sum"), *listed("calc.py"), *shown("calc.py", CALC))
RIGHT = '{"action": "edit", "path": "calc.py", "old": "    return a - b", "new": "    return a + b"}'


async def ask(provider: Provider, asked: Request) -> Reply:
    with anyio.fail_after(30):
        last = [event async for event in provider.stream(asked)][-1]
    assert isinstance(last, StreamDone)
    return last.reply


async def test_an_action_becomes_a_call_of_an_ordinary_tool():
    inner = ScriptedProvider([RIGHT])
    reply = await ask(SmallProvider(inner), request(*BEGIN))
    assert reply.stop_reason == "tool_use"
    assert [(use.name, use.input) for use in reply.tool_uses] == [
        ("Edit", {"file_path": "calc.py", "old_string": "    return a - b", "new_string": "    return a + b"})
    ]
    sent = inner.requests[0]
    assert sent.tools == () and sent.output_schema is not None and sent.temperature == 0.0


async def test_the_files_of_the_task_are_read_without_asking_the_model():
    inner = ScriptedProvider([])
    reply = await ask(SmallProvider(inner), request(prompt("Fix calc.py")))
    assert [use.name for use in reply.tool_uses] == ["Glob"] and inner.requests == []


async def test_the_first_prompt_is_short_and_has_the_file_and_the_task():
    inner = ScriptedProvider([RIGHT])
    long = "\n".join(f"value_{n} = compute({n})" for n in range(2000))
    begin = (prompt("Set value_77 to 3 in big.py"), *listed(*(f"pkg/file_{n}.py" for n in range(100)), "big.py"))
    await ask(SmallProvider(inner), request(*begin, *shown("big.py", long)))
    sent = inner.requests[0]
    text = sent.system[0].text + "".join(message.text for message in sent.messages)
    assert "value_77 = compute(77)" in text and "Task: Set value_77 to 3 in big.py" in text
    assert tokens.of_text(text) < 700


async def test_a_second_step_only_adds_to_the_prompt_of_the_first():
    inner = ScriptedProvider([RIGHT, '{"action": "done", "text": "Fixed."}'])
    small = SmallProvider(inner)
    reply = await ask(small, request(*BEGIN))
    use = reply.tool_uses[0]
    more = called("Edit", "Edited", id=use.id, **cast(dict[str, str], use.input))
    done = await ask(small, request(*BEGIN, *more))
    assert (done.text, done.stop_reason) == ("Fixed.", "end_turn")
    first, second = inner.requests
    assert second.system == first.system
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[len(first.messages)] == Message("assistant", (Text(RIGHT),))


async def test_done_before_anything_was_done_is_asked_again():
    inner = ScriptedProvider(['{"action": "done", "text": "I fixed it."}', RIGHT])
    reply = await ask(SmallProvider(inner), request(*BEGIN))
    assert reply.tool_uses[0].name == "Edit"
    assert inner.requests[1].messages[-1].text == "The task is not done yet. Do an action."
    assert reply.usage.output_tokens == 40


async def test_text_that_is_no_action_is_asked_again_and_then_given_up():
    inner = ScriptedProvider(["Sure! I will fix it."] * 3)
    reply = await ask(SmallProvider(inner), request(*BEGIN))
    assert "no action that fits" in reply.text and reply.tool_uses == ()


async def test_a_repair_is_shown_beside_the_call():
    inner = ScriptedProvider([RIGHT.replace('"new": "    ', '"new": "')])
    reply = await ask(SmallProvider(inner), request(*BEGIN))
    assert isinstance(reply.content[0], Text) and "indentation of the replaced line was kept" in reply.content[0].text
    assert isinstance(reply.content[1], ToolUse)


async def test_the_same_action_again_means_that_the_model_is_done():
    done = called(
        "Edit", "Edited", id="1", file_path="calc.py", old_string="    return a - b", new_string="    return a + b"
    )
    again = called("Bash", "", id="2", command="python3 calc.py", description="Run a command")
    inner = ScriptedProvider(['{"action": "run", "command": "python3 calc.py"}'])
    reply = await ask(SmallProvider(inner), request(*BEGIN, *done, *again))
    assert (reply.text, reply.stop_reason) == ("Done: calc.py was changed; `python3 calc.py` was run.", "end_turn")


async def test_a_question_is_answered_and_an_edit_in_its_place_is_refused():
    question = (prompt("What does add in calc.py return?"), *BEGIN[1:])
    inner = ScriptedProvider([RIGHT, '{"action": "answer", "text": "a minus b"}'])
    reply = await ask(SmallProvider(inner), request(*question))
    assert reply.text == "a minus b"
    offered = json.dumps(inner.requests[0].output_schema)
    assert '"edit"' not in offered and '"write"' not in offered


async def test_a_failure_passes_through():
    with anyio.fail_after(30):
        events = [event async for event in SmallProvider(ScriptedProvider([Fail()])).stream(request(*BEGIN))]
    assert [type(event) for event in events] == [StreamFailed]


async def test_a_request_without_tools_goes_to_the_model_as_it_is():
    inner = ScriptedProvider(["A summary."])
    reply = await ask(SmallProvider(inner), request(prompt("Summarise"), tools=()))
    assert reply.text == "A summary." and inner.requests[0].messages[0].text == "Summarise"


async def test_old_steps_are_left_out_when_the_window_is_short():
    steps = [
        message
        for n in range(10)
        for message in called("Bash", "x" * 900, id=f"s{n}", command=f"echo {n}", description="")
    ]
    inner = ScriptedProvider(['{"action": "done", "text": "ok"}'])
    await ask(SmallProvider(inner, window=2048), request(*BEGIN, *steps))
    sent = inner.requests[0]
    assert sent.messages[0].text.endswith("add must return the sum")
    assert sum(len(message.text) for message in sent.messages) < 3000


def test_half_a_file_is_no_action_but_half_an_answer_is():
    assert read_action('{"action": "write", "path": "a.py", "text": "import o') is None
    cut = read_action('{"action": "answer", "text": "It listens on')
    assert cut is not None and cut.text == "It listens on"
    fenced = read_action('```json\n{"action": "run", "command": "ls"}\n```')
    assert fenced is not None and fenced.command == "ls"


async def test_a_model_that_calls_tools_well_keeps_its_own_api_and_the_verdict_is_kept(tmp_path: Path):
    good = ScriptedProvider([call("read_file", path="notes.txt"), "plain"])
    place = tmp_path / "probes.json"
    provider = ProbedProvider(good, SmallProvider(good), model="m", place=place, key="here m")
    assert (await ask(provider, request(*BEGIN))).text == "plain"
    assert read_verdicts(place) == {"here m": False}
    later = ScriptedProvider(["plain again"])
    provider = ProbedProvider(later, SmallProvider(later), model="m", place=place, key="here m")
    assert (await ask(provider, request(*BEGIN))).text == "plain again"


async def test_a_model_that_writes_its_calls_as_text_gets_the_profile(tmp_path: Path):
    bad = ScriptedProvider(['{"name": "read_file"}', RIGHT])
    provider = ProbedProvider(bad, SmallProvider(bad), model="m", place=tmp_path / "probes.json", key="k")
    assert (await ask(provider, request(*BEGIN))).tool_uses[0].name == "Edit"


async def test_a_line_whose_edit_was_refused_is_not_offered_again():
    same = RIGHT.replace("a + b", "a - b")
    inner = ScriptedProvider([same, '{"action": "run", "command": "python3 calc.py"}'])
    await ask(SmallProvider(inner), request(*BEGIN))
    first, second = (json.dumps(one.output_schema) for one in inner.requests)
    assert first.count("return a - b") == 2 and second.count("return a - b") == 1
