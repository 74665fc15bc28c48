"""The example plug-ins, built and installed as wheels."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


def install_examples(folder: Path) -> Path:
    """Builds both examples and installs the wheels into a site-packages of their own; returns it."""
    wheels, site = folder / "wheels", folder / "site-packages"
    for example in sorted(EXAMPLES.iterdir()):
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
        subprocess.run(build, cwd=example, check=True, capture_output=True, timeout=60)
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*install, *map(str, sorted(wheels.glob("*.whl")))], check=True, capture_output=True, timeout=60)
    return site
