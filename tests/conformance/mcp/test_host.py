"""What the agent does not show: completion, subscriptions and changes, on real servers of both eras."""

import sys
from pathlib import Path

import anyio

from tests.conformance.mcp.test_agent import MODERN
from tests.peers import peer_folder
from weft.mcp.config import ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import HostOptions


def everything() -> ServerConfig:
    root = peer_folder("mcp-servers") / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    return ServerConfig(name="ev", command="node", args=(str(root), "stdio"))


async def ready(host: Host) -> None:
    with anyio.fail_after(30):
        await host.settle(30)
    assert {info.state for info in host.servers()} == {"ready"}, host.servers()


async def test_arguments_of_prompts_and_templates_are_completed_with_context(tmp_path: Path):
    async with Host((everything(),), HostOptions(cwd=tmp_path, home=tmp_path, start_delay=0.0)) as host:
        await ready(host)
        prompt = {"name": "completable-prompt"}
        assert "Engineering" in await host.complete("ev", prompt, "department", "E")
        names = await host.complete("ev", prompt, "name", "", {"department": "Engineering"})
        assert names and names != await host.complete("ev", prompt, "name", "", {"department": "Sales"})
        template = {"uri": "demo://resource/dynamic/text/{resourceId}"}
        assert await host.complete("ev", template, "resourceId", "1")


async def test_a_subscribed_resource_of_the_older_era_tells_of_updates(tmp_path: Path):
    seen: list[str] = []
    options = HostOptions(cwd=tmp_path, home=tmp_path, start_delay=0.0, on_resource=lambda _s, uri: seen.append(uri))
    async with Host((everything(),), options) as host:
        await ready(host)
        uri = "demo://resource/dynamic/text/1"
        await host.subscribe("ev", uri)
        await host.call("ev", "toggle-subscriber-updates", {})
        with anyio.fail_after(30):
            while uri not in seen:
                await anyio.sleep(0.05)
        await host.subscribe("ev", uri, on=False)


async def test_a_modern_server_tells_of_changes_and_updates_on_one_stream(tmp_path: Path):
    seen: list[str] = []
    changed: list[str] = []
    options = HostOptions(
        cwd=tmp_path,
        home=tmp_path,
        start_delay=0.0,
        on_resource=lambda _server, uri: seen.append(uri),
        on_change=lambda kind, _server: changed.append(kind),
    )
    config = ServerConfig(name="modern", command=sys.executable, args=(str(MODERN),))
    async with Host((config,), options) as host:
        await ready(host)
        assert host.server("modern").pins.era == "modern"
        await host.subscribe("modern", "note://7")
        before = changed.count("tools")
        with anyio.fail_after(60):
            while "note://7" not in seen or changed.count("tools") == before:
                await host.call("modern", "touch", {})
                await anyio.sleep(0.1)
        assert (await host.read("modern", "note://7"))[0].text == "note 7"
        (app,) = [tool for tool in host.tools() if tool.app]
        assert app.app == "ui://clock/app.html"


async def test_the_log_of_a_server_is_kept(tmp_path: Path):
    async with Host((everything(),), HostOptions(cwd=tmp_path, home=tmp_path, start_delay=0.0)) as host:
        await ready(host)
        await host.call("ev", "toggle-simulated-logging", {})
        with anyio.fail_after(60):
            while not any(line.level not in ("stderr",) for line in host.log_lines("ev")):
                await anyio.sleep(0.1)


async def test_roots_that_change_are_told_and_replace_what_a_server_may_see(tmp_path: Path):
    folders = [tmp_path / "one"]
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    root = peer_folder("mcp-servers") / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    config = ServerConfig(name="fs", command="node", args=(str(root), str(tmp_path / "one")))
    options = HostOptions(cwd=tmp_path, home=tmp_path / "home", start_delay=0.0, roots=lambda: tuple(folders))
    async with Host((config,), options) as host:
        await ready(host)
        folders[0] = tmp_path / "two"
        await host.roots_changed()
        with anyio.fail_after(30):
            while True:
                found = await host.call("fs", "list_allowed_directories", {})
                if "two" in str(found.content):
                    break
                await anyio.sleep(0.05)
