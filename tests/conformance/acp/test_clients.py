"""Real ACP clients drive `weft acp`: both official SDKs, both iFlow SDKs, and acpx. The drivers are used unchanged."""

from pathlib import Path

import pytest

from tests.conformance.acp.stage import DRIVERS, PATIENCE, modules, python, schema, staged

IFLOW_JS = "@iflow-ai/iflow-cli-sdk/dist/index.mjs"


async def test_the_protocol_checks_are_clean_and_everything_sent_is_valid(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        said = await stage.drive(
            [
                python(),
                DRIVERS / "conform_v1.py",
                *PATIENCE,
                "--schema",
                schema(),
                "--tool-prompts",
                "hello|PERMISSION|FSREAD {cwd}/none|QUESTION|PLAN",
                "--",
                stage.command,
            ]
        )
    assert [line for line in said.splitlines() if not line.startswith("PASS")] == []


async def test_the_official_python_sdk_on_pipes(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.drive([python(), DRIVERS / "drive_acp_py.py", *PATIENCE, "--cmd", stage.command])


async def test_the_official_typescript_sdk_on_pipes(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.drive(
            ["node", DRIVERS / "drive_acp_ts.mjs", *PATIENCE, "--cmd", stage.command], ACP_SDK_DIR=str(modules())
        )


async def test_acpx_on_pipes(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.drive(
            ["bash", DRIVERS / "drive_acpx.sh", stage.command], ACPX=f"node {modules() / '.bin' / 'acpx'}"
        )


@pytest.mark.parametrize("deflate", [True, False])
async def test_the_official_sdks_on_a_websocket(tmp_path: Path, deflate: bool) -> None:
    flags = [] if deflate else ["--no-deflate"]
    async with staged(tmp_path) as stage, stage.listening(*flags) as url:
        assert "?token=" in url
        await stage.drive([python(), DRIVERS / "drive_acp_py.py", *PATIENCE, "--url", url])
        await stage.drive(["node", DRIVERS / "drive_acp_ts.mjs", *PATIENCE, "--url", url], ACP_SDK_DIR=str(modules()))


@pytest.mark.parametrize("deflate", [True, False])
async def test_the_iflow_python_sdk(tmp_path: Path, deflate: bool) -> None:
    flags = [] if deflate else ["--no-deflate"]
    async with staged(tmp_path) as stage, stage.listening("--no-token", *flags) as url:
        await stage.drive([python(), DRIVERS / "drive_iflow_py.py", *PATIENCE, "--url", url])


@pytest.mark.parametrize("deflate", [True, False])
@pytest.mark.parametrize("patched", [False, True])
async def test_the_iflow_javascript_sdk(tmp_path: Path, deflate: bool, patched: bool) -> None:
    flags = [] if deflate else ["--no-deflate"]
    async with staged(tmp_path) as stage, stage.listening("--no-token", *flags) as url:
        await stage.drive(
            ["node", DRIVERS / "drive_iflow_js.mjs", "--url", url, *(["--patch"] if patched else [])],
            IFLOW_SDK=str(modules() / IFLOW_JS),
        )


async def test_the_official_typescript_sdk_for_the_draft_of_version_2(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        driver = Path(__file__).parent / "drive_v2.mjs"
        await stage.drive(["node", driver, stage.command, "--draft-v2"], ACP_SDK_DIR=str(modules()))
