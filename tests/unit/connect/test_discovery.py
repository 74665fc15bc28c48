"""Finding programs, on systems that this one is not."""

from pathlib import Path

import anyio
import pytest

from weft.connect import discovery
from weft.connect.availability import Availability, AvailabilityCache
from weft.connect.discovery import find, find_on_windows, script_of_wrapper
from weft.connect.process import StartConfig, StartModes
from weft.connect.registry import known_agents
from weft.errors import SettingsError

CMD = r"""@ECHO off
SETLOCAL
IF EXIST "%~dp0\node.exe" ( SET "_prog=%~dp0\node.exe" ) ELSE ( SET "_prog=node" )
endLocal & "%_prog%"  "%~dp0\node_modules\@iflow-ai\iflow-cli\bundle\entry.js" %*
"""
PS1 = """#!/usr/bin/env pwsh
$basedir=Split-Path $MyInvocation.MyCommand.Definition -Parent
& "node$exe"  "$basedir/node_modules/@google/gemini-cli/bundle/gemini.mjs" $args
"""


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


async def test_a_script_behind_a_link_runs_with_the_node_beside_it(tmp_path: Path) -> None:
    script = program(tmp_path / "lib" / "cli.js", "#!/usr/bin/env node\n")
    node = program(tmp_path / "bin" / "node")
    (tmp_path / "bin" / "agent").symlink_to(script)
    found = await find("agent", env={"PATH": str(tmp_path / "bin")})
    assert found is not None
    assert found.argv == (str(node), str(script))


async def test_a_native_program_runs_as_it_is(tmp_path: Path) -> None:
    path = program(tmp_path / "bin" / "agent")
    found = await find("agent", env={"PATH": str(tmp_path / "bin")})
    assert found is not None
    assert found.argv == (str(path),)


async def test_what_only_the_login_shell_knows_is_found_by_asking_it(tmp_path: Path) -> None:
    path = program(tmp_path / "nvm" / "agent")
    shell = program(tmp_path / "shell", f'#!/bin/sh\necho "welcome to this machine"\nPATH={path.parent}\neval "$2"\n')
    with anyio.fail_after(30):
        found = await find("agent", env={"PATH": "/nowhere", "SHELL": str(shell)})
    assert found is not None
    assert (found.path, found.how) == (str(path), "login shell")


async def test_a_login_shell_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "SHELL_LIMIT", 0.1)
    shell = program(tmp_path / "shell", "#!/bin/sh\nsleep 60\n")
    with anyio.fail_after(30):
        assert await find("agent", env={"PATH": "/nowhere", "SHELL": str(shell)}) is None


async def test_what_is_nowhere_is_none() -> None:
    assert await find("agent", env={"PATH": "/nowhere"}) is None


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (CMD, "node_modules/@iflow-ai/iflow-cli/bundle/entry.js"),
        (PS1, "node_modules/@google/gemini-cli/bundle/gemini.mjs"),
        ("echo nothing", None),
    ],
)
def test_the_script_is_read_out_of_a_windows_wrapper(text: str, script: str | None) -> None:
    found = script_of_wrapper(text, Path("/npm"))
    assert found == (None if script is None else str(Path("/npm") / script))


def test_windows_looks_where_npm_puts_global_programs(tmp_path: Path) -> None:
    wrapper = program(tmp_path / "npm" / "agent.cmd", CMD)
    assert find_on_windows("agent", {"PATH": "", "APPDATA": str(tmp_path)}) == str(wrapper)


async def test_the_persons_node_comes_before_the_one_that_was_found(tmp_path: Path) -> None:
    script = program(tmp_path / "bin" / "agent", "#!/usr/bin/env node\n")
    program(tmp_path / "bin" / "node")
    modes = StartModes({"PATH": str(tmp_path / "bin")})
    assert await modes.resolve("agent", StartConfig(node="/my/node")) == ("/my/node", str(script))
    assert await modes.resolve("agent", StartConfig()) == (str(tmp_path / "bin" / "node"), str(script))
    script.unlink()
    assert await modes.resolve("agent", StartConfig()) is not None
    modes.clear()
    assert await modes.resolve("agent", StartConfig()) is None


async def test_one_check_serves_all_who_ask_and_failures_are_forgotten_sooner() -> None:
    checks = 0
    now = 0.0
    here = True

    async def look(name: str) -> Availability:
        nonlocal checks
        checks += 1
        await anyio.lowlevel.checkpoint()
        return Availability(name=name, title=name, installed=here)

    cache = AvailabilityCache(look, clock=lambda: now)
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(cache.get, "a")
    assert checks == 1
    now = 119.0
    assert (await cache.get("a")).installed
    now = 121.0
    here = False
    assert not (await cache.get("a")).installed
    now = 135.0
    await cache.get("a")
    assert checks == 2
    now = 137.0
    await cache.get("a")
    assert checks == 3


def test_the_person_may_add_and_replace_agents(tmp_path: Path) -> None:
    (tmp_path / "agents.toml").write_text('[mine]\ntitle = "Mine"\ncommand = "mine"\nacp = ["acp"]\n')
    known = known_agents(tmp_path)
    assert known["mine"].acp == ("acp",)
    assert {"weft", "claude", "codex", "gemini", "qwen", "opencode", "kimi", "goose", "iflow"} <= set(known)
    assert all(agent.acp is not None or agent.port or agent.stream for agent in known.values())
    (tmp_path / "agents.toml").write_text("[mine]\ncommand = 3\n")
    with pytest.raises(SettingsError):
        known_agents(tmp_path)
