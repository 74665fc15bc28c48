"""WebSearch through the provider's own search, and what `/doctor` and added folders say."""

from pathlib import Path

from tests.integration.driving import ended, turn
from weft.agent.options import SessionOptions
from weft.schema.content import Text, Unknown, text_of
from weft.schema.events import AgentEvent, ToolEnded
from weft.schema.messages import Usage
from weft.sdk.compose import Overrides, connect
from weft.testing.fake_anthropic import Answer, FakeAnthropic
from weft.testing.scripted import call

ASKED = Unknown(b'{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"weft loom"}}')
ROW = b'{"type":"web_search_result","url":"https://a.example/loom","title":"Looms","encrypted_content":"x"}'
GIVEN = Unknown(b'{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[' + ROW + b"]}")
FAILED = Unknown(
    b'{"type":"web_search_tool_result","tool_use_id":"s","content":'
    b'{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}'
)
ANSWER = Answer(blocks=(ASKED, GIVEN, Text("A weft runs across.")), usage=Usage(input_tokens=7, web_search_requests=1))


async def search(cwd: Path, server: FakeAnthropic, settings: str = "{}") -> tuple[list[AgentEvent], ToolEnded]:
    options = SessionOptions(cwd=cwd, model="claude-sonnet-4-5", allowed_tools=("WebSearch",), settings=settings)
    async with connect(options, Overrides(env=server.env())) as connection:
        events = await turn(connection, "look it up")
    return events, next(event for event in events if isinstance(event, ToolEnded))


async def test_the_providers_server_tool_is_asked_and_its_results_are_the_answer(tmp_path: Path):
    question = call("WebSearch", query="weft loom", allowed_domains=["a.example"])
    async with FakeAnthropic([question, ANSWER, "Done."]) as server:
        events, end = await search(tmp_path, server)
    asked = server.requests[1].body
    assert asked["tools"] == [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5, "allowed_domains": ["a.example"]}
    ]
    text = text_of(end.result.content)
    assert "https://a.example/loom" in text and "A weft runs across." in text
    assert ended(events).usage.web_search_requests == 1


async def test_a_search_that_the_provider_cannot_do_is_an_error_that_names_the_reason(tmp_path: Path):
    async with FakeAnthropic([call("WebSearch", query="weft"), Answer(blocks=(FAILED,)), "Done."]) as server:
        _events, end = await search(tmp_path, server)
    assert end.outcome == "error", end
    assert "max_uses_exceeded" in text_of(end.result.content)


async def test_settings_turn_it_off_and_then_it_says_so(tmp_path: Path):
    async with FakeAnthropic([call("WebSearch", query="weft"), "Done."]) as server:
        _events, end = await search(tmp_path, server, '{"webSearch": {"provider": false}}')
    assert "web search is off" in text_of(end.result.content)


async def test_doctor_in_a_session_looks_at_the_machine(tmp_path: Path):
    async with FakeAnthropic([]) as server:
        options = SessionOptions(cwd=tmp_path, model="claude-sonnet-4-5")
        async with connect(options, Overrides(env=server.env())) as connection:
            events = await turn(connection, "/doctor")
    assert "ripgrep" in ended(events).text and "Python 3" in ended(events).text
