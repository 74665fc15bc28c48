"""Projects from PyPI to work on: brought once, kept, and copied into each fresh folder."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from weft.errors import UsageError
from weft.transports.capture import capture

_LIMIT: Final = 300.0


async def bring(package: str, cache: Path) -> Path:
    """The folder with the package's own files.

    Raises:
        UsageError: it cannot be brought.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.]+", package):
        raise UsageError(f"{package!r} is no package with its version, such as inflection==0.5.1")
    place = cache / package.replace("==", "-")
    if not place.is_dir():
        fresh = _fresh(cache)
        try:
            await _install(package, fresh)
            if not place.is_dir():
                os.replace(fresh, place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return place


def _fresh(cache: Path) -> Path:
    cache.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=cache, prefix=".new-"))


async def _install(package: str, folder: Path) -> None:
    uv = shutil.which("uv")
    options = ("--no-deps", "--only-binary", ":all:", "--target", str(folder), package)
    if uv is not None:
        argv = (uv, "pip", "install", "--quiet", "--python", sys.executable, *options)
    else:
        argv = (sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", *options)
    done = await capture(argv, limit=_LIMIT, stderr="merge")
    if done.code != 0:
        raise UsageError(f"{package} cannot be brought from PyPI: {done.text.strip()[-400:]}")


def copy(place: Path, folder: Path) -> None:
    """The package alone: what tells of its installation is left out."""
    left_out = shutil.ignore_patterns("*.dist-info", "__pycache__", "bin", ".lock", "*.pyc")
    shutil.copytree(place, folder, dirs_exist_ok=True, ignore=left_out)
