"""The twelve tools over an `Editor`: decoded arguments in, MCP results out."""

import secrets
from collections.abc import Hashable
from pathlib import Path
from typing import assert_never

import anyio
import anyio.to_thread

from weft.errors import WorkspaceError
from weft.ide.diffs import DiffTable
from weft.ide.port import Diff, Editor
from weft.protocols.ide import results
from weft.protocols.ide.catalogue import (
    SPECS,
    AnyArguments,
    CloseTab,
    ExecuteCode,
    GetDiagnostics,
    Nothing,
    OneFile,
    OpenDiff,
    OpenFile,
    ToolSpec,
)
from weft.protocols.ide.uris import to_path
from weft.schema.content import Json

MAX_DIFF_BYTES = 32 << 20


class Toolbox:
    """What agents may call. Each agent has its own diffs in the shared table."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.diffs = DiffTable(editor.show_diff)

    def specs(self) -> tuple[ToolSpec, ...]:
        offered = self.editor.tools
        return tuple(spec for spec in SPECS if spec.name in offered)

    async def call(self, agent: Hashable, name: str, arguments: AnyArguments) -> Json:
        """The result of one call. What the editor cannot do is a result with `isError`, not an exception."""
        try:
            return await self._run(agent, name, arguments)
        except WorkspaceError as error:
            return results.failure(str(error))

    async def _run(self, agent: Hashable, name: str, arguments: AnyArguments) -> Json:
        match arguments:
            case OpenFile():
                document = await self.editor.open_file(arguments)
                return results.opened(document, in_front=arguments.make_frontmost)
            case OpenDiff():
                return await self._open_diff(agent, arguments)
            case GetDiagnostics():
                return await self._diagnostics(arguments.uri)
            case OneFile():
                return await self._one_file(name, self._absolute(arguments.file_path))
            case CloseTab():
                if not self.diffs.close(agent, arguments.tab_name):
                    await self.editor.close_tab(arguments.tab_name)
                return results.tab_closed()
            case ExecuteCode():
                return results.outputs(await self.editor.execute(arguments.code))
            case Nothing():
                return await self._without_arguments(agent, name)
        assert_never(arguments)

    async def _without_arguments(self, agent: Hashable, name: str) -> Json:
        match name:
            case "getCurrentSelection":
                return results.current_selection(await self.editor.selection())
            case "getLatestSelection":
                return results.latest_selection(await self.editor.latest_selection())
            case "getOpenEditors":
                return results.tabs(await self.editor.tabs())
            case "getWorkspaceFolders":
                return results.folders([str(folder) for folder in self.editor.folders])
            case "closeAllDiffTabs":
                return results.diffs_closed(self.diffs.close_all(agent))
            case _:
                return results.failure(f"There is no tool {name}.")

    async def _one_file(self, name: str, path: str) -> Json:
        if name == "saveDocument":
            saved = await self.editor.save(path)
            return results.not_open(path) if saved is None else results.saved(path, done=saved)
        document = await self.editor.document(path)
        return results.not_open(path) if document is None else results.dirty(document)

    async def _diagnostics(self, uri: str | None) -> Json:
        if not uri:
            return results.diagnostics(await self.editor.diagnostics(None))
        path = to_path(uri)
        if path is None:
            raise WorkspaceError(f"{uri[:200]!r} is not the address of a file")
        return results.diagnostics(await self.editor.diagnostics(path))

    async def _open_diff(self, agent: Hashable, arguments: OpenDiff) -> Json:
        path = self._absolute(arguments.new_file_path)
        old = self._absolute(arguments.old_file_path or arguments.new_file_path)
        diff = Diff(
            id=secrets.token_hex(8),
            path=path,
            before=await anyio.to_thread.run_sync(read_text, old),
            after=arguments.new_file_contents,
            title=arguments.tab_name,
            agent=str(agent),
        )
        return results.decided(await self.diffs.open(agent, diff), arguments.tab_name)

    def _absolute(self, path: str) -> str:
        base = self.editor.folders[0] if self.editor.folders else Path.cwd()
        return str(base / Path(to_path(path) or path))


def read_text(path: str) -> str | None:
    """A file's text for showing it: None when there is none; what is not UTF-8 is shown as well as it can be.

    Raises:
        WorkspaceError: not a file, out of reach, or too large to show.
    """
    file = Path(path)
    try:
        if not file.exists():
            return None
        if not file.is_file():
            raise WorkspaceError(f"{path} is not a file")
        if file.stat().st_size > MAX_DIFF_BYTES:
            raise WorkspaceError(f"{path} is too large to show")
        return file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be read: {error.strerror or error}") from error
