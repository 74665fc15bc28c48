"""Attacks through logins (T17 to T25): a real client, a loopback authorization server that lies."""

import stat
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.integration.mcp.conftest import OpenHost, Person
from weft.errors import ToolError, TransportError
from weft.mcp.asking import web_address
from weft.mcp.config import OAuthSettings, ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import InputAnswer
from weft.schema.content import Json
from weft.testing.fake_oauth import FakeOAuth
from weft.transports.mcp_callback import CallbackServer
from weft.transports.mcp_http import GuardedTransport, address_kind, make_client


class Browser(Person):
    """A person who goes where they are sent and pastes the address that they end at."""

    async def __call__(
        self, server: str, message: str, *, schema: Json | None = None, url: str | None = None, visit: str = ""
    ) -> InputAnswer:
        self.shown.append(message)
        self.urls.append(url)
        assert url is not None
        async with make_client(url, headers={}) as client:
            response = await client.get(url)
        return InputAnswer("accept", {"redirect_url": response.headers["location"]})


def remote(server: FakeOAuth, **more: Any) -> ServerConfig:
    return ServerConfig(name="web", transport="http", url=server.url, protocol="legacy", **more)


async def login(host: Host) -> None:
    with anyio.fail_after(30):
        await host.login("web")


@pytest.fixture(autouse=True)
def file_vault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_MCP_VAULT", "file")


async def test_nobody_is_sent_anywhere_before_they_ask_for_a_login(open_host: OpenHost):
    person = Browser()
    async with FakeOAuth() as server, open_host(remote(server), ask_input=person) as host:
        with anyio.fail_after(30):
            await host.settle(60)
        assert host.servers()[0].state == "needs_auth" and "weft mcp login web" in (host.servers()[0].error or "")
        assert person.shown == []


async def test_t25_a_login_names_the_server_and_its_rights_and_is_kept_for_the_person_alone(
    open_host: OpenHost, tmp_path: Path
):
    person = Browser()
    async with FakeOAuth() as server:
        async with open_host(remote(server), ask_input=person) as host:
            await login(host)
            assert not (await host.call("web", "echo", {})).is_error
        assert "'web'" in person.shown[0] and "Rights it asks for" in person.shown[0]
        kept = tmp_path / "home/mcp-logins.json"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        async with open_host(remote(server)) as host:
            with anyio.fail_after(30):
                await host.settle(60)
            assert host.servers()[0].state == "ready" and server.tokens == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("nopkce", "PKCE"),
        ("badres", "does not match"),
        ("issuer", "issuer mismatch"),
        ("iss", "iss mismatch"),
        ("state", "State parameter mismatch"),
        ("error", "login failed"),
    ],
)
async def test_t18_t19_a_login_that_does_not_add_up_is_refused(open_host: OpenHost, wrong: str, words: str):
    async with FakeOAuth(wrong) as server, open_host(remote(server), ask_input=Browser(), reconnects=0) as host:
        with pytest.raises(ToolError, match=words):
            await login(host)
        assert server.tokens == 0


async def test_t17_metadata_elsewhere_is_not_fetched_from_a_server_that_is_not_on_this_machine():
    async with FakeOAuth() as inside:
        transport = GuardedTransport("93.184.216.34")
        async with httpx2.AsyncClient(transport=transport) as client:
            for host in ("127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"):
                with pytest.raises(httpx2.ConnectError, match="loopback"):
                    await client.get(f"http://{host}:{inside.base.rsplit(':', 1)[1]}/")
        assert inside.requests == []


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("169.254.169.254", "forbidden"),
        ("::ffff:169.254.169.254", "forbidden"),
        ("fe80::1", "forbidden"),
        ("10.1.2.3", "private"),
        ("192.168.0.1", "private"),
        ("fd00::1", "private"),
        ("0.0.0.0", "forbidden"),
        ("224.0.0.1", "forbidden"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("93.184.216.34", "public"),
    ],
)
def test_t17_addresses_are_judged_by_what_they_are(address: str, kind: str):
    assert address_kind(address) == kind


