"""What every test gets: asyncio, and a home of its own."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no failure of a property: what has to be fast is measured, not guessed from one example.
settings.register_profile("weft", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("weft")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def fresh_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the person's own files, keys or running editors."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "WEFT_HOME",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_AGENT_SDK_VERSION",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    return home
