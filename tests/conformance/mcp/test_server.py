"""`weft mcp serve` against the official server scenarios that apply: those that need no made-up tools."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.mcp import harness

SCENARIOS = {
    "0.1.16": ("server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"),
    "0.2.0-alpha.12": (
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "tools-list",
        "tools-call-error",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params",
    ),
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    server = subprocess.Popen(
        [sys.executable, "-m", "weft", "mcp", "serve", "--http", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(10)
        server.stdout.close()


@pytest.mark.parametrize(
    ("version", "scenario"), [(version, name) for version, names in SCENARIOS.items() for name in names]
)
def test_the_server_scenario_passes(version: str, scenario: str, address: str, tmp_path: Path):
    arguments = ("server", "--url", address, "--scenario", scenario, "-o", str(tmp_path / "out"))
    code, text = harness.run(version, *arguments, home=tmp_path, alone=False)
    assert code == 0 and ", 0 failed" in text, text
