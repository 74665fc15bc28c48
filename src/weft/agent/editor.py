"""The attached editor's seat in a session: one more place where the person looks, points and answers.

It attaches by the terminal's variables, by folder when asked to, or by the person's choice (`/ide`). A change that
waits for permission is shown there too: the first answer counts, the other closes.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import anyio.abc

from weft.errors import WorkspaceError
from weft.exits import ExitStack
from weft.protocols.ide.values import Accepted, Mention, Rejected
from weft.schema.commands import PermissionAnswered
from weft.schema.content import Content, Text
from weft.schema.display import DiffView
from weft.schema.events import AgentEvent, AskWithdrawn, Notice, PermissionAsked
from weft.tools.ide import ide_tools
from weft.tools.port import AnyTool
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import Found, choose, find_locks
from weft.workspace.ide.notes import mention_text
from weft.workspace.ide.workspace import IdeWorkspace

_log = logging.getLogger(__name__)
POLL = 1.0
PATIENCE = 60
"""Seconds that an editor may start after us and still be found."""
REFUSED = "The person rejected this change in their editor."


class EditorSeat:
    """Entered with the session. `answer` takes the person's answers; `emit` tells them what happens. Without `diffs`
    changes are shown in the terminal only."""

    def __init__(
        self,
        work: IdeWorkspace,
        *,
        cwd: Path,
        env: Mapping[str, str],
        auto: bool,
        emit: Callable[[AgentEvent], None],
        answer: Callable[[PermissionAnswered], None],
        diffs: bool = True,
    ) -> None:
        self._work = work
        self._cwd = cwd
        self._env = env
        self._auto = auto
        self._emit = emit
        self._answer = answer
        self._diffs = diffs
        self._shown: dict[str, anyio.CancelScope] = {}
        self._held: anyio.CancelScope | None = None
        self._tools: tuple[frozenset[str], Sequence[AnyTool]] = (frozenset(), ())
        self._stack = ExitStack()
        self._group: anyio.abc.TaskGroup | None = None
        work.on_mention = self._mentioned

    async def __aenter__(self) -> Self:
        self._group = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(self._group.cancel_scope.cancel)
        self._group.start_soon(self._look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    # What the session asks.

    def tools(self) -> Sequence[AnyTool]:
        """The editor's tools for the model; the same objects as long as it offers the same."""
        link = self._work.link
        offered = link.tools if link is not None and link.state == "attached" else frozenset[str]()
        if offered != self._tools[0]:
            self._tools = (offered, ide_tools(link))
        return self._tools[1]

    def context(self) -> Content:
        """What the person looks at, for the next prompt, once per change. Diffs of earlier prompts are closed."""
        if self._shows_diffs and self._group is not None:
            self._group.start_soon(self._work.close_diffs)
        note = self._work.take_context()
        return (Text(f"<system-reminder>\n{note}\n</system-reminder>"),) if note else ()

    def mentions(self) -> str:
        """What the person pointed at since the last prompt, as they would have typed it."""
        return " ".join(mention_text(mention, self._cwd) for mention in self._work.take_mentions())

    def see(self, event: AgentEvent) -> None:
        """Watches questions: an edit that waits for permission is put before the person in the editor too."""
        match event:
            case PermissionAsked(preview=(DiffView(after=str()) as view, *_)) if self._shows_diffs and self._group:
                self._shown[event.request_id] = anyio.CancelScope()
                self._group.start_soon(self._propose, event.request_id, view)
            case AskWithdrawn(request_id=request_id):
                scope = self._shown.pop(request_id, None)
                if scope is not None:
                    scope.cancel()
            case _:
                pass

    async def command(self, arguments: str) -> str:
        """`/ide`: lists editors; with a number or a name attaches to one; `off` lets it go; `context` on or off."""
        wanted = arguments.strip()
        if wanted in ("off", "none"):
            return self._let_go()
        if wanted.startswith("context"):
            self._work.share = wanted.partition(" ")[2].strip() != "off"
            return f"What you look at is {'told' if self._work.share else 'not told'} to the model."
        found = find_locks(self._env)
        if not found:
            return "No editor has left a lock file. Start one, or run weft ide in another terminal."
        if not wanted:
            return "\n".join([*(self._row(number, item) for number, item in enumerate(found, 1)), "", _USAGE])
        for number, item in enumerate(found, 1):
            if wanted.lower() in (str(number), str(item.lock.port), item.lock.ide_name.lower()):
                return await self._choose(item)
        return f"There is no editor {wanted!r}. /ide lists them."

    # How it is done.

    @property
    def _attached(self) -> bool:
        return self._work.link is not None and self._work.link.state == "attached"

    @property
    def _shows_diffs(self) -> bool:
        return self._diffs and self._attached

    def _row(self, number: int, item: Found) -> str:
        link = self._work.link
        mark = "*" if link is not None and link.found.lock.port == item.lock.port else " "
        return f"{mark} {number}. {item.lock.ide_name} (port {item.lock.port}): {', '.join(item.lock.folders) or '-'}"

    async def _look(self) -> None:
        """Attaches to the one editor that fits, now or when it appears."""
        for _ in range(PATIENCE):
            choice = choose(self._cwd, self._env, auto=self._auto)
            if choice.found is not None:
                await self._hold(choice.found)
                return
            if not self._auto:
                return
            await anyio.sleep(POLL)

    async def _choose(self, found: Found) -> str:
        self._let_go()
        assert self._group is not None
        try:
            await self._group.start(self._hold_chosen, found)
        except WorkspaceError as error:
            return str(error)
        return f"Attached to {found.lock.ide_name}."

    def _let_go(self) -> str:
        name = self._work.link.name if self._work.link is not None else None
        if self._held is not None:
            self._held.cancel()
            self._held = None
        return f"{name} is no longer attached." if name else "No editor is attached."

    async def _hold_chosen(
        self, found: Found, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        with anyio.CancelScope() as scope:
            async with IdeLink(found, cwd=self._cwd, heard=self._work.heard, env=self._env) as link:
                self._held, self._work.link = scope, link
                self._emit(Notice(text=f"{link.name} is attached.", tag="ide"))
                task_status.started()
                try:
                    await anyio.sleep_forever()
                finally:
                    if self._work.link is link:
                        self._work.link = None

    async def _hold(self, found: Found) -> None:
        try:
            await self._hold_chosen(found)
        except WorkspaceError as error:
            self._emit(Notice(text=str(error), level="warning", tag="ide"))

    def _mentioned(self, mention: Mention) -> None:
        words = f"{mention_text(mention, self._cwd)} goes with your next prompt."
        self._emit(Notice(text=words, tag="at_mentioned"))

    async def _propose(self, request_id: str, view: DiffView) -> None:
        scope = self._shown.get(request_id)
        if scope is None:
            return
        with scope:
            decision = await self._work.propose_edit(Path(view.path), view.after or "")
            if isinstance(decision, Accepted):
                self._answer(PermissionAnswered(request_id, "allow"))
            elif isinstance(decision, Rejected):
                self._answer(PermissionAnswered(request_id, "deny", message=REFUSED, interrupt=True))
            else:
                _log.debug("the editor did not decide: %s", decision.reason)


_USAGE = "/ide NUMBER attaches, /ide off lets go, /ide context off keeps what you look at from the model."
