"""What `weft -p` loads on its way to the first answer: nothing heavy, and no more modules than now."""

import re
import sys
from pathlib import Path

import anyio

from tests.suites.processes import environment
from weft.testing.fake_anthropic import FakeAnthropic

HEAVY = (
    *("httpx", "pydantic", "mcp", "textual", "starlette", "uvicorn", "websockets", "h11", "yaml", "pygments"),
    *("tree_sitter", "markdown_it", "nh3", "watchfiles", "anthropic", "openai", "tempfile", "shutil", "random"),
)
MOST = 420
"""Modules in all, the standard library's included."""


async def test_a_prompt_loads_nothing_heavy(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["Hello."]) as server:
        command = [sys.executable, "-X", "importtime", "-m", "weft", "-p", "hi"]
        with anyio.fail_after(30):
            done = await anyio.run_process(command, cwd=tmp_path, env=environment(fresh_home, server), check=False)
    assert done.stdout == b"Hello.\n"
    loaded = re.findall(r"^import time:[^|]*\|[^|]*\| *(\S+)", done.stderr.decode(), re.MULTILINE)
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]
    assert len(loaded) < MOST, len(loaded)
