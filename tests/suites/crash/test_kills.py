"""SIGKILL at any moment of any write: what was confirmed is there, the rest is told, and the file can be used."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.driving import session, turn
from tests.suites.processes import SOURCE
from weft.sessions import files
from weft.sessions.repair import mend
from weft.sessions.resume import rebuild
from weft.sessions.store import FileStore
from weft.testing.scripted import call, say

_SESSION_WRITER = """
import os, sys
from pathlib import Path
from weft.schema.records import MarkRecord
from weft.sessions.store import FileLog
log = FileLog("s", Path(sys.argv[1]))
n = int(sys.argv[2])
while True:
    log.append(MarkRecord(kind="tag", data={"n": n, "pad": "x" * (n % 3000)}))
    os.write(1, b"%d\\n" % n)
    n += 1
"""

_FILE_WRITER = """
import os, sys
from pathlib import Path
kind, folder = sys.argv[1], Path(sys.argv[2])
if kind == "settings":
    from weft.settings.write import edit_file
    def write(n): edit_file(folder / "file", lambda data: data.update(n=n, pad="x" * 4000))
elif kind == "trust":
    from weft.permissions.trust import accept, trust_file
    env = {"HOME": str(folder), "WEFT_HOME": str(folder / "home")}
    places = [folder / str(n) for n in range(5)]
    for place in places: place.mkdir(exist_ok=True)
    def write(n): accept(places[n % 5], env)
elif kind == "approvals":
    from weft.mcp.trust import write_private
    def write(n): write_private(folder / "file", '{"n": %d, "pad": "%s"}' % (n, "x" * 4000))
elif kind == "lock":
    from weft.ide.lockfile import write_private
    def write(n): write_private(folder / "file", b'{"n": %d, "pad": "%s"}' % (n, b"x" * 4000))
n = 0
while True:
    write(n)
    os.write(1, b"%d\\n" % n)
    n += 1
"""


def run_and_kill(code: str, arguments: list[str], moment: random.Random) -> int:
    """Runs the writer, kills it at a random moment after its first word; the last number that it confirmed."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    child = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, env=env)
    assert child.stdout is not None
    last = int(child.stdout.readline())
    for _ in range(moment.randrange(1, 60)):
        last = int(child.stdout.readline())
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read().split(b"\n")
    child.wait()
    child.stdout.close()
    whole = [line for line in rest[:-1] if line]
    return int(whole[-1]) if whole else last


def test_no_confirmed_record_is_lost_by_kills_one_after_another(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    moment = random.Random(7)
    confirmed: set[int] = set()
    start = 0
    for _ in range(6):
        last = run_and_kill(_SESSION_WRITER, [str(path), str(start)], moment)
        confirmed |= set(range(start, last + 1))
        records, problems = files.decode(path.read_bytes())
        found = {record.data["n"] for record in records if hasattr(record, "data")}
        assert confirmed <= found
        assert len(problems) <= 6
        start = last + 1000
    before = {r.data["n"] for r in files.decode(path.read_bytes())[0] if hasattr(r, "data")}
    mend(path)
    records, problems = files.decode(path.read_bytes())
    assert not problems
    assert {r.data["n"] for r in records if hasattr(r, "data")} == before


@pytest.mark.parametrize("kind", ["settings", "trust", "approvals", "lock"])
def test_a_file_that_is_replaced_is_always_whole(kind: str, tmp_path: Path):
    moment = random.Random(kind)
    for _ in range(3):
        last = run_and_kill(_FILE_WRITER, [kind, str(tmp_path)], moment)
        if kind == "trust":
            (written,) = (tmp_path / "home").glob("trust*")
            assert len(json.loads(written.read_text())) >= 1
            continue
        data = json.loads((tmp_path / "file").read_text())
        assert data["n"] in (last, last + 1)


async def test_a_log_cut_at_every_byte_of_its_last_records_resumes(tmp_path: Path, fresh_home: Path):
    (tmp_path / "a.txt").write_text("hello\n")
    script = [[say("Looking."), call("Read", file_path=str(tmp_path / "a.txt"))], "It says hello. Ünïcode: 織."]
    async with session(tmp_path, script) as (connection, _):
        await turn(connection, "what does a.txt say?")
        session_id = connection.info.session_id
    path = FileStore(fresh_home / ".weft").path_of(session_id)
    data = path.read_bytes()
    starts = [0, *(n + 1 for n, byte in enumerate(data[:-1]) if byte == 10)]
    everything = files.decode(data)[0]
    # Every byte of the last three records, and every record's end before them.
    cuts = sorted({*starts, *range(starts[-3], len(data) + 1)})
    for cut in cuts:
        records, problems = files.decode(data[:cut])
        assert records == everything[: len(records)]
        complete = data[:cut].count(b"\n") if cut < len(data) else len(starts)
        assert len(records) >= min(complete, len(everything)) - 1
        assert len(problems) <= 1
        rebuild(session_id, records)


def test_repair_keeps_every_record_that_can_be_read(tmp_path: Path):
    """Lines torn, doubled, overwritten with zeros (as a disk does after power loss) or filled with noise."""
    chance = random.Random(3)
    good = [json.dumps({"type": "tag", "sessionId": "s", "n": n}).encode() + b"\n" for n in range(40)]
    for _ in range(60):
        lines = list(good)
        hurt = set(chance.sample(range(40), chance.randrange(1, 6)))
        for place in hurt:
            line = lines[place]
            lines[place] = chance.choice(
                [
                    line[: chance.randrange(1, len(line) - 2)] + b"\n",
                    b"\0" * len(line) + b"\n",
                    b"\xff\xfe{{{\n",
                    b"[1]\n",
                ]
            )
        path = tmp_path / "s.jsonl"
        path.write_bytes(b"".join(lines))
        before = files.decode(path.read_bytes())[0]
        mend(path)
        after, problems = files.decode(path.read_bytes())
        assert after == before
        assert not problems
