"""Lock files, from both sides: private, found by the rules of the real agents, never trusted too far."""

import json
import os
import stat
from pathlib import Path

import pytest

from weft.errors import WorkspaceError
from weft.ide.lockfile import LockFile, Seat, keep_seat, last_seat, new_seat, private_folder
from weft.protocols.ide.lock import Lock, decode_lock, encode_lock
from weft.workspace.ide.locks import choose, default_gateway, find_locks, listener_is_foreign, lock_folders


def write(home: Path, port: int, **fields: object) -> Path:
    folder = home / ".claude" / "ide"
    folder.mkdir(parents=True, exist_ok=True)
    value = {"pid": os.getpid(), "workspaceFolders": ["/x/ws"], "ideName": "E", "transport": "ws", "authToken": "t"}
    path = folder / f"{port}.lock"
    path.write_text(json.dumps({key: item for key, item in {**value, **fields}.items() if item != "absent"}))
    path.chmod(0o600)
    return path


def test_a_lock_survives_the_way_to_disk_and_back() -> None:
    lock = Lock(port=12345, pid=7, folders=("/a", "/b"), ide_name="Weft", token="t" * 36, extra={"more": 1})
    assert decode_lock("12345.lock", encode_lock(lock)) == lock


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.lock", b"{}"),
        ("12345.txt", b"{}"),
        ("99999.lock", b"{}"),
        ("0.lock", b"{}"),
        ("1234567.lock", b"{}"),
        ("12345.lock", b"[]"),
        ("12345.lock", b"not json"),
        ("12345.lock", b"[" * 100_000),
    ],
)
def test_what_is_not_a_lock_is_passed_over(name: str, data: bytes) -> None:
    assert decode_lock(name, data) is None


def test_fields_of_a_wrong_type_are_left_out() -> None:
    data = json.dumps({"pid": "x", "workspaceFolders": ["/a", 1, ""], "ideName": 3, "authToken": None}).encode()
    assert decode_lock("1.lock", data) == Lock(port=1, folders=("/a",), transport="sse")


def test_a_lock_is_private_whole_and_removed_only_by_its_writer(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        file = LockFile(tmp_path, Lock(port=11111, token="t"))
        file.write()
    finally:
        os.umask(old)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.path.parent.iterdir()] == ["11111.lock"]
    file.path.write_text("another editor's")
    file.remove()
    assert file.path.exists()
    file.write()
    file.remove()
    file.remove()
    assert not file.path.exists()


def test_a_symlinked_folder_is_refused_and_an_open_one_is_closed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o777)
    (tmp_path / "ide").symlink_to(tmp_path / "real")
    with pytest.raises(WorkspaceError, match="not a plain folder"):
        LockFile(tmp_path, Lock(port=11111)).write()
    assert list((tmp_path / "real").iterdir()) == []
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    assert stat.S_IMODE(private_folder(tmp_path / "open").stat().st_mode) == 0o700


def test_a_symlink_in_the_place_of_a_lock_is_replaced_not_followed(tmp_path: Path) -> None:
    file = LockFile(tmp_path, Lock(port=11111))
    private_folder(file.path.parent)
    (tmp_path / "victim").write_text("keep")
    file.path.symlink_to(tmp_path / "victim")
    file.write()
    assert (tmp_path / "victim").read_text() == "keep" and not file.path.is_symlink()


def test_the_last_seat_is_kept_per_folder_and_not_believed_when_others_could_read_it(tmp_path: Path) -> None:
    seat = new_seat()
    assert 10000 <= seat.port <= 65535 and len(seat.token) == 36
    keep_seat(tmp_path, [Path("/a")], seat)
    assert last_seat(tmp_path, [Path("/a")]) == seat and last_seat(tmp_path, [Path("/b")]) is None
    (file,) = (tmp_path / "ide-seats").iterdir()
    file.chmod(0o644)
    assert last_seat(tmp_path, [Path("/a")]) is None
    keep_seat(tmp_path, [Path("/a")], Seat(80, "short"))
    assert last_seat(tmp_path, [Path("/a")]) is None


def test_locks_are_looked_for_where_editors_write_them(fresh_home: Path) -> None:
    env = {"HOME": str(fresh_home)}
    assert lock_folders(env) == (fresh_home / ".claude" / "ide", fresh_home / ".weft" / "ide")
    other = {**env, "CLAUDE_CONFIG_DIR": "/c", "WEFT_HOME": "/w"}
    assert lock_folders(other) == (Path("/c/ide"), fresh_home / ".claude" / "ide", Path("/w/ide"))