async def test_t17_a_loopback_server_may_use_loopback_but_never_a_clouds_metadata():
    async with httpx2.AsyncClient(transport=GuardedTransport("127.0.0.1")) as client:
        for host in ("169.254.169.254", "10.0.0.1"):
            with pytest.raises(httpx2.ConnectError, match="may not send us there"):
                await client.get(f"http://{host}/latest/meta-data")


async def test_t17_a_name_is_connected_to_by_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch):
    from weft.transports import mcp_http

    answers = iter([["127.0.0.1"], ["127.0.0.1"], ["10.0.0.1"]])

    async def changing(host: str, port: int) -> list[str]:
        return next(answers)

    monkeypatch.setattr(mcp_http, "resolve", changing)
    async with FakeOAuth() as server:
        port = server.base.rsplit(":", 1)[1]
        async with httpx2.AsyncClient(transport=GuardedTransport("home.example")) as client:
            response = await client.get(f"http://rebinding.example:{port}/nothing")
        assert response.status_code == 404


async def test_t20_another_authorization_server_means_another_registration(open_host: OpenHost, tmp_path: Path):
    from weft.mcp.tokens import FileVault, Logins

    async with FakeOAuth() as server:
        config = remote(server)
        async with open_host(config, ask_input=Browser()) as host:
            await login(host)
        logins = Logins(FileVault(tmp_path / "home/mcp-logins.json"), config)
        info = await logins.get_client_info()
        assert info is not None and info.issuer == server.base
        await logins.set_client_info(info.model_copy(update={"issuer": "https://other.example", "client_id": "theirs"}))
        assert await logins.get_tokens() is None


async def test_t21_a_token_never_leaves_its_server(open_host: OpenHost):
    async with FakeOAuth() as other, FakeOAuth("redirect", other=other.base) as server:
        async with open_host(remote(server), ask_input=Browser(), reconnects=0) as host:
            with pytest.raises(ToolError):
                await login(host)
        assert other.requests == []
        assert not any("token-" in path for path in server.paths())


async def test_t22_a_server_that_always_wants_more_is_stopped(open_host: OpenHost):
    person = Browser()
    async with FakeOAuth("scopes") as server, open_host(remote(server), ask_input=person, reconnects=0) as host:
        with pytest.raises(ToolError):
            await login(host)
        assert len(person.shown) <= 4


async def test_t23_the_callback_takes_one_request_for_us_and_shows_nothing_raw():
    async with CallbackServer() as callback:
        port = int(callback.redirect_uri.split(":")[2].split("/")[0])
        assert callback.redirect_uri.startswith("http://127.0.0.1:")
        async with httpx2.AsyncClient() as client:
            bad_host = await client.get(callback.redirect_uri + "?code=x", headers={"Host": "evil.example"})
            other = await client.get(f"http://127.0.0.1:{port}/other?code=x")
            empty = await client.get(callback.redirect_uri)
            assert (bad_host.status_code, other.status_code, empty.status_code) == (404, 404, 400)
            words = {"error": "x", "error_description": "<script>alert(1)</script>"}
            first = await client.get(callback.redirect_uri, params=words)
            assert "<script>" not in first.text and "&lt;script&gt;" in first.text
            assert (await client.get(callback.redirect_uri + "?code=late")).status_code == 410
        with anyio.fail_after(30):
            assert (await callback.wait())["error"] == "x"


async def test_t23_the_port_is_free_again_after_the_login():
    async with CallbackServer() as first:
        port = int(first.redirect_uri.split(":")[2].split("/")[0])
        with pytest.raises(TransportError):
            async with CallbackServer(port=port):
                pass
    async with CallbackServer(port=port):
        pass


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "vscode://open",
        "http://evil.example/",
        "https://",
        "https://e.example/ --flag",
        "https://e.example/\n",
        "data:text/html,x",
        "\x00https://e.example",
    ],
)
def test_t24_only_web_addresses_are_opened(url: str):
    assert web_address(url) is None


def test_t24_shell_characters_in_an_address_reach_no_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    import webbrowser

    from weft.cli.mcp_live import open_page

    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    marker = tmp_path / "pwned"
    assert open_page(f"https://e.example/?a=$(touch${{IFS}}{marker});`id`|&")
    assert len(opened) == 1 and not marker.exists()
    assert not open_page("javascript:alert(1)")


