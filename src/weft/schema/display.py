"""The face of a tool call that a person sees: closed union, shown by every surface in its own way.

What the model reads is the tool result's content; these are never sent to it.
"""

from typing import Literal, TypeAlias

import msgspec


class TextView(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """Plain text; `language` asks for syntax colour, `markdown` for Markdown."""

    text: str
    language: str | None = None
    markdown: bool = False


class DiffView(msgspec.Struct, frozen=True, tag_field="type", tag="diff"):
    """A file before and after. `before` is None for a new file, `after` for a removed one."""

    path: str
    before: str | None
    after: str | None


class TableView(msgspec.Struct, frozen=True, tag_field="type", tag="table"):
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class ImageView(msgspec.Struct, frozen=True, tag_field="type", tag="image"):
    media_type: str
    data: str
    """Base64."""


class ExitView(msgspec.Struct, frozen=True, tag_field="type", tag="exit"):
    """How a command ended. `signal` and `timed_out` explain a missing code."""

    command: str
    code: int | None
    signal: str | None = None
    timed_out: bool = False
    background_task: str | None = None


class LinksView(msgspec.Struct, frozen=True, tag_field="type", tag="links"):
    """Places worth a click: files as `path` or `path:line`, or addresses."""

    links: tuple[tuple[str, str], ...]
    """(label, target)"""


class TodosView(msgspec.Struct, frozen=True, tag_field="type", tag="todos"):
    todos: tuple["Todo", ...]


class AppView(msgspec.Struct, frozen=True, tag_field="type", tag="app"):
    """The page of an MCP App, for surfaces that can show one in a frame that has no rights. `policy` is its content
    security policy. `input` and `result` are what the page is told once it has loaded."""

    server: str
    tool: str
    document: str
    policy: str
    input: object = None
    result: object = None


class Todo(msgspec.Struct, frozen=True):
    content: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    active_form: str = ""
    """What is being done, in the present: "Running the tests"."""
    priority: Literal["high", "medium", "low"] = "medium"


Display: TypeAlias = TextView | DiffView | TableView | ImageView | ExitView | LinksView | TodosView | AppView
