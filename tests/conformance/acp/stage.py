"""`weft acp` as a person runs it, with the scripted model behind it, and the drivers in front of it."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from tests.conformance.acp.model import DIFF_FILE, script
from tests.peers import peer_folder, peer_python
from weft.testing.fake_anthropic import FakeAnthropic

DRIVERS = Path(__file__).parent / "drivers"
LIMIT = 600
PATIENCE = ("--timeout", "150")
"""What the drivers take for their own limit of one scenario: it is how long they wait, not what they expect."""
SETTINGS = {"permissions": {"allow": ["Read", "Edit(//**/sub/**)"]}}
"""What a person might have allowed: reading anything, and writing below folders called `sub`."""


class Stage:
    """A home of its own for Weft, and the address of its model."""

    def __init__(self, home: Path, model: FakeAnthropic) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir()
        settings = home / ".weft" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps(SETTINGS))
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "WEFT_HOME": str(home / ".weft"),
            "LANG": "C.UTF-8",
            "IS_SANDBOX": "1",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            **model.env(),
        }
        self.argv = [sys.executable, "-m", "weft", "acp"]

    @property
    def command(self) -> str:
        """For drivers that start the agent themselves: one word, so that no client has to understand quotes."""
        path = self.home / "weft-acp"
        lines = [f"export {name}='{value}'" for name, value in self.env.items()]
        path.write_text("\n".join(["#!/bin/bash", *lines, f'exec {" ".join(self.argv)} "$@"', ""]))
        path.chmod(0o755)
        return str(path)

    async def drive(self, argv: Sequence[str | Path], **env: str) -> str:
        """A driver's output; its failure is an assertion with the lines that say why.

        What failed is run once more: some clients have limits inside that nobody can set, and a crowded machine goes
        over them.
        """
        done = await self._run(argv, env)
        if done.returncode != 0:
            done = await self._run(argv, env)
        said = done.stdout.decode("utf-8", "replace")
        bad = "\n".join(line for line in said.splitlines() if not line.startswith("PASS"))
        assert done.returncode == 0, f"{bad}\n{done.stderr.decode('utf-8', 'replace')[-3000:]}"
        return said

    async def _run(self, argv: Sequence[str | Path], env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
        with anyio.fail_after(LIMIT):
            return await anyio.run_process(
                [str(part) for part in argv],
                env={**self.env, "PYTHONDONTWRITEBYTECODE": "1", **env},
                cwd=self.work,
                check=False,
            )

    @asynccontextmanager
    async def listening(self, *flags: str) -> AsyncIterator[str]:
        """`weft acp --port`: its address, while it runs."""
        async with await anyio.open_process(
            [*self.argv, "--port", "0", *flags], env=self.env, cwd=self.work, stderr=None
        ) as process:
            try:
                assert process.stdout is not None
                with anyio.fail_after(60):
                    said = b""
                    while b"\n" not in said:
                        said += await process.stdout.receive()
                yield said.decode().split()[-1]
            finally:
                process.terminate()


@asynccontextmanager
async def staged(home: Path) -> AsyncIterator[Stage]:
    async with FakeAnthropic(script, models=("fake-1", "fake-2")) as model:
        try:
            yield Stage(home, model)
        finally:
            for left in Path("/tmp").glob(f"{DIFF_FILE}-*.txt"):
                left.unlink(missing_ok=True)


def python() -> Path:
    return peer_python("acp-py")


def modules() -> Path:
    return peer_folder("acp-js") / "node_modules"


def schema(version: int = 1) -> Path:
    return modules() / "@agentclientprotocol" / "sdk" / "schema" / f"v{version}" / "schema.json"
