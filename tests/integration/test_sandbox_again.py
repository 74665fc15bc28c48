"""A command that the sandbox stopped: the model is told why, and may ask for it outside, which a person decides."""

import json
import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.integration.driving import session
from weft.permissions.sandbox import available, temp_folders
from weft.schema.commands import PermissionAnswered, Prompt
from weft.schema.content import text_of
from weft.schema.events import PermissionAsked, ToolEnded, TurnEnded
from weft.testing.scripted import call

SETTINGS = json.dumps({"sandbox": {"enabled": True}, "permissions": {"allow": ["Bash(./build.sh)"]}})


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that is neither in the workspace nor among the temporary ones, wherever this checkout is."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    here = Path(__file__).resolve().parent
    place = home if any(here.is_relative_to(folder) for folder in temp_folders()) else here
    with tempfile.TemporaryDirectory(dir=place, prefix=".outside-") as folder:
        yield Path(folder)


@pytest.mark.parametrize(
    ("behavior", "without"), [("allow", True), ("deny", True), ("deny", "true"), ("deny", "True"), ("deny", 1)]
)
async def test_it_is_asked_again_without_the_sandbox_and_the_person_decides(
    behavior: Literal["allow", "deny"], without: object, tmp_path: Path, outside: Path
):
    assert available()[0] != "none", "this machine has no sandbox to test"
    build, target = tmp_path / "build.sh", outside / "made"
    build.write_text(f"#!/bin/sh\ntouch {target}\n")
    build.chmod(0o755)
    script = [
        call("Bash", id="in", command="./build.sh"),
        call("Bash", id="out", command="./build.sh", dangerouslyDisableSandbox=without),
        "Done.",
    ]
    asked: list[str] = []
    ends: dict[str, str] = {}
    asks = frozenset({"permission"})
    async with session(tmp_path, script, settings=SETTINGS, asks=asks) as (connection, _):
        await connection.send(Prompt("go"))
        async for event in connection.events():
            if isinstance(event, PermissionAsked):
                asked.append(event.reason)
                await connection.send(PermissionAnswered(event.request_id, behavior))
            if isinstance(event, ToolEnded):
                ends[event.tool_use_id] = text_of(event.result.content)
            if isinstance(event, TurnEnded):
                break
    assert asked == ["it would run outside of the sandbox"]
    assert "dangerouslyDisableSandbox" in ends["in"]
    assert target.exists() is (behavior == "allow")
