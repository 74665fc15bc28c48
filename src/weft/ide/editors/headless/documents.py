"""Open documents: texts in memory over files on disk. A clean document follows its file; a dirty one keeps its text."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from weft.errors import WorkspaceError
from weft.ide.editors.headless.languages import language_of
from weft.ide.texts import select
from weft.protocols.ide.values import Document, Selection, Tab

MAX_BYTES = 8 << 20


class Open(msgspec.Struct):
    """One document. `saved` is the text that the file had when it was read or written last."""

    path: str
    text: str
    saved: str
    stamp: tuple[int, int]
    selection: Selection
    preview: bool = False
    shown: bool = True
    """False for a file that is only kept for its diagnostics."""

    @property
    def dirty(self) -> bool:
        return self.text != self.saved

    def to_document(self) -> Document:
        return Document(
            path=self.path,
            language=language_of(self.path),
            line_count=self.text.count("\n") + 1,
            dirty=self.dirty,
        )


class Documents:
    """By path; the order is the order of opening."""

    def __init__(self) -> None:
        self._open: dict[str, Open] = {}
        self.active: str | None = None

    def __iter__(self) -> Iterator[Open]:
        return iter(list(self._open.values()))

    def get(self, path: str) -> Open | None:
        """The document, as its file is now if it is clean; None when it is not open or its file is gone."""
        found = self._open.get(os.path.normpath(path))
        return found if found is not None and self._follow(found) else None

    def open(self, path: str, *, shown: bool = True) -> Open:
        """
        Raises:
            WorkspaceError: there is no such file, or it is not a text.
        """
        path = os.path.normpath(path)
        found = self.get(path)
        if found is None:
            text, stamp = _read(path)
            found = Open(path, text, text, stamp, select(path, text, 0, 0), shown=shown)
            self._open[path] = found
        found.shown = found.shown or shown
        return found

    def save(self, path: str) -> bool | None:
        """False when the file was changed by somebody else meanwhile: neither text is thrown away."""
        found = self._open.get(os.path.normpath(path))
        if found is None:
            return None
        if found.dirty:
            try:
                if Path(found.path).exists() and _stamp(found.path) != found.stamp:
                    return False
                Path(found.path).write_bytes(found.text.encode())
                found.stamp = _stamp(found.path)
            except OSError:
                return False
            found.saved = found.text
        return True

    def close(self, name: str) -> bool:
        """By path or by label. A dirty document stays."""
        for found in self:
            if name in (found.path, os.path.basename(found.path)) and not found.dirty:
                self._drop(found.path)
                return True
        return False

    def tabs(self) -> tuple[Tab, ...]:
        return tuple(
            Tab(
                document=found.to_document(),
                label=os.path.basename(found.path),
                active=found.path == self.active,
                preview=found.preview,
                selection=found.selection,
            )
            for found in self
            if found.shown and self._follow(found)
        )

    def _follow(self, document: Open) -> bool:
        """Reads a clean document again when its file changed. False when the file is gone: then it is closed."""
        if document.dirty:
            return True
        try:
            if _stamp(document.path) != document.stamp:
                document.text, document.stamp = _read(document.path)
                document.saved = document.text
                document.selection = select(document.path, document.text, 0, 0)
        except (OSError, WorkspaceError):
            self._drop(document.path)
            return False
        return True

    def _drop(self, path: str) -> None:
        self._open.pop(path, None)
        if self.active == path:
            self.active = next((found.path for found in reversed(list(self)) if found.shown), None)


def _stamp(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


def _read(path: str) -> tuple[str, tuple[int, int]]:
    try:
        stamp = _stamp(path)
        if not os.path.isfile(path):
            raise WorkspaceError(f"{path} is not a file")
        if stamp[1] > MAX_BYTES:
            raise WorkspaceError(f"{path} is too large for an editor")
        return Path(path).read_bytes().decode(), stamp
    except FileNotFoundError as error:
        raise WorkspaceError(f"File not found: {path}") from error
    except UnicodeDecodeError as error:
        raise WorkspaceError(f"{path} is not a text in UTF-8") from error
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be read: {error.strerror or error}") from error
