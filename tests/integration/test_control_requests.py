"""Every control request of the host is answered: with data, or with an error that says why."""

from pathlib import Path

import anyio
import pytest

from weft.agent.options import SessionOptions
from weft.agent.session import Session
from weft.errors import UsageError
from weft.protocols.stream_json import ControlRequest
from weft.schema.content import Json
from weft.sdk.compose import Overrides, connect
from weft.serve.stream_json.control import HANDLERS, answer
from weft.testing.scripted import ScriptedProvider


async def ask(session: Session, subtype: str, **fields: object) -> Json:
    found = await answer(session, ControlRequest("r", subtype, {"subtype": subtype, **fields}))
    return found or {}


@pytest.fixture
async def session(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "report.py").write_text("print('hi')\n")
    (tmp_path / ".env").write_text("SECRET=1\n")
    options = SessionOptions(cwd=tmp_path, disallowed_tools=("Read(.env)",))
    with anyio.fail_after(30):
        async with connect(options, Overrides(provider=ScriptedProvider(["ok"]))) as connection:
            yield connection.session


async def test_a_request_that_nobody_knows_is_an_error_with_a_code(session: Session):
    with pytest.raises(UsageError) as caught:
        await ask(session, "make_coffee")
    assert caught.value.hint == "unsupported_request"


NEEDS_ARGUMENTS = {"read_file", "rewind_conversation", "mcp_toggle", "mcp_reconnect"}


@pytest.mark.parametrize("subtype", sorted(set(HANDLERS) - NEEDS_ARGUMENTS))
async def test_every_known_request_is_answered_without_arguments(session: Session, subtype: str):
    fields = {"mode": "plan"} if subtype == "set_permission_mode" else {}
    assert isinstance(await ask(session, subtype, **fields), dict)


async def test_files_are_suggested_and_read_but_never_what_a_rule_denies(session: Session):
    found = await ask(session, "file_suggestions", query="rprt")
    assert found["suggestions"] == [{"path": "src/report.py"}]
    assert (await ask(session, "file_suggestions", query="env"))["suggestions"] == []
    assert (await ask(session, "read_file", path="src/report.py"))["content"] == "print('hi')\n"
    for path in (".env", "../../etc/passwd", "/etc/passwd", "src/none.py"):
        with pytest.raises(UsageError):
            await ask(session, "read_file", path=path)


async def test_settings_of_a_flag_change_rules_mode_and_model(session: Session):
    settings = {"permissions": {"deny": ["Bash"], "defaultMode": "acceptEdits"}, "model": "claude-haiku-4-5"}
    await ask(session, "apply_flag_settings", settings=settings)
    rules = (await ask(session, "list_permission_rules"))["rules"]
    assert isinstance(rules, list)
    assert any("Bash" in str(rule) for rule in rules)
    shown = await ask(session, "get_settings")
    assert shown["applied"] == {"model": "claude-haiku-4-5", "permissionMode": "acceptEdits"}


async def test_a_server_that_is_not_there_is_named(session: Session):
    for subtype in ("mcp_toggle", "mcp_reconnect"):
        with pytest.raises(UsageError, match="Server not found: x"):
            await ask(session, subtype, serverName="x")
    answered = await ask(session, "mcp_set_servers", servers={"x": {"command": "true"}})
    assert answered["errors"]


async def test_a_title_is_made_from_the_words_given(session: Session):
    assert (await ask(session, "generate_session_title", description="Fix the parser"))["title"] == "Fix the parser"
    long = await ask(session, "generate_session_title", description="word " * 50)
    assert len(str(long["title"])) <= 60
