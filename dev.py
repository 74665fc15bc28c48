#!/usr/bin/env python3
"""Sets up `.venv` and runs something in it: needs python3 with pip and git, nothing else.

    python3 dev.py weft demo        run Weft from this checkout
    python3 dev.py test [ARGS]      the test suite (pytest arguments pass through)
    python3 dev.py run CMD [ARGS]   any command of the environment
    python3 dev.py setup            only make the environment

The environment is stamped with a hash of what was asked for, so a warm start costs nothing.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
WANTED = ("pyproject.toml", "constraints.txt")


def stamp() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for name in WANTED:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def install() -> None:
    target = ["-c", "constraints.txt", "-e", ".[dev]"]
    uv = shutil.which("uv")
    if uv:
        env = {**os.environ, "UV_SYSTEM_CERTS": "1"}
        python = str(BIN / "python")
        made = subprocess.run([uv, "venv", "-q", "--allow-existing", str(VENV)], cwd=ROOT, env=env)
        if made.returncode == 0:
            done = subprocess.run([uv, "pip", "install", "-q", "-p", python, *target], cwd=ROOT, env=env)
            if done.returncode == 0:
                return
        print("dev.py: uv could not install; trying pip", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True, cwd=ROOT)
    subprocess.run([str(BIN / "python"), "-m", "pip", "install", "-q", *target], check=True, cwd=ROOT)


def setup() -> None:
    mark = VENV / "weft-stamp"
    wanted = stamp()
    if mark.exists() and mark.read_text() == wanted:
        return
    print("dev.py: setting up .venv (about a minute the first time)", file=sys.stderr)
    install()
    mark.write_text(wanted)


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    setup()
    what, rest = argv[0], argv[1:]
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}", "VIRTUAL_ENV": str(VENV)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    if what == "setup":
        return 0
    if what == "test":
        workers = [] if any(word.startswith("-n") for word in rest) else ["-n", str(min(os.cpu_count() or 1, 4))]
        # Tests with processes and sockets get one second try on a busy machine; the summary names who needed it.
        command = [str(BIN / "python"), "-m", "pytest", *workers, "--reruns", "1", "-r", "R", *rest]
    elif what == "weft":
        command = [str(BIN / "python"), "-m", "weft", *rest]
    elif what == "run":
        command = rest
    else:
        print(f"dev.py: unknown command {what!r}; see python3 dev.py --help", file=sys.stderr)
        return 2
    return subprocess.run(command, env=env).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
