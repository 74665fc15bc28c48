"""What running a shell command takes beside the command: its environment, its folder afterwards, its output cut."""

import codecs
import os
import re
from pathlib import Path
from typing import cast

from weft.schema.content import Json
from weft.tools.text import cut_middle

MAX_HEAD = 16 * 1024 * 1024
MAX_TAIL = 1024 * 1024
CUT_TO = 8000
DEFAULT_LIMIT = 30_000
_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
_REDRAWN = r"[^\n]*\r(?!\n)(?=[^\n])"


def shell_env(session_id: str, settings: Json) -> dict[str, str]:
    """Added to the environment of every command that a model runs. No editor and no prompt may wait for a person."""
    return {
        "CLAUDECODE": "1",
        "WEFT": "1",
        "WEFT_SESSION_ID": session_id,
        "CLAUDE_CODE_SESSION_ID": session_id,
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        **{key: str(value) for key, value in _chosen(settings).items()},
    }


def _chosen(settings: Json) -> dict[str, object]:
    """The environment that the settings add."""
    extra = settings.get("env")
    return cast("dict[str, object]", extra) if isinstance(extra, dict) else {}


def number(settings: Json, name: str, default: int, most: int) -> int:
    """A limit from the settings' environment or our own; what is not a positive number is as if not set."""
    text = str(_chosen(settings).get(name) or os.environ.get(name) or "")
    return min(int(text), most) if text.isdigit() and int(text) else default


class Trailer:
    """Finds out where a command ended up. The shell prints its folder on leaving, behind a mark that no output has;
    what is shown of the output never contains it."""

    def __init__(self) -> None:
        self._nonce = os.urandom(8).hex()
        self.mark = f"\x1e{self._nonce}:".encode()
        self._held = b""
        self._found: bytes | None = None

    def wrap(self, command: str) -> str:
        return f'trap \'printf "\\036{self._nonce}:"; pwd -P 2>/dev/null; printf "\\036"\' EXIT\n{command}'

    def feed(self, data: bytes) -> bytes:
        """The part of the output that may be shown now."""
        if self._found is not None:
            return self._after(data)
        self._held += data
        at = self._held.find(self.mark)
        if at >= 0:
            shown, rest = self._held[:at], self._held[at + len(self.mark) :]
            self._held, self._found = b"", b""
            return shown + self._after(rest)
        keep = next((n for n in range(len(self.mark) - 1, 0, -1) if self._held.endswith(self.mark[:n])), 0)
        shown, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return shown

    def _after(self, data: bytes) -> bytes:
        """Between the marks stands the folder; behind them the output of what was left running."""
        found = self._found or b""
        if found.endswith(b"\x1e"):
            return data
        head, mark, rest = data.partition(b"\x1e")
        self._found = found + head + mark
        return rest

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        return held

    @property
    def folder(self) -> Path | None:
        """None when the shell could not say: it was replaced, killed, or closed its output."""
        text = os.fsdecode((self._found or b"").removesuffix(b"\x1e").removesuffix(b"\n"))
        return Path(text) if text.startswith("/") else None


class Capture:
    """A command's output in bounded memory: its first megabytes, and its end."""

    def __init__(self, *, max_head: int = MAX_HEAD, max_tail: int = MAX_TAIL) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._max_head = max_head
        self._max_tail = max_tail
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._max_head - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._max_tail:
            del self._tail[: -self._max_tail]

    def whole(self) -> bytes:
        tail = bytes(self._tail[-self._max_tail :])
        gone = self.total - len(self._head) - len(tail)
        gap = f"\n... [{gone:,} bytes were not kept] ...\n".encode() if gone else b""
        return bytes(self._head) + gap + tail


def plain(output: bytes) -> str:
    """Output as a person would read it in the end: no colours, and of a line drawn again and again the last state."""
    text = output.decode("utf-8", "replace")
    if "\x1b" in text:
        text = re.sub(_ESCAPES, "", text)
    if "\r" in text:
        text = re.sub(_REDRAWN, "", text.replace("\r\n", "\n")).replace("\r", "")
    return text.replace("\x00", "")


def shortened(text: str, limit: int, pointer: str) -> str:
    return text if len(text) <= limit else cut_middle(text, min(limit, CUT_TO), pointer)


class TextStream:
    """Bytes as they come to text as it can be shown: no character is cut in two."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes, *, final: bool = False) -> str:
        return self._decoder.decode(data, final)
