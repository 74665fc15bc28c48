"""All conversations and all pages of one host."""

import uuid
from collections.abc import Sequence
from typing import Self

import anyio
import anyio.abc
from anyio import to_thread

from weft import __version__
from weft.errors import SessionError
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
from weft.surfaces.web.ports import Agents, EditorSight, OpenAgent, Opening, Panels, Shelf, WatchEditor

SETTLE = 0.1
"""Seconds in which changes of the list are gathered before pages are told."""
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
        agents: Agents | None = None,
        panels: Panels | None = None,
        watch_editor: WatchEditor | None = None,
        default_agent: str = "weft",
    ) -> None:
        self.folders = folders
        self.shelf = shelf
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

    async def __aenter__(self) -> Self:
        self.group: anyio.abc.TaskGroup = anyio.create_task_group()
        await self.group.__aenter__()
        self.group.start_soon(self._tell_changes)
        if self._watch_editor is not None:
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

    async def rows(self) -> tuple[Row, ...]:
        """Live ones and those on disk, newest first."""
        live = {id: conversation.row for id, conversation in self._conversations.items() if conversation.used}
        if self.shelf is not None:
            kept = await to_thread.run_sync(self.shelf.rows, self.folders.roots)
            known = {conversation.opening.agent_session for conversation in self._conversations.values()}
            for row in kept:
                if row.id not in self._conversations and row.id not in known:
                    live[row.id] = row
        return tuple(sorted(live.values(), key=lambda row: -row.updated))

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
        """A conversation that nobody has said anything in; its agent starts with the first prompt."""
        roots = self.folders.roots
        main = folder if folder in roots else roots[0]
        opening = Opening(
            session_id=str(uuid.uuid4()),
            folder=main,
            directories=tuple(root for root in roots if root != main),
            agent=agent or self.default_agent,
        )
        conversation = Conversation(opening, self._open_agent, self.changed)
        self._conversations[conversation.id] = conversation
        return conversation

    async def get(self, id: str) -> Conversation:
        """A conversation that is open, or one from the disk.

        Raises:
            SessionError: there is no such conversation in these folders.
        """
        if id in self._conversations:
            return self._conversations[id]
        row = next((row for row in await self.rows() if row.id == id), None)
        if row is None or self.shelf is None:
            raise SessionError("This conversation is not there any more")
        events = await to_thread.run_sync(self.shelf.events, id)
        if id not in self._conversations:
            directories = tuple(root for root in self.folders.roots if root != row.folder)
            opening = Opening(session_id=id, folder=row.folder, resume=True, directories=directories, agent=row.agent)
            conversation = Conversation(opening, self._open_agent, self.changed, title=row.title, updated=row.updated)
            conversation.replay(events)
            self._conversations[id] = conversation
        return self._conversations[id]

    async def delete(self, id: str) -> None:
        conversation = self._conversations.pop(id, None)
        if conversation is not None:
            conversation.stop()
        if self.shelf is not None:
            kept = await to_thread.run_sync(self.shelf.rows, self.folders.roots)
            session = conversation.opening.agent_session if conversation else ""
            for row in kept:
                if row.id in (id, session):
                    await to_thread.run_sync(self.shelf.delete, row.id)
        self.tell(ConversationClosed(conversation=id))
        self.changed()

    async def search(self, query: str) -> Sequence[str]:
        words = query.lower().split()
        titles = [row.id for row in await self.rows() if all(word in row.title.lower() for word in words)]
        if self.shelf is None:
            return titles
        found = await to_thread.run_sync(self.shelf.search, query, self.folders.roots)
        return [*titles, *(id for id in found if id not in titles)]

    # --- the editor -----------------------------------------------------------------------------------------

    def _saw(self, sight: EditorSight | None) -> None:
        self.sight = sight
        self.tell(self.editor_frame())

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
