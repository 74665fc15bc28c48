"""Jupyter notebooks: shown as cells, changed cell by cell with every other byte as it was."""

import json
import os
import re
from pathlib import Path
from typing import Literal, cast

import msgspec

from weft.errors import ToolError
from weft.schema.content import AnyBlock, Base64Source, Image, Text
from weft.tools.json_spans import elements, members, skip_space
from weft.tools.port import Result
from weft.tools.text import cut_middle, decode_text

MAX_OUTPUT = 8000
MAX_IMAGES = 10
CellType = Literal["code", "markdown", "raw"]


class Cell(msgspec.Struct, frozen=True):
    """A cell as it is in the file; what we do not read is left where it is."""

    cell_type: str = "code"
    id: str | None = None
    source: str | list[str] = ""
    outputs: list[dict[str, object]] = []

    @property
    def text(self) -> str:
        return joined(self.source)


class Notebook(msgspec.Struct, frozen=True):
    cells: list[Cell]
    nbformat: int = 4
    nbformat_minor: int = 0
    metadata: dict[str, object] = {}


def joined(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(part) for part in cast("list[object]", value))
    return str(value)


def decode_notebook(text: str, path: object) -> Notebook:
    """
    Raises:
        ToolError: it is not a notebook of version 4.
    """
    try:
        return msgspec.json.decode(text.encode(), type=Notebook)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ToolError(f"{path} is not a notebook that can be read: {error}") from error


def cell_name(cell: Cell, index: int) -> str:
    """Its id; older notebooks have none, and their cells go by position."""
    return cell.id or f"cell-{index}"


def show_notebook(path: Path, data: bytes) -> Result:
    notebook = decode_notebook(decode_text(data, path).shown, path)
    blocks: list[AnyBlock] = []
    text = ""
    described: list[dict[str, object]] = []
    for index, cell in enumerate(notebook.cells):
        name = cell_name(cell, index)
        text += f"--- cell {name} ({cell.cell_type}) ---\n{cell.text}\n"
        described.append({"cell_id": name, "cellType": cell.cell_type, "source": cell.text})
        for output in cell.outputs:
            shown, image = _output(output)
            if shown:
                text += f"[output]\n{cut_middle(shown, MAX_OUTPUT)}\n"
            if image and sum(isinstance(block, Image) for block in blocks) < MAX_IMAGES:
                blocks += [Text(text), image]
                text = ""
    if text or not blocks:
        blocks.append(Text(text or "(The notebook has no cells.)"))
    body = {"type": "notebook", "file": {"filePath": str(path), "cells": described}}
    if len(blocks) == 1 and isinstance(blocks[0], Text):
        return Result(content=blocks[0].text, data=body)
    return Result(content=tuple(blocks), data=body)


def _output(output: dict[str, object]) -> tuple[str, Image | None]:
    if "text" in output:
        return joined(output["text"]).rstrip("\n"), None
    if "traceback" in output:
        return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(cast("list[str]", output["traceback"]))), None
    data = output.get("data")
    if not isinstance(data, dict):
        return "", None
    found = cast("dict[str, object]", data)
    for media in ("image/png", "image/jpeg"):
        if media in found:
            return joined(found.get("text/plain", "")), Image(Base64Source(media, joined(found[media]).strip()))
    return joined(found.get("text/plain", found.get("text/html", ""))), None


class NotebookText:
    """A notebook as text, for one change."""

    def __init__(self, text: str, path: object) -> None:
        self.notebook = decode_notebook(text, path)
        self._text = text
        start = members(text, skip_space(text, 0))["cells"][0]
        self._array = start
        self._spans = elements(text, start)
        unit = re.search(r"\n([ \t]+)", text)
        self._unit = unit[1] if unit else None
        self._ascii = text.isascii()

    def find(self, cell_id: str) -> int:
        """
        Raises:
            ToolError: there is no such cell.
        """
        names = [cell_name(cell, index) for index, cell in enumerate(self.notebook.cells)]
        if cell_id in names:
            return names.index(cell_id)
        if cell_id.isdigit() and int(cell_id) < len(names):
            return int(cell_id)
        raise ToolError(f"there is no cell {cell_id!r}. The cells are: {', '.join(names[:50]) or 'none'}")

    def _dump(self, value: object, depth: int) -> str:
        if self._unit is None:
            return json.dumps(value, ensure_ascii=self._ascii, separators=(",", ":"))
        dumped = json.dumps(value, ensure_ascii=self._ascii, indent=self._unit)
        return dumped.replace("\n", "\n" + self._unit * depth)

    def replace(self, index: int, source: str) -> str:
        """The file with another source in this cell; a code cell loses its outputs, which are no longer its own."""
        start, _ = self._spans[index]
        spans = members(self._text, start)
        old = spans["source"]
        value: object = source if self._text[old[0]] == '"' else _lines(source)
        changes = {old: self._dump(value, 3)}
        for key, empty in (("outputs", "[]"), ("execution_count", "null")):
            if key in spans and self.notebook.cells[index].cell_type == "code":
                changes[spans[key]] = empty
        text = self._text
        for (begin, end), new in sorted(changes.items(), reverse=True):
            text = text[:begin] + new + text[end:]
        return text

    def retype(self, index: int, source: str, kind: CellType) -> str:
        """A cell of another kind in its place, with the same id."""
        start, end = self._spans[index]
        cell = self._new(source, kind, self.notebook.cells[index].id)
        return self._text[:start] + self._dump(cell, 2) + self._text[end:]

    def insert(self, after: int, source: str, kind: CellType) -> tuple[str, str]:
        """A new cell behind this one (-1: at the start); the file and the cell's name."""
        modern = (self.notebook.nbformat, self.notebook.nbformat_minor) >= (4, 5)
        name = os.urandom(4).hex() if modern else None
        dumped = self._dump(self._new(source, kind, name), 2)
        gap = "\n" + self._unit * 2 if self._unit else ""
        text = self._text
        if not self._spans:
            close = elements_end(text, self._array)
            end = "\n" + self._unit if self._unit else ""
            text = text[: self._array + 1] + gap + dumped + end + text[close:]
        elif after < 0:
            at = self._spans[0][0]
            text = text[:at] + dumped + "," + gap + text[at:]
        else:
            at = self._spans[after][1]
            text = text[:at] + "," + gap + dumped + text[at:]
        return text, name or f"cell-{after + 1}"

    def delete(self, index: int) -> str:
        start, end = self._spans[index]
        if index + 1 < len(self._spans):
            return self._text[:start] + self._text[self._spans[index + 1][0] :]
        if index:
            return self._text[: self._spans[index - 1][1]] + self._text[end:]
        return self._text[: self._array + 1] + self._text[elements_end(self._text, self._array) :]

    def _new(self, source: str, kind: CellType, name: str | None) -> dict[str, object]:
        cell: dict[str, object] = {"cell_type": kind}
        if kind == "code":
            cell["execution_count"] = None
        if name:
            cell["id"] = name
        cell["metadata"] = {}
        if kind == "code":
            cell["outputs"] = []
        cell["source"] = _lines(source)
        return cell


def elements_end(text: str, array: int) -> int:
    """Where the array's closing bracket stands."""
    spans = elements(text, array)
    return skip_space(text, spans[-1][1] if spans else array + 1)


def _lines(source: str) -> list[str]:
    parts = source.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
