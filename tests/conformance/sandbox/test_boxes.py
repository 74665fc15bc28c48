"""The real boxes: bubblewrap and Landlock on this machine, with real commands."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.peers import peer_bin
from weft.permissions.landlock_exec import abi
from weft.permissions.sandbox import Kind, Policy, Sandbox, available, sandbox_blocked

KINDS: list[Kind] = ["bubblewrap", "landlock"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    if found == "bubblewrap":
        peer_bin("bubblewrap")
    else:
        assert abi() > 0, "this kernel has no Landlock"
    return found


class Box:
    def __init__(self, kind: Kind, tmp_path: Path) -> None:
        self.root = tmp_path / "proj"
        self.root.mkdir()
        (self.root / ".git/hooks").mkdir(parents=True)
        (self.root / ".git/config").write_text("[core]\n")
        self.home = tmp_path / "home"
        (self.home / ".weft").mkdir(parents=True)
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh/id").write_text("private")
        self.outside = Path("/var/lib") / f"weft-box-{os.getpid()}"
        policy = Policy(roots=(str(self.root),), own=(str(self.home / ".weft"),), home=str(self.home))
        self.sandbox = Sandbox(policy, kind)
        self.kind = kind

    def run(self, line: str, **env: str) -> tuple[int, str]:
        argv, environment = self.sandbox(("/bin/sh", "-c", line), self.root, {"PATH": os.environ["PATH"], **env})
        done = subprocess.run(
            argv,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=20,
            check=False,
        )
        return done.returncode, done.stdout.decode()


@pytest.fixture
def box(kind: Kind, tmp_path: Path) -> Box:
    return Box(kind, tmp_path)


def test_the_workspace_and_temp_can_be_written_and_the_disk_can_be_read(box: Box) -> None:
    code, output = box.run(
        "echo hi > a.txt && mkdir d && mv a.txt d/b.txt && cat d/b.txt && head -c1 /etc/passwd >/dev/null"
    )
    assert (code, output) == (0, "hi\n")
    assert (box.root / "d/b.txt").read_text() == "hi\n"
    code, output = box.run('f=$(mktemp) && echo x > "$f" && rm "$f" && echo ok')
    assert (code, output) == (0, "ok\n")


@pytest.mark.parametrize(
    "line", ["echo x > {out}", "mkdir {out}", "touch /usr/x", "rm /etc/passwd", "echo x >> /etc/hosts"]
)
def test_nothing_outside_is_written_and_that_is_recognised(box: Box, line: str) -> None:
    code, output = box.run(line.format(out=box.outside))
    assert code != 0 and not box.outside.exists()
    assert sandbox_blocked(output, code, box.kind)
    assert not sandbox_blocked(output, 0, box.kind)


def test_a_folder_that_the_command_chose_does_not_become_writable(box: Box) -> None:
    argv, env = box.sandbox(("/bin/sh", "-c", "touch /opt/x-weft"), Path("/opt"), {"PATH": os.environ["PATH"]})
    assert subprocess.run(argv, cwd="/opt", env=env, capture_output=True, check=False).returncode != 0
    assert not Path("/opt/x-weft").exists()


def test_a_symlink_out_of_the_workspace_does_not_lead_out(box: Box) -> None:
    code, _ = box.run(f"ln -s /etc out && touch out/weft-x; ln -s {box.outside} l; echo x > l")
    assert code != 0 and not Path("/etc/weft-x").exists() and not box.outside.exists()


def test_there_is_no_network_unless_it_is_allowed(box: Box) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('connected')"
        code, output = box.run(f'python3 -c "{program}"')
        assert code != 0 and "connected" not in output
        policy = Policy(roots=box.sandbox.policy.roots, network=True)
        argv, env = Sandbox(policy, box.kind)(("python3", "-c", program), box.root, {"PATH": os.environ["PATH"]})
        assert b"connected" in subprocess.run(argv, cwd=box.root, env=env, capture_output=True, check=False).stdout


def test_secrets_are_not_in_the_environment(box: Box) -> None:
    _, output = box.run("env", MY_API_KEY="s1", GITHUB_TOKEN="s2", GIT_AUTHOR_NAME="me", DB="postgres://u:s3@h/x")
    assert "s1" not in output and "s2" not in output and "s3" not in output and "GIT_AUTHOR_NAME=me" in output


def test_bubblewrap_keeps_steering_files_also_those_that_are_missing(tmp_path: Path) -> None:
    peer_bin("bubblewrap")
    box = Box("bubblewrap", tmp_path)
    for line in (
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "mkdir -p .claude && echo x > .claude/settings.json",
        "mkdir -p .weft && echo x > .weft/settings.json",
        "mv .claude c; mkdir .claude && echo x > .claude/settings.json",
        "rm -rf .git/hooks",
        f"echo x > {box.home}/.weft/settings.json",
        f"cat {box.home}/.ssh/id",
    ):
        code, output = box.run(line)
        assert code != 0, (line, output)
    assert list((box.root / ".git/hooks").iterdir()) == []
    box.sandbox.close()
    assert not (box.root / ".claude").exists()


def test_bubblewrap_lets_git_work_in_the_workspace(tmp_path: Path) -> None:
    peer_bin("bubblewrap")
    box = Box("bubblewrap", tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=box.root, check=True)
    code, output = box.run(
        "echo x > f && git add f && git -c user.name=a -c user.email=b commit -qm x && git log --oneline"
    )
    assert code == 0, output


def test_what_is_available_was_tried_for_real() -> None:
    peer_bin("bubblewrap")
    kind, sentence = available()
    assert kind == "bubblewrap" and sentence
