"""Conversations with other agents, kept so that they are there when the host is started again.

Two files for each, under `web/<project>/`: `<id>.json` says what it is, `<id>.jsonl` what was said. The agent keeps a
session of its own, which it goes on with; ours is for showing. Nobody else reads them: folders are 0700, files 0600.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from weft.errors import SessionError
from weft.paths import project_slug
from weft.schema.content import text_of
from weft.schema.events import AgentEvent, MessageDone, PromptAdded
from weft.surfaces.web.lines import decode_events, encode_cut, encode_event, worth_keeping
from weft.surfaces.web.ports import Talk

log = logging.getLogger(__name__)

MOST_TALKS = 500
"""Conversations of one folder that are listed."""


class TalkFiles:
    """Implements `Keeper`. A disk that does not take a line is logged once; the conversation goes on."""

    def __init__(self, home: Path) -> None:
        self._home = home / "web"
        self._complained = False

    def talks(self, folders: Sequence[str]) -> Sequence[Talk]:
        found: list[Talk] = []
        for folder in folders:
            own = [talk for talk in map(_read, self._newest(folder)) if talk is not None and talk.folder == folder]
            found += own
        return sorted(found, key=lambda talk: -talk.updated)

    def events(self, talk: Talk) -> Sequence[AgentEvent]:
        try:
            data = self._file(talk, ".jsonl").read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SessionError(f"This conversation cannot be read: {error.strerror}") from None
        return decode_events(data.split(b"\n"))

    def save(self, talk: Talk) -> None:
        path = self._file(talk, ".json")
        fresh = path.with_suffix(f".{os.getpid()}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(msgspec.json.encode(talk))
            fresh.replace(path)
        except OSError as error:
            self._complain(error)

    def add(self, talk: Talk, event: AgentEvent) -> None:
        if worth_keeping(event):
            self._append(talk, encode_event(event))

    def cut(self, talk: Talk, message_id: str) -> None:
        self._append(talk, encode_cut(message_id))

    def search(self, query: str, folders: Sequence[str]) -> Sequence[str]:
        words = [word.casefold() for word in query.split()]
        return [talk.id for talk in self.talks(folders) if words and not talk.deleted and self._says(talk, words)]

    def delete(self, talk: Talk) -> None:
        """What was said goes away. That it was deleted stays known, so that the agent's own log of it is not shown."""
        self._file(talk, ".jsonl").unlink(missing_ok=True)
        self.save(msgspec.structs.replace(talk, deleted=True, title=""))

    def _says(self, talk: Talk, words: list[str]) -> bool:
        for event in self.events(talk):
            if isinstance(event, PromptAdded):
                text = text_of(event.content).casefold()
            elif isinstance(event, MessageDone):
                text = event.reply.text.casefold()
            else:
                continue
            if all(word in text for word in words):
                return True
        return False

    def _newest(self, folder: str) -> list[Path]:
        try:
            with os.scandir(self._home / project_slug(folder)) as entries:
                found = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.name.endswith(".json")]
        except OSError:
            return []
        return [Path(path) for _, path in sorted(found, reverse=True)[:MOST_TALKS]]

    def _file(self, talk: Talk, ending: str) -> Path:
        return self._home / project_slug(talk.folder) / f"{talk.id}{ending}"

    def _append(self, talk: Talk, line: bytes) -> None:
        path = self._file(talk, ".jsonl")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            log.warning("conversations with other agents cannot be kept: %s", error)


def _read(path: Path) -> Talk | None:
    """None for a file that is broken, or whose name is not that of its conversation."""
    try:
        talk = msgspec.json.decode(path.read_bytes(), type=Talk)
    except (OSError, msgspec.MsgspecError):
        return None
    return talk if talk.id == path.stem else None
