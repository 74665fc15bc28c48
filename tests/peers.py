"""Where the real peers are. A peer that is missing is installed; one that cannot be is an error, never a skip."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

_SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "peers.py"


@cache
def _peers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("weft_peers", _SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["weft_peers"] = module
    spec.loader.exec_module(module)
    return module


def peer_bin(name: str) -> Path:
    """The peer's command, installed if need be.

    Raises:
        PeerError: it cannot be installed; the message says why.
    """
    _peers().install(name)
    return _peers().path(name)


def peer_folder(name: str) -> Path:
    """The peer's own folder in the cache: `node_modules` or `venv` is below it."""
    _peers().install(name)
    return _peers().cache() / name


def peer_python(name: str) -> Path:
    """The Python of a peer that pip installed into its own environment."""
    return peer_folder(name) / "venv" / "bin" / "python"


def peer_cache() -> Path:
    """The cache itself, for what no package manager installs."""
    return _peers().cache()
