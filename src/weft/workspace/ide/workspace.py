"""A workspace with an editor in between: files stay where they are, the editor shows, decides and knows."""

import logging
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import anyio

from weft.errors import WorkspaceError
from weft.protocols.ide.answers import decode_decision, decode_diagnostics
from weft.protocols.ide.guest import MentionMade, Selected
from weft.protocols.ide.values import Accepted, Decision, Diagnostic, FileDiagnostics, Mention, Selection, Undecided
from weft.workspace.ide.link import Change, IdeLink
from weft.workspace.ide.notes import problem_line, selection_note
from weft.workspace.ide.retouch import retouch, with_newlines_of
from weft.workspace.port import FileStat, Process, RunSpec, Workspace

_log = logging.getLogger(__name__)
DIAGNOSTICS_LIMIT = 3.0
"""Problems are worth a short wait, never a long one: some editors hang."""
CLOSE_LIMIT = 2.0
MAX_MENTIONS = 100

Hidden: TypeAlias = Callable[[str], bool]


def _nothing_is_hidden(path: str) -> bool:
    return False


class IdeWorkspace:
    """Wraps another workspace; `link` is the attached editor, or None while there is none.

    `hidden` says which files a rule keeps from the model: neither their text nor their name is told. `share` is the
    person's switch for telling the model what they look at.
    """

    def __init__(self, inner: Workspace, *, hidden: Hidden = _nothing_is_hidden, share: bool = True) -> None:
        self._inner = inner
        self._hidden = hidden
        self.share = share
        self.link: IdeLink | None = None
        self.on_mention: Callable[[Mention], None] | None = None
        self._told: Selection | None = None
        self._mentions: list[Mention] = []
        self._retouched: dict[str, tuple[str, str]] = {}

    # A workspace.

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._inner.roots

    async def read(self, path: Path) -> bytes:
        return await self._inner.read(path)

    async def write(self, path: Path, data: bytes) -> None:
        """What the person made of a proposal in the editor is written in its place."""
        retouched = self._retouched.pop(str(path), None)
        if retouched is not None:
            data = retouch(data, *retouched)
        await self._inner.write(path, data)

    async def remove(self, path: Path) -> None:
        await self._inner.remove(path)

    async def stat(self, path: Path) -> FileStat | None:
        return await self._inner.stat(path)

    async def list(self, path: Path) -> Sequence[tuple[str, FileStat]]:
        return await self._inner.list(path)

    async def start(self, spec: RunSpec) -> Process:
        return await self._inner.start(spec)

    async def diagnostics(self, path: Path) -> Sequence[str] | None:
        if self.link is None:
            return await self._inner.diagnostics(path)
        found = await self._ask(str(path))
        return None if found is None else [problem_line(item) for item in found]

    # What the editor adds.

    def heard(self, change: Change) -> None:
        """Give this to the link: it keeps mentions."""
        if isinstance(change, MentionMade):
            self._mentions = [*self._mentions, change.mention][-MAX_MENTIONS:]
            if self.on_mention is not None and not self.is_hidden(change.mention.path):
                self.on_mention(change.mention)
        elif isinstance(change, Selected) and change.selection is None:
            self._told = None

    def take_context(self) -> str | None:
        """What the person looks at, for the next prompt: once per change, nothing of hidden files."""
        selection = self.link.selection if self.link is not None and self.share else None
        if selection is None or selection == self._told or self.is_hidden(selection.path):
            return None
        self._told = selection
        return selection_note(selection)

    def take_mentions(self) -> tuple[Mention, ...]:
        """Mentions since the last call, oldest first; hidden files are left out."""
        taken, self._mentions = self._mentions, []
        return tuple(mention for mention in taken if not self.is_hidden(mention.path))

    async def propose_edit(self, path: Path, text: str) -> Decision:
        """Shows a change in the editor and waits for the person, for as long as it takes; nothing is written.

        `Undecided` means that the editor cannot decide this one: ask elsewhere. To withdraw the question, because it
        was answered elsewhere, cancel the call: the view closes. When the person changed the proposal, the next
        `write` of just this proposal writes their text.
        """
        link = self.link
        if link is None:
            return Undecided("no editor is attached")
        theirs = link.found.paths.to_theirs(str(path))
        # Neovim's plug-in finds a diff again only by these two signs.
        title = f"✻ [Weft] {path.name} ({secrets.token_hex(3)}) ⧉"
        try:
            result = await link.call(
                "openDiff",
                {
                    "old_file_path": theirs,
                    "new_file_path": theirs,
                    "new_file_contents": text,
                    "tab_name": title,
                },
                limit=None,
            )
            return self._keep(path, text, decode_decision(result, text))
        except WorkspaceError as error:
            return Undecided(str(error))
        finally:
            with anyio.CancelScope(shield=True):
                await self._close_tab(link, title)

    def _keep(self, path: Path, proposed: str, decision: Decision) -> Decision:
        self._retouched.pop(str(path), None)
        if not isinstance(decision, Accepted):
            return decision
        text = with_newlines_of(proposed, decision.text)
        if text != proposed:
            self._retouched[str(path)] = (proposed, text)
        return Accepted(text)

    async def close_diffs(self) -> None:
        """Closes what earlier prompts left open; called when a prompt is sent."""
        if self.link is not None:
            await self._quietly(self.link, "closeAllDiffTabs", {})

    async def _ask(self, path: str) -> tuple[Diagnostic, ...] | None:
        assert self.link is not None
        uri = self.link.found.paths.to_their_uri(path)
        found = await self._diagnostics(self.link, {"uri": uri})
        if found is None:
            return None
        return tuple(item for file in found for item in file.diagnostics if _same(file.path, path))

    async def _diagnostics(self, link: IdeLink, arguments: dict[str, object]) -> tuple[FileDiagnostics, ...] | None:
        try:
            result = await link.call("getDiagnostics", arguments, limit=DIAGNOSTICS_LIMIT)
        except WorkspaceError as error:
            _log.debug("no problems from the editor: %s", error)
            return None
        ours = link.found.paths.to_ours
        return tuple(FileDiagnostics(ours(file.path), file.diagnostics) for file in decode_diagnostics(result))

    async def _close_tab(self, link: IdeLink, title: str) -> None:
        await self._quietly(link, "close_tab", {"tab_name": title})

    async def _quietly(self, link: IdeLink, name: str, arguments: dict[str, object]) -> None:
        try:
            await link.call(name, arguments, limit=CLOSE_LIMIT)
        except WorkspaceError as error:
            _log.debug("%s: %s", name, error)

    def is_hidden(self, path: str) -> bool:
        """Whether a rule keeps this file from the model."""
        return self._hidden(path) or self._hidden(_real(path))


def _real(path: str) -> str:
    return os.path.realpath(path)


def _same(one: str, other: str) -> bool:
    return one == other or _real(one) == _real(other)
