"""What the twelve tools answer, for an editor to send: the shapes of the real editors, their union where they differ.

Nested JSON travels as the text of a content block.
"""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

from weft.protocols.ide.notices import encode_position, encode_range
from weft.protocols.ide.uris import to_uri
from weft.protocols.ide.values import Accepted, Diagnostic, Document, FileDiagnostics, Output, Rejected, Selection, Tab
from weft.schema.content import Json


def text(*parts: str) -> Json:
    return {"content": [{"type": "text", "text": part} for part in parts]}


def failure(message: str) -> Json:
    return {**text(message), "isError": True}


def encode_json(value: object) -> Json:
    return text(msgspec.json.encode(value).decode())


def refusal(message: str) -> Json:
    """A tool that ran and has nothing to give."""
    return encode_json({"success": False, "message": message})


def opened(document: Document, *, in_front: bool) -> Json:
    """`openFile`: a sentence when the file came to the front, the document's data when it stayed behind."""
    if in_front:
        return text(f"Opened file: {document.path}")
    return encode_json(
        {
            "success": True,
            "filePath": document.path,
            "fileUrl": to_uri(document.path),
            "message": f"Opened file: {document.path}",
            "languageId": document.language,
            "lineCount": document.line_count,
            "isDirty": document.dirty,
            "isUntitled": document.untitled,
            "isClosed": False,
        }
    )


def decided(decision: Accepted | Rejected, tab_name: str) -> Json:
    """`openDiff`: never `TAB_CLOSED`, which agents take for a yes."""
    if isinstance(decision, Accepted):
        return text("FILE_SAVED", decision.text)
    return text("DIFF_REJECTED", tab_name)


def current_selection(selection: Selection | None) -> Json:
    if selection is None:
        return refusal("No active editor found")
    return encode_json({"success": True, **_selection(selection)})


def latest_selection(selection: Selection | None) -> Json:
    if selection is None:
        return refusal("No selection available")
    return encode_json(_selection(selection))


def _selection(selection: Selection) -> Json:
    return {
        "text": selection.text,
        "filePath": selection.path,
        "fileUrl": to_uri(selection.path),
        "selection": encode_range(selection),
    }


def tabs(found: Iterable[Tab]) -> Json:
    return encode_json({"tabs": [_tab(tab) for tab in found]})


def _tab(tab: Tab) -> Json:
    value: Json = {
        "uri": to_uri(tab.document.path),
        "isActive": tab.active,
        "isPinned": tab.pinned,
        "isPreview": tab.preview,
        "isDirty": tab.document.dirty,
        "label": tab.label,
        "groupIndex": 0,
        "viewColumn": 1,
        "isGroupActive": True,
        "fileName": tab.document.path,
        "languageId": tab.document.language,
        "lineCount": tab.document.line_count,
        "isUntitled": tab.document.untitled,
    }
    if tab.active and tab.selection is not None:
        value["selection"] = {**encode_range(tab.selection), "isReversed": False}
    return value


def folders(paths: Sequence[str]) -> Json:
    return encode_json(
        {
            "success": True,
            "folders": [
                {"name": PurePosixPath(path).name, "uri": to_uri(path), "path": path, "index": index}
                for index, path in enumerate(paths)
            ],
            "rootPath": paths[0] if paths else None,
            "workspaceFile": None,
        }
    )


def diagnostics(found: Iterable[FileDiagnostics]) -> Json:
    return encode_json(
        [{"uri": to_uri(file.path), "diagnostics": [_diagnostic(item) for item in file.diagnostics]} for file in found]
    )


def _diagnostic(item: Diagnostic) -> Json:
    value: Json = {
        "message": item.message,
        "severity": item.severity,
        "range": {"start": encode_position(item.start), "end": encode_position(item.end)},
    }
    if item.source is not None:
        value["source"] = item.source
    if item.code is not None:
        value["code"] = item.code
    return value


def dirty(document: Document) -> Json:
    return encode_json(
        {
            "success": True,
            "filePath": document.path,
            "isDirty": document.dirty,
            "isUntitled": document.untitled,
        }
    )


def saved(path: str, *, done: bool) -> Json:
    message = "Document saved successfully" if done else "Document could not be saved"
    return encode_json({"success": done, "filePath": path, "saved": done, "message": message})


def not_open(path: str) -> Json:
    return refusal(f"Document not open: {path}")


def tab_closed() -> Json:
    """The answer to `close_tab` itself; never to a pending `openDiff`."""
    return text("TAB_CLOSED")


def diffs_closed(count: int) -> Json:
    return text(f"CLOSED_{count}_DIFF_TABS")


def outputs(found: Iterable[Output]) -> Json:
    """`executeCode`: text and images in the order they came."""
    content: list[Json] = []
    for item in found:
        if item.media_type.startswith("image/"):
            content.append({"type": "image", "data": item.data, "mimeType": item.media_type})
        else:
            content.append({"type": "text", "text": item.data})
    return {"content": content}
