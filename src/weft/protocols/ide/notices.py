"""The notifications of an editor: `selection_changed` and `at_mentioned`."""

from pathlib import PurePosixPath
from typing import cast

from weft.protocols.ide.uris import to_path, to_uri
from weft.protocols.ide.values import Mention, Position, Selection
from weft.schema.content import Json

SELECTION_CHANGED = "selection_changed"
AT_MENTIONED = "at_mentioned"
TOOLS_CHANGED = "notifications/tools/list_changed"


def encode_position(position: Position) -> Json:
    return {"line": position.line, "character": position.character}


def encode_range(selection: Selection) -> Json:
    return {
        "start": encode_position(selection.start),
        "end": encode_position(selection.end),
        "isEmpty": selection.is_empty,
    }


def encode_selection(selection: Selection | None) -> Json:
    """The params of `selection_changed`; None clears what the agent knew."""
    if selection is None:
        return {"text": "", "filePath": "", "fileUrl": "", "selection": None}
    return {
        "text": selection.text,
        "filePath": selection.path,
        "fileUrl": to_uri(selection.path),
        "selection": encode_range(selection),
    }


def decode_selection(params: Json) -> Selection | None:
    """A selection from any editor's params. None clears; so do params without a path."""
    path = params.get("filePath")
    if not isinstance(path, str) or not path:
        url = params.get("fileUrl")
        path = to_path(url) if isinstance(url, str) else None
    if not path:
        return None
    text = params.get("text")
    marked = as_object(params.get("selection"))
    return Selection(
        path=path,
        text=text if isinstance(text, str) else "",
        start=decode_position(marked.get("start")),
        end=decode_position(marked.get("end")),
    )


def encode_mention(mention: Mention) -> Json:
    """The params of `at_mentioned`. Lines of a whole file are left out: null is refused by agents."""
    params: Json = {"filePath": mention.path}
    if mention.first_line is not None:
        params["lineStart"] = mention.first_line
        params["lineEnd"] = mention.first_line if mention.last_line is None else mention.last_line
    return params


def decode_mention(params: Json, base: str) -> Mention | None:
    """A mention from any editor's params; a relative path is below `base`, the editor's folder."""
    path = params.get("filePath")
    if not isinstance(path, str) or not path:
        return None
    first = _line(params.get("lineStart"))
    last = _line(params.get("lineEnd"))
    if first is None:
        last = None
    elif last is None or last < first:
        last = first
    return Mention(path=str(PurePosixPath(base, path)), first_line=first, last_line=last)


def decode_position(value: object) -> Position:
    found = as_object(value)
    return Position(_line(found.get("line")) or 0, _line(found.get("character")) or 0)


def as_object(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _line(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