async def test_t24_a_javascript_login_page_is_never_shown(open_host: OpenHost):
    person = Browser()
    async with FakeOAuth("javascript") as server, open_host(remote(server), ask_input=person, reconnects=0) as host:
        with anyio.move_on_after(8), pytest.raises(ToolError):
            await login(host)
        assert not any((url or "").startswith("javascript") for url in person.urls)


async def test_an_expired_token_is_refreshed_where_it_came_from_also_after_a_restart(
    open_host: OpenHost, tmp_path: Path
):
    from weft.mcp.tokens import FileVault, Logins

    async with FakeOAuth() as server:
        async with open_host(remote(server), ask_input=Browser()) as host:
            await login(host)
        logins = Logins(FileVault(tmp_path / "home/mcp-logins.json"), remote(server))
        tokens = await logins.get_tokens()
        assert tokens is not None and logins.expires_at() is not None
        await logins.set_tokens(tokens.model_copy(update={"expires_in": -10}))
        async with open_host(remote(server)) as host:
            with anyio.fail_after(30):
                await host.settle(60)
            assert host.servers()[0].state == "ready"
        assert any("refresh_token" in body for _, path, _, body in server.requests if path == "/token")


async def test_without_its_origin_a_refresh_token_goes_nowhere(open_host: OpenHost, tmp_path: Path):
    from weft.mcp.tokens import FileVault, Logins

    async with FakeOAuth() as server:
        async with open_host(remote(server), ask_input=Browser()) as host:
            await login(host)
        logins = Logins(FileVault(tmp_path / "home/mcp-logins.json"), remote(server))
        tokens = await logins.get_tokens()
        assert tokens is not None
        await logins.set_tokens(tokens.model_copy(update={"expires_in": -10}))
        logins.set_extra("metadata", "")
        async with open_host(remote(server)) as host:
            with anyio.fail_after(30):
                await host.settle(60)
            assert host.servers()[0].state == "needs_auth"
        assert not any("refresh_token=" in body for _, _, _, body in server.requests)


async def test_metadata_at_a_configured_address_replaces_discovery(open_host: OpenHost):
    async with FakeOAuth("elsewhere") as server:
        config = remote(server, oauth=OAuthSettings(metadata_url=f"{server.base}/custom/metadata"))
        async with open_host(config, ask_input=Browser()) as host:
            await login(host)
        assert server.paths().count("/custom/metadata") >= 1
        assert not any("oauth-authorization-server" in path for path in server.paths())
    async with FakeOAuth("elsewhere") as server:
        config = remote(server, oauth=OAuthSettings(metadata_url=f"{server.base}/nothing"))
        async with open_host(config, ask_input=Browser(), reconnects=0) as host:
            with pytest.raises(ToolError, match="no metadata"):
                await login(host)


async def test_t25_two_servers_never_ask_a_person_to_log_in_at_the_same_time(open_host: OpenHost):
    """One login at a time: whoever looks at a consent page knows which server it is for."""
    now, most = 0, 0
    both_began = anyio.Event()

    class Watched(Browser):
        async def __call__(
            self, server: str, message: str, *, schema: Json | None = None, url: str | None = None, visit: str = ""
        ) -> InputAnswer:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await both_began.wait()
            await anyio.wait_all_tasks_blocked()
            most = max(most, now)
            answer = await super().__call__(server, message, schema=schema, url=url, visit=visit)
            now -= 1
            return answer

    person = Watched()
    async with FakeOAuth() as one, FakeOAuth() as two:
        other = ServerConfig(name="other", transport="http", url=two.url, protocol="legacy")
        async with open_host(remote(one), other, ask_input=person, start_timeout=60.0) as host:
            with anyio.fail_after(90):
                async with anyio.create_task_group() as group:
                    group.start_soon(host.login, "web")
                    group.start_soon(host.login, "other")
                    while not (one.requests and two.requests):
                        await anyio.sleep(0.02)
                    both_began.set()
            assert {info.state for info in host.servers()} == {"ready"}
    assert len(person.shown) == 2 and most == 1
    assert "'web'" in "".join(person.shown) and "'other'" in "".join(person.shown)
