"""How each agent of a bench is started against `bench/model.py`: its command, variables and files in a fresh home."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRA = Path.home() / ".cache" / "weft-bench"
"""Peers that only the bench needs, each in a virtual environment of its own: `bench/startup.py --install`."""
PYPI = {
    "vibe": (("mistral-vibe==2.18.4",), "vibe"),
    "aider": (("aider-chat==0.86.2",), "aider"),
    "mini-swe-agent": (("mini-swe-agent==2.4.6", "mcp<2"), "mini"),
    "openhands": (("openhands-sdk==1.58.0", "openhands-tools==1.58.0"), "python"),
}


@dataclass(frozen=True)
class Agent:
    name: str
    binary: Path
    command: Callable[[str], list[str]]
    """The whole command line for a prompt."""
    env: Callable[[str], dict[str, str]] = lambda _: {}
    """Variables, given the model's address. `{home}` stands for the fresh home."""
    files: Callable[[str], dict[str, str]] = lambda _: {}
    """Files below the home, given the model's address."""
    tools: bool = True
    """Whether it takes a shell call from the model (aider does not)."""
    tags: frozenset[str] = field(default_factory=frozenset[str])


def _peers() -> Path:
    return Path(os.environ.get("WEFT_PEERS") or Path.home() / ".cache" / "weft-peers")


def _npm(peer: str, tail: str) -> Path:
    return _peers() / peer / "node_modules" / tail


CODEX_CONFIG = """model = "fake-model"
model_provider = "fake"
approval_policy = "never"
check_for_update_on_startup = false
[model_providers.fake]
name = "Fake"
base_url = "{base}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
"""
KIMI_CONFIG = """default_model = "fake"
telemetry = false
[providers.fake]
type = "openai"
base_url = "{base}/v1"
api_key = "x"
[models.fake]
provider = "fake"
model = "fake-model"
max_context_size = 100000
"""
VIBE_CONFIG = """active_model = "fake"
enable_update_checks = false
enable_telemetry = false
[[providers]]
name = "fake"
api_base = "{base}/v1"
api_key_env_var = "FAKE_KEY"
api_style = "openai"
backend = "generic"
[[models]]
name = "fake-model"
provider = "fake"
alias = "fake"
"""


def _opencode(base: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{base}/v1", "apiKey": "x"},
        "models": {"fake-model": {"name": "Fake model", "tool_call": True}},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "permission": {"bash": "allow", "edit": "allow"},
        "provider": {"fake": provider},
    }
    return {".config/opencode/opencode.json": json.dumps(config)}


def _quiet_settings(folder: str, kind: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": kind}},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    return {f"{folder}/settings.json": json.dumps(settings)}


def agents() -> list[Agent]:
    """Every agent that the bench knows; only those whose binary is there can run."""
    claude = _npm("claude", ".bin/claude")
    codex = _npm("codex", ".bin/codex")
    # What the launcher of the npm package starts: the command without Node's share.
    codex_binary = _npm("codex", "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")
    gemini = _npm("gemini", "@google/gemini-cli/bundle/gemini.js")
    qwen = _npm("qwen", "@qwen-code/qwen-code/cli.js")
    opencode = _npm("opencode", ".bin/opencode")
    kimi = _npm("kimi", ".bin/kimi")
    kimi_node = str(_npm("kimi", ".bin/node"))
    vibe, aider, mini, openhands = (EXTRA / name / "venv" / "bin" / PYPI[name][1] for name in PYPI)
    weft = Path(sys.executable).parent / "weft"
    # As a person has it: the wheel in an environment of its own, on the Python of the system.
    installed = EXTRA / "weft" / "venv" / "bin" / "weft"
    anthropic = {"ANTHROPIC_API_KEY": "fake"}
    claude_env = {
        **anthropic,
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return [
        *(
            Agent(
                name,
                binary,
                lambda p, binary=binary: [str(binary), "-p", p, "--allowedTools", "Bash"],
                lambda base: {**anthropic, "ANTHROPIC_BASE_URL": base},
            )
            for name, binary in (("weft", weft), ("weft-installed", installed))
        ),
        Agent(
            "claude",
            claude,
            lambda p: [str(claude), "-p", p, "--allowedTools", "Bash"],
            lambda base: {**claude_env, "ANTHROPIC_BASE_URL": base},
        ),
        *(
            Agent(
                name,
                binary,
                lambda p, binary=binary: [str(binary), "exec", "--skip-git-repo-check", "-s", "danger-full-access", p],
                lambda base: {"CODEX_HOME": "{home}/.codex"},
                lambda base: {".codex/config.toml": CODEX_CONFIG.replace("{base}", base)},
            )
            for name, binary in (("codex", codex), ("codex-binary", codex_binary))
        ),
        Agent(
            "vibe",
            vibe,
            lambda p: [str(vibe), "-p", p, "--auto-approve"],
            lambda base: {"FAKE_KEY": "x", "VIBE_HOME": "{home}/.vibe"},
            lambda base: {".vibe/config.toml": VIBE_CONFIG.replace("{base}", base)},
        ),
        Agent(
            "gemini",
            gemini,
            lambda p: ["node", str(gemini), "--yolo", "-m", "gemini-2.5-flash", "-p", p],
            lambda base: {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": base, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
            lambda base: _quiet_settings(".gemini", "gemini-api-key"),
        ),
        Agent(
            "qwen",
            qwen,
            lambda p: ["node", str(qwen), "--yolo", p],
            lambda base: {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{base}/v1", "OPENAI_MODEL": "fake-model"},
            lambda base: _quiet_settings(".qwen", "openai"),
        ),
        Agent(
            "opencode",
            opencode,
            lambda p: [str(opencode), "run", p],
            lambda base: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
            _opencode,
        ),
        Agent(
            "kimi",
            kimi,
            lambda p: [kimi_node, str(kimi), "-p", p],
            lambda base: {"KIMI_CODE_HOME": "{home}/.kimi-code"},
            lambda base: {".kimi-code/config.toml": KIMI_CONFIG.replace("{base}", base)},
        ),
        Agent(
            "mini-swe-agent",
            mini,
            lambda p: [str(mini), "-m", "openai/fake-model", "-y", "--exit-immediately", "-t", p, "-l", "0"],
            lambda base: {
                "OPENAI_API_KEY": "x",
                "OPENAI_API_BASE": f"{base}/v1",
                "MSWEA_CONFIGURED": "true",
                "MSWEA_COST_TRACKING": "ignore_errors",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            },
        ),
        Agent(
            "openhands",
            openhands,
            lambda p: [str(openhands), "-P", str(ROOT / "bench" / "openhands_prompt.py"), p],
            lambda base: {
                "LLM_BASE_URL": f"{base}/v1",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "OPENHANDS_SUPPRESS_BANNER": "1",
            },
        ),
        Agent(
            "aider",
            aider,
            lambda p: [
                *(str(aider), "--model", "openai/fake-model", "--message", p, "--yes-always", "--no-git"),
                *("--no-check-update", "--no-show-model-warnings", "--analytics-disable", "--no-pretty"),
            ],
            lambda base: {
                "OPENAI_API_KEY": "x",
                "OPENAI_API_BASE": f"{base}/v1",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            },
            tools=False,
        ),
    ]
