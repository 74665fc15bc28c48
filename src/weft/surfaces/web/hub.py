"""All conversations and all pages of one host."""

import contextlib
import uuid
from collections.abc import Sequence
from typing import Self

import anyio
import anyio.abc
from anyio import to_thread

from weft import __version__
from weft.errors import SessionError
from weft.schema.events import AgentEvent
from weft.surfaces.files import Folders
from weft.surfaces.web.conversation import Conversation, Viewer
from weft.surfaces.web.frames import (
    AgentState,
    ConversationClosed,
    ConversationList,
    IdeContext,
    Row,
    State,
    ToPage,
    encode_frame,
)
from weft.surfaces.web.ports import (
    Agents,
    EditorSight,
    Keeper,
    OpenAgent,
    Opening,
    Panels,
    Shelf,
    Talk,
    WatchEditor,
)

OWN = "weft"
"""The agent that lives in this process and keeps its sessions itself."""
SETTLE = 0.1
"""Seconds in which changes of the list are gathered before pages are told."""
QUIET = 0.3
"""Seconds in which an editor's selection must stand still before pages are told of it."""
SELECTION = 5_000
"""Characters of the editor's selection that are taken."""


class Hub:
    """Entered, it can start conversations; left, every agent that it started is gone."""

    def __init__(
        self,
        folders: Folders,
        open_agent: OpenAgent,
        *,
        shelf: Shelf | None = None,
        keeper: Keeper | None = None,
        agents: Agents | None = None,
        panels: Panels | None = None,
        watch_editor: WatchEditor | None = None,
        default_agent: str = "weft",
    ) -> None:
        self.folders = folders
        self.shelf = shelf
        self.keeper = keeper
        self.agents = agents
        self.panels = panels
        self.default_agent = default_agent
        self.sight: EditorSight | None = None
        self._open_agent = open_agent
        self._watch_editor = watch_editor
        self._conversations: dict[str, Conversation] = {}
        self._pages: set[Viewer] = set()
        self._known: tuple[AgentState, ...] = ()
        self._stale = anyio.Event()
        self._moved = anyio.Event()

    async def __aenter__(self) -> Self:
        self.group: anyio.abc.TaskGroup = anyio.create_task_group()
        await self.group.__aenter__()
        self.group.start_soon(self._tell_changes)
        if self._watch_editor is not None:
            self.group.start_soon(self._tell_sight)
            self.group.start_soon(self._watch_editor, self._saw)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.group.cancel_scope.cancel()
        await self.group.__aexit__(None, None, None)

    # --- pages ----------------------------------------------------------------------------------------------

    def join(self, page: Viewer) -> None:
        self._pages.add(page)

    def leave(self, page: Viewer) -> None:
        self._pages.discard(page)
        self.forget(page)

    def forget(self, page: Viewer) -> None:
        """The page does not show any conversation now."""
        for conversation in self._conversations.values():
            conversation.viewers.discard(page)

    def tell(self, frame: ToPage) -> None:
        encoded = encode_frame(frame)
        for page in tuple(self._pages):
            page.push(encoded)

    async def state(self) -> State:
        return State(
            version=__version__,
            folders=self.folders.roots,
            agents=await self.list_agents(),
            conversations=await self.rows(),
            default_agent=self.default_agent,
            panels=tuple(self.panels.names()) if self.panels else (),
        )

    async def list_agents(self, *, check: str | None = None, fresh: bool = False) -> tuple[AgentState, ...]:
        if self.agents is not None:
            self._known = tuple(await self.agents.list(check=check, fresh=fresh))
        return self._known or (AgentState(name=self.default_agent, title=self.default_agent, available=True),)

    async def recheck(self) -> None:
        """Forgets what was known of agents, and looks again at those that are talked to."""
        await self.list_agents(fresh=True)
        for agent in {self.default_agent, *(each.opening.agent for each in self._conversations.values() if each.used)}:
            await self.list_agents(check=agent)

    async def rows(self) -> tuple[Row, ...]:
        """Live ones and those on disk, newest first. A session that another agent keeps of a conversation of ours is
        not another conversation."""
        live = {id: conversation.row for id, conversation in self._conversations.items() if conversation.used}
        known = {conversation.opening.agent_session for conversation in self._conversations.values()}
        known.update(self._conversations)
        for talk in await self._talks():
            known.update(talk.sessions)
            if talk.id not in known and not talk.deleted:
                live[talk.id] = talk.row
        if self.shelf is not None:
            for row in await to_thread.run_sync(self.shelf.rows, self.folders.roots):
                if row.id not in known:
                    live[row.id] = row
        return tuple(sorted(live.values(), key=lambda row: -row.updated))

    async def _talks(self) -> Sequence[Talk]:
        return [] if self.keeper is None else await to_thread.run_sync(self.keeper.talks, self.folders.roots)

    def changed(self) -> None:
        self._stale.set()

    async def _tell_changes(self) -> None:
        while True:
            await self._stale.wait()
            await anyio.sleep(SETTLE)
            self._stale = anyio.Event()
            self.tell(ConversationList(conversations=await self.rows()))

    # --- conversations --------------------------------------------------------------------------------------

    def new(self, folder: str = "", agent: str = "") -> Conversation:
        """A conversation that nobody has said anything in; its agent starts with the first prompt. Where no folder is
        named it is the one that the person looks at in the editor, else the first."""
        roots = self.folders.roots
        main = folder if folder in roots else self._folder_of_editor() or roots[0]
        opening = Opening(
            session_id=str(uuid.uuid4()),
            folder=main,
            directories=tuple(root for root in roots if root != main),
            agent=agent or self.default_agent,
        )
        conversation = Conversation(opening, self._open_agent, self.changed, keeper=self.keeper_of(opening.agent))
        self._conversations[conversation.id] = conversation
        return conversation

    def keeper_of(self, agent: str) -> Keeper | None:
        """Our own agent keeps its sessions itself."""
        return None if agent == OWN else self.keeper

    async def get(self, id: str) -> Conversation:
        """A conversation that is open, or one from the disk.

        Raises:
            SessionError: there is no such conversation in these folders.
        """
        if id in self._conversations:
            return self._conversations[id]
        talk = next((talk for talk in await self._talks() if talk.id == id and not talk.deleted), None)
        if talk is not None and self.keeper is not None:
            return self._reopen(talk.row, await to_thread.run_sync(self.keeper.events, talk), talk)
        row = next((row for row in await self.rows() if row.id == id), None)
        if row is None or self.shelf is None:
            raise SessionError("This conversation is not there any more")
        return self._reopen(row, await to_thread.run_sync(self.shelf.events, id))

    def _reopen(self, row: Row, events: Sequence[AgentEvent], talk: Talk | None = None) -> Conversation:
        """From what was read. Another page may have opened it meanwhile: then that one counts."""
        if row.id in self._conversations:
            return self._conversations[row.id]
        opening = Opening(
            session_id=row.id,
            folder=row.folder,
            resume=True,
            directories=tuple(root for root in self.folders.roots if root != row.folder),
            agent=row.agent,
            agent_session=talk.sessions[-1] if talk is not None and talk.sessions else "",
            model=talk.model if talk is not None else None,
        )
        conversation = Conversation(
            opening,
            self._open_agent,
            self.changed,
            title=row.title,
            updated=row.updated,
            keeper=self.keeper_of(row.agent),
            talk=talk,
        )
        conversation.replay(events)
        self._conversations[row.id] = conversation
        return conversation

    async def delete(self, id: str) -> None:
        """With what we keep of it. What another agent keeps for itself stays with that agent, and is not shown."""
        conversation = self._conversations.pop(id, None)
        sessions = {id}
        if conversation is not None:
            sessions.add(conversation.opening.agent_session)
            conversation.forget()
        talk = next((talk for talk in await self._talks() if talk.id == id), None)
        if talk is not None and self.keeper is not None:
            sessions.update(talk.sessions)
            await to_thread.run_sync(self.keeper.delete, talk)
        try:
            await self._delete_sessions(sessions, ours=talk is None)
        finally:
            self.tell(ConversationClosed(conversation=id))
            self.changed()

    async def _delete_sessions(self, sessions: set[str], *, ours: bool) -> None:
        if self.shelf is None:
            return
        for row in await to_thread.run_sync(self.shelf.rows, self.folders.roots):
            if row.id in sessions:
                with contextlib.suppress(*(() if ours else (SessionError,))):
                    await to_thread.run_sync(self.shelf.delete, row.id)

    async def search(self, query: str) -> Sequence[str]:
        words = query.lower().split()
        found = dict.fromkeys(row.id for row in await self.rows() if all(word in row.title.lower() for word in words))
        for place in (self.keeper, self.shelf):
            if place is not None:
                found.update(dict.fromkeys(await to_thread.run_sync(place.search, query, self.folders.roots)))
        return list(found)

    # --- the editor -----------------------------------------------------------------------------------------

    def _saw(self, sight: EditorSight | None) -> None:
        self.sight = sight
        self._moved.set()

    async def _tell_sight(self) -> None:
        while True:
            await self._moved.wait()
            while self._moved.is_set():
                self._moved = anyio.Event()
                with anyio.move_on_after(QUIET):
                    await self._moved.wait()
            self.tell(self.editor_frame())

    def _folder_of_editor(self) -> str:
        """The folder that the file in the editor is of; empty when it is of none."""
        path = self.sight.path if self.sight is not None else ""
        below = [root for root in self.folders.roots if path == root or path.startswith(f"{root}/")]
        return max(below, key=len, default="")

    def editor_frame(self) -> IdeContext:
        sight = self.sight
        if sight is None or not sight.path:
            return IdeContext()
        name = sight.path.rsplit("/", 1)[-1]
        selection: dict[str, object] | None = None
        if sight.text:
            selection = {
                "filePath": sight.path,
                "fileName": name,
                "text": sight.text[:SELECTION],
                "lineStart": sight.line_start,
                "lineEnd": sight.line_end,
            }
        return IdeContext(active_file={"path": sight.path, "name": name}, selection=selection)
