"""What `weft --version` and `weft -p` load before their first request: nothing that they do not use."""

import sys
from collections import Counter
from pathlib import Path

import anyio

from tests.integration.test_cli import environment
from weft.testing.fake_anthropic import FakeAnthropic

PACKAGES = {"anyio", "msgspec", "sniffio", "typing_extensions", "weft"}
ROOMS = {
    "agent": 29,
    "cli": 9,
    "connect": 3,
    "context": 12,
    "errors": 1,
    "extend": 2,
    "exits": 1,
    "hooks": 3,
    "mcp": 2,
    "paths": 1,
    "permissions": 8,
    "protocols": 8,
    "providers": 8,
    "schema": 11,
    "sdk": 13,
    "serve": 2,
    "sessions": 8,
    "settings": 3,
    "tools": 8,
    "transports": 3,
    "workspace": 3,
}
"""How many modules of each room a plain prompt may load. One more wants a reason; a heavy one wants a lazy import."""


NOT_USED = {"argparse", "gettext", "hashlib", "json", "shutil", "tempfile", "unicodedata", "zlib"}
"""Of the standard library: what costs a millisecond or more, and a plain prompt has no use for."""

PROGRAM = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, sep="\\n", file=sys.stderr))
from weft.cli.main import entry
entry()
"""


async def loaded(cwd: Path, home: Path, server: FakeAnthropic, *arguments: str) -> set[str]:
    """The names of all modules at the end of a run."""
    line = [sys.executable, "-c", PROGRAM, *arguments]
    with anyio.fail_after(60):
        done = await anyio.run_process(line, cwd=cwd, env=environment(server, home), input=b"", check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.decode().split())


def outside_packages(names: set[str]) -> set[str]:
    tops = {name.split(".")[0] for name in names}
    own = {"sitecustomize", "usercustomize", "org"}
    return {top for top in tops if top not in sys.stdlib_module_names and not top.startswith("_") and top not in own}


async def test_a_prompt_loads_the_listed_packages_and_no_more_of_a_room_than_is_listed(
    tmp_path: Path, fresh_home: Path
):
    async with FakeAnthropic(["ok"]) as server:
        names = await loaded(tmp_path, fresh_home, server, "-p", "hi")
    assert outside_packages(names) <= PACKAGES
    assert not names & NOT_USED
    rooms = Counter(name.split(".")[1] for name in names if name.startswith("weft."))
    over = {room: count for room, count in rooms.items() if count > ROOMS.get(room, 0)}
    assert over == {}


async def test_the_version_loads_next_to_nothing(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([]) as server:
        names = await loaded(tmp_path, fresh_home, server, "--version")
    assert outside_packages(names) == {"weft"}
    assert sum(name.startswith("weft") for name in names) <= 4
