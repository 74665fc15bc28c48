"""The workspace of a session: the disk, what the caller puts in front of it, and room for an editor."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.schema.events import AgentEvent
from weft.workspace.local import LocalWorkspace
from weft.workspace.port import Workspace

if TYPE_CHECKING:
    from weft.agent.editor import EditorSeat
    from weft.sdk.compose import Ground


def open_workspace(ground: "Ground", emit: Callable[[AgentEvent], None]) -> "tuple[Workspace, EditorSeat | None]":
    """The workspace, and the editor's seat in front of it where one may be taken."""
    overrides, options = ground.overrides, ground.options
    if overrides.workspace is not None:
        return overrides.workspace, None
    roots = (options.cwd, *options.directories)
    local = LocalWorkspace(roots, env=ground.env, sandbox=ground.sandbox, refuse=ground.gate.refuses)
    if overrides.wrap_workspace is not None:
        return overrides.wrap_workspace(local), None
    wanted = options.may_attach_ide or options.attach_ide
    return _seat(ground, local, emit) if wanted and options.asks else (local, None)


def _seat(ground: "Ground", inner: Workspace, emit: Callable[[AgentEvent], None]) -> "tuple[Workspace, EditorSeat]":
    """Room for an editor in front of the workspace, whether one is attached or not."""
    from weft.agent.editor import EditorSeat
    from weft.workspace.ide.workspace import IdeWorkspace

    values = ground.settings.values
    work = IdeWorkspace(
        inner,
        hidden=lambda path: ground.gate.hides("Read", {"file_path": path}),
        share=values.get("shareIdeContext") is not False,
    )
    editor = EditorSeat(
        work,
        cwd=ground.options.cwd,
        env=ground.env,
        auto=ground.options.attach_ide or values.get("autoConnectIde") is True,
        diffs=values.get("diffTool") != "terminal",
        emit=emit,
        answer=ground.asks.answer,
    )
    ground.asks.tap(editor.see)
    return work, editor
