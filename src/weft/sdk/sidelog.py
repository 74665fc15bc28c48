"""A subagent's own log, beside its parent's: `<session>/subagents/agent-<id>.jsonl` and a small file about it."""

from collections.abc import Sequence
from pathlib import Path

from weft.errors import SessionError
from weft.schema.content import Json
from weft.schema.records import Record
from weft.schema.wire import encode
from weft.sessions import files
from weft.sessions.port import SessionLog
from weft.sessions.store import FileLog


def open_side_log(parent: SessionLog | None, agent_id: str, about: Json) -> SessionLog | None:
    """None where the parent is not kept on disk either."""
    if parent is None or parent.path is None:
        return None
    folder: Path = parent.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / f"agent-{agent_id}.meta.json").write_bytes(encode(about))
    return FileLog(parent.session_id, folder / f"agent-{agent_id}.jsonl")


def read_side_log(parent: SessionLog | None, agent_id: str) -> Sequence[Record]:
    """What a subagent of this conversation did; nothing where that is not kept. The id is from a log: untrusted."""
    if parent is None or parent.path is None or not agent_id.isalnum():
        return ()
    path = parent.path.with_suffix("") / "subagents" / f"agent-{agent_id}.jsonl"
    try:
        return files.decode(files.read_bytes(path))[0]
    except (OSError, SessionError):
        return ()
