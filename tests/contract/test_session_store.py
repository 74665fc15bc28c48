"""The contract of `SessionStore`, on the files and on the one that forgets."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sessions_records import SESSION, Talk, with_tools
from weft.errors import SessionError
from weft.schema.content import Unknown
from weft.schema.records import AssistantRecord, UserRecord
from weft.sessions import resume
from weft.sessions.port import SessionStore
from weft.sessions.store import FileStore, MemoryStore

STORES: dict[str, Callable[[Path], SessionStore]] = {
    "files": lambda home: FileStore(home, home / "claude"),
    "memory": lambda _: MemoryStore(),
}


@pytest.fixture(params=sorted(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SessionStore:
    return STORES[str(request.param)](tmp_path / "home")


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def _write(store: SessionStore, cwd: Path, talk: Talk, session_id: str = SESSION) -> None:
    log = store.create(session_id, cwd)
    talk.write(log.append)
    log.sync()
    log.close()


def test_what_was_appended_is_loaded_in_order(store: SessionStore, cwd: Path) -> None:
    talk = with_tools()
    _write(store, cwd, talk)
    users = [r for r in store.load(SESSION, cwd) if isinstance(r, UserRecord)]
    assert users == [r for r in talk.records if isinstance(r, UserRecord)]
    assert store.problems(SESSION) == () or store.problems(SESSION) == []


def test_a_reply_is_a_line_for_each_block_and_one_message_again(store: SessionStore, cwd: Path) -> None:
    talk = with_tools()
    _write(store, cwd, talk)
    replies = [r for r in store.load(SESSION, cwd) if isinstance(r, AssistantRecord)]
    assert [len(r.reply.content) for r in replies] == [1, 1, 1, 1, 1]
    history = resume.load(store, SESSION, cwd).history
    assert history == tuple(
        r.message if isinstance(r, UserRecord) else r.reply.message
        for r in talk.records
        if isinstance(r, UserRecord | AssistantRecord)
    )


def test_a_resumed_session_goes_on_from_its_tip(store: SessionStore, cwd: Path) -> None:
    talk = with_tools()
    _write(store, cwd, talk)
    assert resume.load(store, SESSION, cwd).tip == talk.tip
    more = talk.user("and now?")
    log = store.open(SESSION, cwd)
    log.append(more)
    log.close()
    assert resume.load(store, SESSION, cwd).history[-1].text == "and now?"


def test_an_unknown_line_is_kept_as_it_came(store: SessionStore, cwd: Path) -> None:
    log = store.create(SESSION, cwd)
    log.append(Unknown(b'{"type":"from-the-future","x":[1, 2]}'))
    log.close()
    assert list(store.load(SESSION, cwd)) == [Unknown(b'{"type":"from-the-future","x":[1, 2]}')]


def test_a_session_that_is_not_there_is_an_error_with_a_sentence(store: SessionStore, cwd: Path) -> None:
    for call in (store.load, store.open, store.fork):
        with pytest.raises(SessionError, match="No conversation found"):
            call("11111111-1111-1111-1111-111111111111", *((SESSION,) if call == store.fork else ()), cwd)


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "x" * 200, "a\nb"])
def test_an_id_is_never_a_path(store: SessionStore, cwd: Path, name: str) -> None:
    with pytest.raises(SessionError, match="is not a session id"):
        store.create(name, cwd)
    with pytest.raises(SessionError, match="is not a session id"):
        store.load(name, cwd)


def test_a_second_session_of_the_same_id_is_refused(store: SessionStore, cwd: Path) -> None:
    _write(store, cwd, with_tools())
    with pytest.raises(SessionError, match="already exists"):
        store.create(SESSION, cwd)


def test_a_list_has_titles_and_prompts_newest_first(store: SessionStore, cwd: Path) -> None:
    _write(store, cwd, with_tools(), "first")
    talk = Talk("second", str(cwd))
    talk.user("what is this?")
    talk.mark("custom-title", customTitle="A question")
    _write(store, cwd, talk, "second")
    rows = {row.session_id: row for row in store.list(cwd)}
    assert set(rows) == {"first", "second"}
    assert rows["first"].first_prompt == "fix the bug"
    assert rows["first"].last_prompt == "thanks"
    assert rows["second"].title == "A question"
    assert len(store.list(cwd, limit=1)) == 1
    assert store.list(cwd / "elsewhere") in ([], ())
    assert len(store.list()) == 2


def test_a_session_in_which_nothing_was_said_is_not_listed(store: SessionStore, cwd: Path) -> None:
    talk = Talk("marks", str(cwd))
    talk.mark("cost-state", totalCostUSD=0)
    _write(store, cwd, talk, "marks")
    assert list(store.list(cwd)) == []


def test_a_fork_is_a_copy_that_leaves_the_source_alone(store: SessionStore, cwd: Path) -> None:
    talk = with_tools()
    _write(store, cwd, talk)
    before = list(store.load(SESSION, cwd))
    log = store.fork(SESSION, "copy", cwd)
    log.append(talk.user("only here"))
    log.close()
    assert list(store.load(SESSION, cwd)) == before
    copied = store.load("copy", cwd)
    assert len(copied) == len(before) + 1
    assert {r.origin.session_id for r in copied[:-1] if isinstance(r, UserRecord)} == {"copy"}


def test_a_fork_can_be_cut_after_a_record(store: SessionStore, cwd: Path) -> None:
    talk = with_tools()
    _write(store, cwd, talk)
    reply = talk.records[3]
    assert isinstance(reply, AssistantRecord)
    store.fork(SESSION, "cut", cwd, until=reply.origin.uuid).close()
    assert resume.load(store, "cut", cwd).history[-1].text == "Done."
    with pytest.raises(SessionError, match="no message"):
        store.fork(SESSION, "cut2", cwd, until="nowhere")
    with pytest.raises(SessionError, match="No conversation"):
        store.load("cut2", cwd)


def test_a_deleted_session_is_gone(store: SessionStore, cwd: Path) -> None:
    _write(store, cwd, with_tools())
    store.delete(SESSION)
    assert list(store.list(cwd)) == []
    with pytest.raises(SessionError):
        store.load(SESSION, cwd)


def test_a_spilled_file_can_be_read_and_its_name_is_tame(store: SessionStore, cwd: Path) -> None:
    log = store.create(SESSION, cwd)
    path = log.spill("../../t1.txt", b"long")
    assert path.read_bytes() == b"long"
    assert ".." not in path.parts and path.name.endswith("t1.txt")
    log.close()
