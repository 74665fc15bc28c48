"""Plug-in folders that the caller names (`--plugin-dir`): their hooks, and how they are told of.

Their commands, skills, agents and servers are found where all others are, under the plug-in's name.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec

from weft.agent.folders import manifest, plugin_name
from weft.schema.content import Json
from weft.schema.wire import decode_object
from weft.settings.layers import as_object

ROOT = "${CLAUDE_PLUGIN_ROOT}"


def with_hooks(hooks: Json | None, folders: Sequence[Path], notes: list[str]) -> Json | None:
    """The caller's hooks and those of the plug-ins. What cannot be read is noted."""
    found: dict[str, list[object]] = {event: _rows(entries) for event, entries in (hooks or {}).items()}
    for folder in folders:
        file = folder / "hooks" / "hooks.json"
        if not file.is_file():
            continue
        try:
            # A path is put into JSON text, so its quotes and backslashes are escaped as JSON wants them.
            place = msgspec.json.encode(str(folder))[1:-1].decode()
            given = decode_object(file.read_text(encoding="utf-8").replace(ROOT, place))
        except (OSError, UnicodeError, msgspec.DecodeError) as error:
            notes.append(f"{file}: the hooks of this plug-in cannot be read: {error}")
            continue
        for event, entries in as_object(given.get("hooks")).items():
            found[event] = [*found.get(event, []), *_rows(entries)]
    return cast(Json, found) or hooks


def _rows(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def told(folders: Sequence[Path]) -> list[Json]:
    """A row for each plug-in, as hosts are told of them."""
    rows: list[Json] = []
    for folder in folders:
        name, version = plugin_name(folder), manifest(folder).get("version")
        row: Json = {"name": name, "path": str(folder.resolve()), "source": f"{name}@inline"}
        rows.append({**row, "version": version} if isinstance(version, str) else row)
    return rows