@pytest.mark.parametrize(
    ("folder", "cwd", "fits"),
    [
        ("/x/ws", "/x/ws", True),
        ("/x", "/x/ws", True),
        ("/x/ws/child", "/x/ws", False),
        ("/x/w", "/x/ws", False),
        ("/other", "/x/ws", False),
        ("/", "/x/ws", True),
    ],
)
def test_an_editor_fits_that_has_our_folder_or_one_above(fresh_home: Path, folder: str, cwd: str, fits: bool) -> None:
    write(fresh_home, 20001, workspaceFolders=[folder])
    assert (choose(Path(cwd), {"HOME": str(fresh_home)}, auto=True).found is not None) is fits
    skip = {"HOME": str(fresh_home), "CLAUDE_CODE_IDE_SKIP_VALID_CHECK": "true"}
    assert choose(Path(cwd), skip, auto=True).found is not None


@pytest.mark.parametrize(
    ("env", "auto", "port"),
    [
        ({}, False, None),
        ({}, True, 20001),
        ({"CLAUDE_CODE_AUTO_CONNECT_IDE": "true"}, False, 20001),
        ({"CLAUDE_CODE_AUTO_CONNECT_IDE": "false"}, True, None),
        ({"CLAUDE_CODE_AUTO_CONNECT_IDE": "false", "CLAUDE_CODE_SSE_PORT": "20001"}, False, None),
        ({"CLAUDE_CODE_SSE_PORT": "20002"}, False, 20002),
        ({"CLAUDE_CODE_SSE_PORT": "20003"}, True, None),
    ],
)
def test_the_choice_follows_variables_then_folders(fresh_home: Path, env, auto: bool, port: int | None) -> None:
    write(fresh_home, 20001)
    write(fresh_home, 20002, workspaceFolders=["/nowhere"])
    chosen = choose(Path("/x/ws"), {"HOME": str(fresh_home), **env}, auto=auto)
    assert (chosen.found.lock.port if chosen.found else None) == port


def test_several_editors_of_one_folder_are_left_to_the_person(fresh_home: Path) -> None:
    write(fresh_home, 20001)
    write(fresh_home, 20002)
    chosen = choose(Path("/x/ws"), {"HOME": str(fresh_home)}, auto=True)
    assert chosen.found is None and len(chosen.candidates) == 2 and "several" in chosen.reason


def test_a_dead_pid_a_missing_pid_and_a_missing_token_are_all_worth_a_try(fresh_home: Path) -> None:
    path = write(fresh_home, 20001, pid=999_999)
    write(fresh_home, 20002, pid=None, authToken="absent")
    assert {item.lock.port for item in find_locks({"HOME": str(fresh_home)})} == {20001, 20002}
    assert path.exists()


def test_locks_that_others_could_have_written_are_passed_over(fresh_home: Path) -> None:
    write(fresh_home, 20001).chmod(0o666)
    real = write(fresh_home, 20002)
    real.rename(real.with_name("elsewhere"))
    real.symlink_to(real.with_name("elsewhere"))
    write(fresh_home, 20003, transport="sse")
    os.mkfifo(real.with_name("20004.lock"))
    assert find_locks({"HOME": str(fresh_home)}) == ()


def test_the_host_can_be_overridden_for_containers(fresh_home: Path) -> None:
    write(fresh_home, 20001, workspaceFolders=["/host/project"])
    env = {
        "HOME": str(fresh_home),
        "CLAUDE_CODE_IDE_HOST_OVERRIDE": "host.docker.internal",
        "WEFT_IDE_PATH_MAP": "/host/project=/workspace",
    }
    found = choose(Path("/workspace/src"), env, auto=True).found
    assert found is not None and found.hosts == ("host.docker.internal",)


def test_an_editor_on_windows_is_reached_from_wsl(fresh_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ann" / ".claude" / "ide"
    folder.mkdir(parents=True)
    lock = {"pid": 4, "workspaceFolders": ["C:\\code\\app"], "transport": "ws", "runningInWindows": True}
    (folder / "20001.lock").write_text(json.dumps(lock))
    env = {"HOME": str(fresh_home), "WSL_DISTRO_NAME": "Debian", "WEFT_WINDOWS_USERS": str(tmp_path)}
    (folder / "20001.lock").chmod(0o600)
    found = choose(Path("/mnt/c/code/app"), env, auto=True).found
    assert found is not None and found.paths.to_theirs("/mnt/c/code/app/x.py") == "C:\\code\\app\\x.py"


def test_the_gateway_is_read_from_the_routes(tmp_path: Path) -> None:
    table = tmp_path / "route"
    table.write_text("Iface Destination Gateway\neth0 0010A8C0 00000000 0001\neth0 00000000 011012AC 0003\n")
    assert default_gateway(table) == "172.18.16.1"
    assert default_gateway(tmp_path / "none") is None


def test_a_port_that_another_user_listens_on_is_not_an_editor_of_ours(tmp_path: Path) -> None:
    table = tmp_path / "tcp"
    row = "  0: 0100007F:4E21 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {uid} 0 1\n"
    table.write_text("header\n" + row.format(uid=os.getuid() + 4242))
    assert listener_is_foreign(0x4E21, [table])
    table.write_text("header\n" + row.format(uid=os.getuid()))
    assert not listener_is_foreign(0x4E21, [table]) and not listener_is_foreign(1, [table])
