#!/usr/bin/env python3
"""Installs the real programs that Weft is tested against, outside the checkout.

    python3 scripts/peers.py install [NAME…]   all of them, or these; a warm install costs nothing
    python3 scripts/peers.py list              each peer, what it is made of, and whether it is there
    python3 scripts/peers.py path NAME         where its command is

The list is `scripts/peers.toml`. The cache is `$WEFT_PEERS`, or `~/.cache/weft-peers`. Each peer is stamped with a
hash of its entry; calls at the same time wait for each other. Exit code 1 names what failed.
"""

import fcntl
import hashlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LIST = Path(__file__).resolve().with_suffix(".toml")
LIMIT = 900
"""Seconds that one installer may take."""


class PeerError(Exception):
    """A peer cannot be installed or is not there; the message says which and why."""


def cache() -> Path:
    if os.environ.get("WEFT_PEERS"):
        return Path(os.environ["WEFT_PEERS"])
    # The real home, not $HOME: tests give themselves a fresh one.
    return Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "weft-peers"


def read_list() -> dict[str, dict[str, Any]]:
    return tomllib.loads(LIST.read_text())


def entry_of(name: str) -> dict[str, Any]:
    peers = read_list()
    if name not in peers:
        raise PeerError(f"{name}: no such peer in {LIST.name}; there are {', '.join(sorted(peers))}")
    return peers[name]


def stamp_of(entry: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def say(text: str) -> None:
    print(f"peers: {text}", file=sys.stderr, flush=True)


def run(name: str, command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except FileNotFoundError:
        raise PeerError(f"{name}: needs `{command[0]}`, which is not on the path") from None
    except subprocess.TimeoutExpired:
        raise PeerError(f"{name}: `{' '.join(command[:3])} …` took more than {LIMIT} s") from None
    if done.returncode:
        tail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-12:])
        raise PeerError(f"{name}: `{' '.join(command[:3])} …` failed with {done.returncode}:\n{tail}")


@contextmanager
def lock(name: str) -> Iterator[None]:
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / f".{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def install_npm(name: str, entry: dict[str, Any], folder: Path) -> None:
    wanted = entry.get("node")
    if wanted:
        try:
            found = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=30).stdout.strip()
        except FileNotFoundError:
            raise PeerError(f"{name}: needs Node {wanted}, and `node` is not on the path") from None
        if int(found.lstrip("v").split(".")[0] or 0) < wanted:
            raise PeerError(f"{name}: needs Node {wanted} or newer; this is {found}")
    (folder / "package.json").write_text('{"private": true}\n')
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    run(name, ["npm", "install", *quiet, *entry["npm"]], cwd=folder, env=entry.get("env"))


def install_pip(name: str, entry: dict[str, Any], folder: Path) -> None:
    venv = folder / "venv"
    python = str(venv / "bin" / "python")
    env = {"UV_SYSTEM_CERTS": "1", **entry.get("env", {})}
    if shutil.which("uv"):
        try:
            base = getattr(sys, "_base_executable", sys.executable)
            run(name, ["uv", "venv", "-q", "--clear", "-p", base, str(venv)], env=env)
            run(name, ["uv", "pip", "install", "-q", "-p", python, *entry["pip"]], env=env)
            return
        except PeerError as error:
            say(f"{error}\npeers: {name}: trying pip instead of uv")
    run(name, [sys.executable, "-m", "venv", "--clear", str(venv)])
    run(name, [python, "-m", "pip", "install", "-q", *entry["pip"]], env=env)


def install_apt(name: str, entry: dict[str, Any], folder: Path) -> None:
    if shutil.which(entry.get("bin", name)):
        return
    if os.getuid() != 0:
        raise PeerError(f"{name}: run as root: apt-get install {' '.join(entry['apt'])}")
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    # dpkg takes one at a time, and one fresh index serves them all.
    with lock("apt"):
        mark = cache() / ".apt-updated"
        if not mark.exists():
            run(name, ["apt-get", "update", "-q"], env=env)
            mark.touch()
        command = [
            "apt-get",
            "-o",
            "DPkg::Lock::Timeout=600",
            "install",
            "-q",
            "-y",
            "--no-install-recommends",
            *entry["apt"],
        ]
        try:
            run(name, command, env=env)
        except PeerError:
            run(name, ["apt-get", "update", "-q"], env=env)
            run(name, command, env=env)


INSTALLERS: dict[str, Callable[[str, dict[str, Any], Path], None]] = {
    "npm": install_npm,
    "pip": install_pip,
    "apt": install_apt,
}


def is_warm(name: str, entry: dict[str, Any]) -> bool:
    mark = cache() / name / "stamp"
    return mark.exists() and mark.read_text() == stamp_of(entry) and find(name, entry) is not None


def install(name: str) -> None:
    """
    Raises:
        PeerError: it could not be installed, or its command is not there afterwards.
    """
    entry = entry_of(name)
    if is_warm(name, entry):
        return
    with lock(name):
        if is_warm(name, entry):
            return
        say(f"installing {name} ({', '.join(w for kind in INSTALLERS for w in entry.get(kind, ()))})")
        folder = cache() / name
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        for kind, installer in INSTALLERS.items():
            if entry.get(kind):
                installer(name, entry, folder)
        if find(name, entry) is None:
            raise PeerError(f"{name}: installed, but there is no command `{entry.get('bin', name)}`")
        (folder / "stamp").write_text(stamp_of(entry))
        say(f"{name} is there")


def find(name: str, entry: dict[str, Any]) -> Path | None:
    command = entry.get("bin", name)
    for place in (cache() / name / "node_modules" / ".bin", cache() / name / "venv" / "bin"):
        if (place / command).exists():
            return place / command
    system = shutil.which(command) if entry.get("apt") else None
    return Path(system) if system else None


def path(name: str) -> Path:
    """
    Raises:
        PeerError: it is not installed, or an older version of its entry is.
    """
    entry = entry_of(name)
    found = find(name, entry) if is_warm(name, entry) else None
    if found is None:
        raise PeerError(f"{name}: not installed; run python3 scripts/peers.py install {name}")
    return found


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    what, names = argv[0], argv[1:]
    failed = False
    try:
        if what == "list":
            for name, entry in read_list().items():
                parts = " ".join(w for kind in INSTALLERS for w in entry.get(kind, ()))
                print(f"{name:20} {'there' if is_warm(name, entry) else 'absent':7} {parts}")
        elif what == "path" and len(names) == 1:
            print(path(names[0]))
        elif what == "install":
            for name in names or list(read_list()):
                try:
                    install(name)
                except PeerError as error:
                    say(str(error))
                    failed = True
        else:
            say(f"cannot do {' '.join(argv)!r}; see python3 scripts/peers.py --help")
            return 2
    except PeerError as error:
        say(str(error))
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
