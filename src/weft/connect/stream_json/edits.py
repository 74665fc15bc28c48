"""Edit tracking by hooks: before and after of every file that the agent's tools change (seed 000, section 8)."""

from pathlib import Path

from weft.protocols.stream_json import is_json
from weft.schema.content import Json
from weft.schema.display import DiffView

EDIT_TOOLS = "Edit|Write|MultiEdit|NotebookEdit"
BEFORE, AFTER = "weft_edit_before", "weft_edit_after"
MAX_FILE = 4_000_000


class EditTracker:
    """Answers the callbacks that it registered. Files are read from disk, before and after the tool."""

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd
        self._before: dict[str, tuple[Path, str | None]] = {}
        self._done: dict[str, tuple[DiffView, ...]] = {}

    def hooks(self) -> Json:
        return {
            "PreToolUse": [{"matcher": EDIT_TOOLS, "hookCallbackIds": [BEFORE]}],
            "PostToolUse": [{"matcher": EDIT_TOOLS, "hookCallbackIds": [AFTER]}],
        }

    async def called(self, body: Json) -> Json:
        given = body.get("input")
        use_id = str(body.get("tool_use_id") or "")
        value = given.get("tool_input") if is_json(given) else None
        name = value.get("file_path", value.get("notebook_path")) if is_json(value) else None
        if isinstance(name, str) and use_id:
            path = self._cwd / name
            if body.get("callback_id") == BEFORE:
                self._before[use_id] = (path, _read(path))
            elif use_id in self._before:
                _path, before = self._before.pop(use_id)
                self._done[use_id] = (DiffView(str(path), before, _read(path)),)
        return {}

    def take(self) -> dict[str, tuple[DiffView, ...]]:
        done, self._done = self._done, {}
        return done


def _read(path: Path) -> str | None:
    try:
        if path.stat().st_size > MAX_FILE:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
