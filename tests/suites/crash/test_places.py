"""A full disk, a home that cannot be written, a clock that goes back, two writers: told in a sentence, nothing lost."""

import json
import subprocess
import time
from pathlib import Path

import anyio
import pytest

from tests.integration.driving import ended, session, turn
from tests.suites.processes import command, environment
from weft.schema.records import UserRecord
from weft.sessions.store import FileStore
from weft.testing.fake_anthropic import FakeAnthropic


async def run(cwd: Path, env: dict[str, str], *argv: str) -> subprocess.CompletedProcess[bytes]:
    with anyio.fail_after(30):
        return await anyio.run_process(list(argv), cwd=cwd, env=env, check=False)


@pytest.mark.parametrize("blocks", [0, 1, 4])
async def test_a_disk_that_fills_up_is_told_and_what_was_written_is_readable(
    blocks: int, tmp_path: Path, fresh_home: Path
):
    """`ulimit -f`: no file grows beyond so many blocks of 1024 bytes."""
    async with FakeAnthropic(["a long answer " * 2000], cycle=True) as server:
        line = f'ulimit -f {blocks}; exec "$@"'
        env = environment(fresh_home, server)
        done = await run(tmp_path, env, "bash", "-c", line, "bash", *command("-p", "hello"))
    told = (done.stdout + done.stderr).decode()
    assert "Traceback" not in told
    assert done.returncode in (0, 1)
    assert "cannot be written" in told, done
    for path in (fresh_home / ".weft").rglob("*.jsonl"):
        FileStore(fresh_home / ".weft").load(path.stem)


async def test_a_home_that_cannot_be_written_is_told(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["Hello."]) as server:
        env = environment(fresh_home, server, WEFT_HOME="/proc/weft-home")
        done = await run(tmp_path, env, *command("-p", "hello"))
    told = (done.stdout + done.stderr).decode()
    assert "Traceback" not in told and "something went wrong inside" not in told
    assert "/proc/weft-home" in told
    assert "WEFT_HOME" in told


async def test_an_answer_that_nobody_can_read_is_told(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["Hello."]) as server:
        env = environment(fresh_home, server)
        done = await run(tmp_path, env, "bash", "-c", 'exec "$@" > /dev/full', "bash", *command("-p", "hello"))
    told = (done.stdout + done.stderr).decode()
    assert done.returncode == 1
    assert "Traceback" not in told and "something went wrong inside" not in told
    assert "No space left" in told


async def test_a_clock_that_goes_back_loses_no_order(tmp_path: Path, fresh_home: Path, monkeypatch: pytest.MonkeyPatch):
    real = time.time
    shift = [0.0]
    monkeypatch.setattr(time, "time", lambda: real() - shift[0])
    async with session(tmp_path, ["one", "two", "three"]) as (connection, _):
        for n, word in enumerate(("first", "second", "third")):
            shift[0] = n * 86_400.0 * 365
            assert ended(await turn(connection, word)).reason == "completed"
        session_id = connection.info.session_id
    records = FileStore(fresh_home / ".weft").load(session_id)
    spoken = [str(r.message.content) for r in records if isinstance(r, UserRecord)]
    order = [next(i for i, text in enumerate(spoken) if word in text) for word in ("first", "second", "third")]
    assert order == sorted(order)
    async with session(tmp_path, ["four"], resume=session_id) as (connection, provider):
        await turn(connection, "fourth")
    said = str(provider.requests[0].messages)
    assert said.index("first") < said.index("second") < said.index("third") < said.index("fourth")


async def test_two_writers_of_one_session_keep_every_line(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["an answer"], cycle=True) as server:
        env = environment(fresh_home, server)
        first = await run(tmp_path, env, *command("-p", "begin", "--output-format", "json"))
        session_id = json.loads(first.stdout)["session_id"]
        words = [f"word-{n}" for n in range(4)]
        done: list[subprocess.CompletedProcess[bytes]] = []

        async def one(word: str) -> None:
            done.append(await run(tmp_path, env, *command("-p", word, "--resume", session_id)))

        async with anyio.create_task_group() as group:
            for word in words:
                group.start_soon(one, word)
    assert [each.returncode for each in done] == [0] * len(words), done
    store = FileStore(fresh_home / ".weft")
    assert not store.problems(session_id)
    spoken = str([r.message.content for r in store.load(session_id) if isinstance(r, UserRecord)])
    assert all(word in spoken for word in words)


async def test_doctor_mends_a_damaged_log(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["an answer"], cycle=True) as server:
        env = environment(fresh_home, server)
        first = await run(tmp_path, env, *command("-p", "begin", "--output-format", "json"))
        session_id = json.loads(first.stdout)["session_id"]
        store = FileStore(fresh_home / ".weft")
        path = store.path_of(session_id)
        before = store.load(session_id)
        path.write_bytes(path.read_bytes() + b'{"type":"user","mess\n\0\0\0\n')
        assert store.problems(session_id)
        told = await run(tmp_path, env, *command("doctor"))
        assert told.returncode == 1 and b"doctor --repair" in told.stdout
        await run(tmp_path, env, *command("doctor", "--repair"))
        assert not store.problems(session_id)
        assert list(store.load(session_id)) == list(before)
        again = await run(tmp_path, env, *command("-p", "go on", "--resume", session_id))
        assert again.returncode == 0
