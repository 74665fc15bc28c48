"""Where the real key comes from, and that it can change."""

import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import anyio
import msgspec
import pytest

from tests.integration.proxying import Stage, messages, upstream
from weft.errors import ProviderError, UsageError
from weft.proxy.credentials import Credential, HelperKey, KeyringKey, NoKey, read_credential
from weft.proxy.oauth import OAuthFile
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_openai import FakeOpenAI
from weft.transports.http_server import Exchange, HttpServer


async def test_each_form_of_a_source_is_read(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from-file\n")
    env = {"MINE": "from-env", "USER": "me"}
    assert await read_credential("env:MINE", env).key() == "from-env"
    assert await read_credential(f"file:{file}", env).key() == "from-file"
    assert await read_credential("helper:echo from-helper", env).key() == "from-helper"
    assert await read_credential("none", env).key() is None
    for text in ("sk-a-key-itself", "env:", "vault:x", ""):
        with pytest.raises(UsageError) as caught:
            read_credential(text, env)
        assert "sk-a-key" not in str(caught.value)
    for text in ("env:OTHER", f"file:{tmp_path}/none", "helper:exit 3", "helper:true"):
        with pytest.raises(ProviderError):
            await read_credential(text, env).key()


async def test_a_helper_that_fails_does_not_have_its_output_told() -> None:
    with pytest.raises(ProviderError) as caught:
        await HelperKey("echo sk-secret >&2; exit 1").key()
    assert "sk-secret" not in f"{caught.value} {caught.value.hint}"


async def test_a_file_that_changed_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("first-key")
    key = read_credential(f"file:{file}", {})
    async with FakeAnthropic(["a", "b"]) as server, Stage(server, credential=key) as stage:
        await stage.ask("/v1/messages", messages())
        file.write_text("second-key")
        await stage.ask("/v1/messages", messages())
    assert [request.headers["x-api-key"] for request in server.requests] == ["first-key", "second-key"]
    assert key.secrets() == ("first-key", "second-key")


@pytest.mark.parametrize("make", [FakeAnthropic, FakeOpenAI])
async def test_a_refused_key_is_asked_for_anew_once(tmp_path: Path, make: type[FakeAnthropic | FakeOpenAI]) -> None:
    """Both ways: a server of the client's dialect, and one of the other."""
    (tmp_path / "key").write_text("old-key-1")
    helper = HelperKey(f"cat {tmp_path}/key")
    assert await helper.key() == "old-key-1"
    (tmp_path / "key").write_text("new-key-2")
    async with make(["after the renewal"], key="new-key-2") as server, Stage(server, credential=helper) as stage:
        found = await stage.ask("/v1/messages", messages())
        assert found.status == 200 and b"after the" in found.data
        assert len(server.requests) == 1
        (tmp_path / "key").write_text("wrong-key-3")
        assert await helper.renew("new-key-2")
        found = await stage.ask("/v1/messages", messages())
        assert found.status == 401 and b"wrong-key" not in found.data


async def test_many_calls_at_once_run_the_helper_once(tmp_path: Path) -> None:
    helper = HelperKey(f"echo x >> {tmp_path}/runs; echo the-key-1")
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(helper.key)
    assert (tmp_path / "runs").read_text() == "x\n"


async def test_the_keyring_is_asked_by_service_and_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProviderError) as caught:
        monkeypatch.setitem(sys.modules, "keyring", None)
        await KeyringKey("models", "me").key()
    assert "weft[keyring]" in (caught.value.hint or "")
    asked: list[tuple[str, str]] = []
    ring, errors = ModuleType("keyring"), ModuleType("keyring.errors")

    class KeyringError(Exception):
        pass

    def get_password(service: str, user: str) -> str | None:
        asked.append((service, user))
        if service == "locked":
            raise KeyringError("sk-inside")
        return "ring-key-1"

    vars(errors)["KeyringError"] = KeyringError
    vars(ring).update(get_password=get_password, errors=SimpleNamespace(KeyringError=KeyringError))
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    assert await read_credential("keyring:models/me", {}).key() == "ring-key-1" and asked == [("models", "me")]
    with pytest.raises(ProviderError) as caught:
        await KeyringKey("locked", "me").key()
    assert "sk-inside" not in str(caught.value)


class Tokens:
    """An authorization server; `good` says whether it refreshes."""

    def __init__(self) -> None:
        self.good = True
        self.bodies: list[bytes] = []

    async def __call__(self, exchange: Exchange) -> None:
        self.bodies.append(exchange.request.body)
        number = len(self.bodies)
        answer = {"access_token": f"access-{number}", "refresh_token": f"again-{number}", "expires_in": 3600}
        status = 200 if self.good else 400
        await exchange.respond(status, msgspec.json.encode(answer if self.good else {"error": "invalid_grant"}))


async def test_tokens_are_refreshed_before_their_end_and_when_refused(tmp_path: Path) -> None:
    tokens, file = Tokens(), tmp_path / "tokens.json"
    async with HttpServer(tokens) as server:
        given = {
            "access_token": "access-0",
            "refresh_token": "again-0",
            "expires_at": time.time() + 5,
            "token_endpoint": f"{server.url}/token",
            "client_id": "client",
        }
        file.write_bytes(msgspec.json.encode(given))
        oauth: Credential = OAuthFile(file)
        assert await oauth.key() == "access-1" and b"refresh_token=again-0" in tokens.bodies[0]
        assert file.stat().st_mode & 0o777 == 0o600
        assert await oauth.key() == "access-1" and len(tokens.bodies) == 1
        async with FakeAnthropic(["hi"], key="access-2") as model, Stage(upstreams=[upstream(model, oauth)]) as stage:
            assert (await stage.ask("/v1/messages", messages())).status == 200
            assert model.requests[0].headers["authorization"] == "Bearer access-2"
        assert set(oauth.secrets()) >= {"access-0", "again-0", "access-1", "access-2"}
        tokens.good = False
        with pytest.raises(ProviderError) as caught:
            await oauth.renew("access-2")
        assert "again" not in str(caught.value)


async def test_tokens_are_not_sent_to_an_endpoint_without_https(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    given = {
        "access_token": "a",
        "refresh_token": "r",
        "expires_at": 1,
        "token_endpoint": "http://models.example/token",
    }
    file.write_bytes(msgspec.json.encode(given))
    with pytest.raises(ProviderError):
        await OAuthFile(file).key()
    assert NoKey().secrets() == ()
