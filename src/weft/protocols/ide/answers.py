"""What the twelve tools answered, for an agent to read: the seed's shapes, VS Code's and Neovim's alike.

JSON inside a text block may be pretty-printed or have escaped slashes: it is parsed, never compared.
"""

from typing import Any, cast

import msgspec

from weft.protocols.ide.notices import as_object, decode_position
from weft.protocols.ide.uris import to_path
from weft.protocols.ide.values import (
    SEVERITIES,
    Accepted,
    Decision,
    Diagnostic,
    FileDiagnostics,
    Output,
    Rejected,
    Severity,
    Undecided,
)
from weft.schema.content import Json

_NUMBERED: dict[int, Severity] = {1: "Error", 2: "Warning", 3: "Information", 4: "Hint"}
_WORDS: dict[str, Severity] = {"info": "Information", **{word.lower(): word for word in SEVERITIES}}


def texts(result: Json) -> tuple[str, ...]:
    """The text blocks of a tool result; none for a result without `content`."""
    return tuple(found for item in _objects(result.get("content")) if isinstance(found := item.get("text"), str))


def decode_decision(result: Json, proposed: str) -> Decision:
    """The answer to `openDiff`. An older `FILE_SAVED` without contents takes what was `proposed`. `TAB_CLOSED` is a
    closed tab, and a closed tab is not a yes."""
    if result.get("isError") is True:
        return Undecided("; ".join(texts(result)) or "the editor reported an error")
    match texts(result):
        case ("FILE_SAVED", contents, *_):
            return Accepted(contents)
        case ("FILE_SAVED",):
            return Accepted(proposed)
        case ("DIFF_REJECTED" | "TAB_CLOSED", *_):
            return Rejected()
        case found:
            return Undecided(f"the editor answered {' '.join(found)[:80]!r}")


def decode_diagnostics(result: Json) -> tuple[FileDiagnostics, ...]:
    """One entry per file; entries of other schemes or strange shapes are passed over."""
    found: list[FileDiagnostics] = []
    for part in texts(result):
        for item in _objects(_parse(part)):
            uri = item.get("uri")
            path = to_path(uri) if isinstance(uri, str) else None
            if path is not None:
                listed = tuple(_diagnostic(each) for each in _objects(item.get("diagnostics")))
                found.append(FileDiagnostics(path, listed))
    return tuple(found)


def _diagnostic(value: Json) -> Diagnostic:
    span = as_object(value.get("range"))
    start = decode_position(span.get("start"))
    code, source = value.get("code"), value.get("source")
    return Diagnostic(
        message=str(value.get("message", "")),
        severity=decode_severity(value.get("severity")),
        start=start,
        end=decode_position(span["end"]) if "end" in span else start,
        code=str(code) if isinstance(code, str | int) else None,
        source=source if isinstance(source, str) else None,
    )


def decode_severity(value: object) -> Severity:
    """A word, or LSP's number; Error for what is neither, so that nothing is hidden."""
    if isinstance(value, int):
        return _NUMBERED.get(value, "Error")
    return _WORDS.get(value.lower(), "Error") if isinstance(value, str) else "Error"


def decode_json(result: Json) -> Json:
    """The first text block as a JSON object; `{}` when it is not one."""
    found = texts(result)
    return as_object(_parse(found[0])) if found else {}


def decode_outputs(result: Json) -> tuple[Output, ...]:
    found: list[Output] = []
    for item in _objects(result.get("content")):
        data, kind, said = item.get("data"), item.get("mimeType"), item.get("text")
        if item.get("type") == "image" and isinstance(data, str) and isinstance(kind, str):
            found.append(Output(data, kind))
        elif isinstance(said, str):
            found.append(Output(said))
    return tuple(found)


def _parse(data: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def _objects(value: object) -> list[Json]:
    if not isinstance(value, list):
        return []
    return [cast("Json", item) for item in cast("list[object]", value) if isinstance(item, dict)]
