"""The box that commands and hooks run in: bubblewrap where it works, Landlock otherwise, or a statement that there is
none.

Inside, the whole disk can be read but only the workspace and temp can be written; files that steer agents, editors and
git stay as they are, also those that do not exist yet; there is no network unless it was allowed; secrets are taken
out of the environment. The writable folders are the session's, never what a command chose as its own.
"""

import atexit
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from weft import paths
from weft.permissions import landlock_exec
from weft.permissions.paths import within_any
from weft.settings import Settings
from weft.settings.layers import as_object, as_strings

Kind = Literal["bubblewrap", "landlock", "none"]

_STEERING = (
    ".claude",
    ".weft",
    ".vscode",
    ".idea",
    ".husky",
    ".devcontainer",
    ".mcp.json",
    ".envrc",
    ".git/hooks",
    ".git/config",
    ".gitmodules",
)
_STEERING_FOLDERS = (".claude", ".weft", ".vscode")
"""Those of a project that are made, empty, while commands run, so that nothing can make them."""
_PRIVATE = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".kube",
    ".docker",
    ".netrc",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
)
_SOCKETS = ("tmux-", "ssh-", ".X11-unix", ".ICE-unix", "screen", "dbus-")
_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|KEY|TOKEN|SECRETS?|PASSWORD|PASSWD|PASS|PASSPHRASE|CREDENTIALS?|AUTH|COOKIE|PRIVATE|PAT)"
    r"(?:_|$)|APIKEY|AUTH_SOCK|DBUS_SESSION",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"://[^/@\s:]*:[^/@\s]+@")


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What the box lets through. All paths are absolute and resolved."""

    roots: tuple[str, ...]
    writable: tuple[str, ...] = ()
    network: bool = False
    keep_env: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    home: str = "/"


@cache
def available() -> tuple[Kind, str]:
    """What this machine has, tried for real once, and a sentence about it."""
    bwrap = shutil.which("bwrap")
    reason = "bubblewrap is not installed"
    if bwrap:
        probe = [
            bwrap,
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--unshare-net",
            "--unshare-pid",
            "true",
        ]
        try:
            done = subprocess.run(probe, capture_output=True, timeout=5, check=False)
            if done.returncode == 0:
                return "bubblewrap", "commands run in bubblewrap"
            reason = f"bubblewrap does not work here ({done.stderr.decode('utf-8', 'replace').strip()[:200]})"
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = f"bubblewrap does not work here ({error})"
    version = landlock_exec.abi() if sys.platform == "linux" else 0
    if version:
        limits = "" if version >= 4 else "; this kernel cannot keep it off the network"
        return "landlock", f"{reason}; commands run under Landlock, which cannot protect single files{limits}"
    return "none", f"{reason} and the kernel has no Landlock: commands run without a sandbox"


class Sandbox:
    """Wraps commands of one session. `close` takes away what was put into the workspace for it."""

    def __init__(self, policy: Policy, kind: Kind) -> None:
        self.policy = policy
        self.kind = kind
        self._made: list[str] = []

    def __call__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """What to start instead, and with which environment."""
        clean = filter_env(env, self.policy.keep_env)
        if self.kind == "bubblewrap":
            return (*self._bubblewrap(cwd), "--", *argv), clean
        if self.kind == "landlock":
            return (*self._landlock(), "--", *argv), clean
        return tuple(argv), clean

    def close(self) -> None:
        for folder in self._made:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        self._made.clear()

    def _landlock(self) -> tuple[str, ...]:
        policy = {"write": [*self._writable(), "/dev"], "network": self.policy.network}
        return sys.executable, "-I", "-S", landlock_exec.__file__, msgspec.json.encode(policy).decode()

    def _writable(self) -> list[str]:
        return list(dict.fromkeys([*temp_folders(), *self.policy.writable, *self.policy.roots]))

    def _bubblewrap(self, cwd: Path) -> list[str]:
        argv = [
            shutil.which("bwrap") or "bwrap",
            "--die-with-parent",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
        ]
        if not self.policy.network:
            argv.append("--unshare-net")
        argv += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        argv += self._without_sockets()
        for folder in self._writable():
            if os.path.isdir(folder):
                argv += ["--bind", folder, folder]
        for path in self._kept():
            argv += ["--ro-bind", path, path]
        if not self.policy.network:
            for path in self._private():
                argv += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
        return [*argv, "--chdir", str(cwd)]

    def _without_sockets(self) -> list[str]:
        """Servers that would run things outside for whoever can reach their socket."""
        hidden = ["/run"] if not self.policy.network else ["/run/user", "/run/dbus"]
        argv = [word for folder in hidden if os.path.isdir(folder) for word in ("--tmpfs", folder)]
        for socket in ("/run/docker.sock", "/run/podman/podman.sock"):
            if self.policy.network and os.path.exists(socket):
                argv += ["--ro-bind", "/dev/null", socket]
        return argv

    def _kept(self) -> list[str]:
        """What stays as it is inside of the writable folders."""
        kept: list[str] = []
        for root in self.policy.roots:
            for name in _STEERING_FOLDERS:
                self._make(os.path.join(root, name))
            kept += [os.path.join(root, name) for name in _STEERING]
            kept += [os.path.join(root, name) for name in _START_FILES]
        kept += list(self.policy.own)
        writable = self._writable()
        return [
            path
            for path in dict.fromkeys(kept)
            if os.path.lexists(path)
            and not os.path.islink(path)
            and within_any(path, writable)
            and not within_any_strictly(self.policy.roots, path)
        ]

    def _make(self, folder: str) -> None:
        if not os.path.lexists(folder):
            with contextlib.suppress(OSError):
                os.mkdir(folder, 0o755)
                if not self._made:
                    atexit.register(self.close)
                self._made.append(folder)

    def _private(self) -> list[str]:
        found = [os.path.join(self.policy.home, name) for name in _PRIVATE]
        temp = temp_folders()[0]
        with contextlib.suppress(OSError):
            found += [entry.path for entry in os.scandir(temp) if entry.name.startswith(_SOCKETS)]
        return [
            path
            for path in found
            if os.path.lexists(path)
            and not os.path.islink(path)
            and not within_any_strictly(self.policy.roots, path)
            and path not in self.policy.roots
        ]


_START_FILES = (
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".gitconfig",
    ".npmrc",
    ".claude.json",
)


def within_any_strictly(folders: Iterable[str], parent: str) -> bool:
    """Whether one of the folders lies inside of `parent`, so that covering it would cover the workspace."""
    return any(folder != parent and folder.startswith(f"{parent.rstrip('/')}/") for folder in folders)


def temp_folders() -> list[str]:
    return list(dict.fromkeys(os.path.realpath(path) for path in (tempfile.gettempdir(), "/tmp", "/var/tmp")))


def filter_env(env: Mapping[str, str], keep: Iterable[str] = ()) -> dict[str, str]:
    """The environment without what looks like a secret, by its name or by a password in its value."""
    kept = frozenset(keep)
    return {
        name: value
        for name, value in env.items()
        if name in kept or not (_SECRET.search(name) or _PASSWORD_IN_URL.search(value))
    }


_BLOCKED = re.compile(
    r"Read-only file system|Network is unreachable|Temporary failure in name resolution|Could not resolve host"
    r"|Name or service not known|ENETUNREACH|EROFS|EAI_AGAIN|getaddrinfo|weft: the sandbox|bwrap: "
)
_DENIED = re.compile(r"Permission denied|Operation not permitted|EACCES|EPERM")


def sandbox_blocked(output: str, code: int, kind: Kind = "bubblewrap") -> str:
    """Why a command probably failed because of the box, or an empty string. Then it may be asked about again without
    it."""
    if code == 0 or kind == "none":
        return ""
    found = _BLOCKED.search(output) or (_DENIED.search(output) if kind == "landlock" else None)
    return f"the sandbox may have stopped it: {found[0]}" if found else ""


def open_sandbox(
    settings: Settings, *, roots: Sequence[str | Path], env: Mapping[str, str] | None = None
) -> tuple[Sandbox | None, str]:
    """The box that the settings ask for, and a sentence for people. None when it is off or there is none."""
    section = settings.section("sandbox")
    if section.get("enabled") is not True:
        return None, "the sandbox is off; set sandbox.enabled in the settings to switch it on"
    kind, sentence = available()
    if kind == "none":
        return None, sentence
    network = section.get("network")
    policy = Policy(
        roots=tuple(os.path.realpath(root) for root in roots),
        writable=tuple(os.path.realpath(os.path.expanduser(path)) for path in as_strings(section.get("allowWrite"))),
        network=network is True or as_object(network).get("allow") is True,
        keep_env=as_strings(section.get("keepEnv")),
        own=tuple(
            os.path.realpath(path)
            for path in (paths.weft_home(env), paths.claude_home(env), paths.user_home(env) / ".claude.json")
        ),
        home=str(paths.user_home(env)),
    )
    return Sandbox(policy, kind), sentence
