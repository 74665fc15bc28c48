"""The page as an editor for other agents: changes that they propose are asked here, like those of an agent of ours.

An agent anywhere on this machine (Claude Code in a terminal, say) attaches over the IDE protocol. Each diff that it
opens becomes a permission to be given; each file that it shows becomes a tool call. A prompt that mentions files
points the attached agents at them. A turn lasts from the first open diff to the last.
"""

import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from weft import __version__
from weft.agent.attach import find, mentions
from weft.agent.channel import Channel
from weft.errors import ConnectionLost, WeftError
from weft.exits import ExitStack
from weft.ide.editors.page import DiffClosed, DiffShown, FileShown, PageEditor, PageEvent
from weft.ide.server import IdeServer
from weft.paths import claude_home, user_home, weft_home
from weft.protocols.ide.values import Mention
from weft.schema.commands import Cancel, Command, PermissionAnswered, Prompt
from weft.schema.content import ToolResult, ToolUse, text_of
from weft.schema.display import DiffView, TextView
from weft.schema.events import (
    AgentEvent,
    AskWithdrawn,
    Notice,
    PermissionAsked,
    PromptAdded,
    SessionInfo,
    SessionStarted,
    ToolCalled,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)
from weft.schema.wire import as_blocks

NAME = "editor"
SHOWN_LINES = 40


class EditorConnection:
    """A `Connection` without a model: entered, it listens for agents; left, its lock is gone."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._channel = Channel()
        self._stack = ExitStack()
        self._open: dict[str, DiffView] = {}
        self._taken: dict[str, str] = {}
        self._turn = ""
        self.info = SessionInfo(
            session_id=str(uuid.uuid4()),
            cwd=str(self._folders[0]),
            model="",
            directories=tuple(str(folder) for folder in self._folders[1:]),
            agent_name=NAME,
            agent_version=__version__,
        )

    async def __aenter__(self) -> Self:
        try:
            async with ExitStack() as stack:
                page = PageEditor(self._folders, self._published)
                self._editor = await stack.enter_async_context(page)
                server = IdeServer(page, home=claude_home(), keep=weft_home())
                self._server = await stack.enter_async_context(server)
                self._stack = stack.pop_all()
        except WeftError as error:
            raise ConnectionLost(str(error), hint=error.hint) from error
        self._channel.put(SessionStarted(info=self.info))
        self._channel.put(Notice(text=self._how(), level="notice", tag="ide"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return await self._stack.__aexit__(kind, error, trace)
        finally:
            self._channel.close()

    def events(self) -> AsyncIterator[AgentEvent]:
        return aiter(self._channel)

    async def send(self, command: Command) -> None:
        match command:
            case PermissionAnswered(request_id=id):
                self._answer(id, command)
            case Cancel():
                for id in tuple(self._open):
                    self._editor.reject(id)
            case Prompt():
                self._prompt(command)
            case _:
                pass

    def _how(self) -> str:
        variables = " ".join(f"{name}={value}" for name, value in self._server.environment.items())
        return f"Agents can attach to this page. In a terminal: {variables} claude"

    # From the person.

    def _answer(self, id: str, answer: PermissionAnswered) -> None:
        view = self._open.get(id)
        if view is None:
            return
        if answer.behavior == "deny":
            self._editor.reject(id)
            return
        text = (answer.input or {}).get("content", view.after)
        self._taken[id] = str(text)
        self._editor.accept(id, text=str(text))

    def _prompt(self, prompt: Prompt) -> None:
        """Points attached agents at the files that it mentions; without any it says how to attach."""
        text = text_of(prompt.content)
        self._begin()
        self._channel.put(PromptAdded(id=prompt.id or str(uuid.uuid4()), content=as_blocks(prompt.content)))
        said: list[str] = []
        for mention in mentions(text):
            path = find(mention.name, self._folders[0], user_home())
            if path is not None:
                first = None if mention.first is None else mention.first - 1
                last = None if mention.last is None else mention.last - 1
                self._editor.mention(Mention(path=str(path), first_line=first, last_line=last))
                said.append(mention.name)
        agents = ", ".join(str(agent) for agent in self._server.agents) or "no agent yet"
        words = f"Told {agents}: {', '.join(said)}." if said else f"Attached: {agents}. {self._how()}"
        self._channel.put(Notice(text=words, tag="ide"))
        self._end_if_idle(words)

    # From the attached agents.

    def _published(self, event: PageEvent) -> None:
        match event:
            case DiffShown():
                self._show(event)
            case DiffClosed(id=id):
                self._close(id)
            case FileShown():
                self._show_file(event)

    def _show(self, shown: DiffShown) -> None:
        diff = shown.diff
        self._begin()
        view = self._open[diff.id] = DiffView(diff.path, diff.before, diff.after)
        use = ToolUse(diff.id, "Write", {"file_path": diff.path, "content": diff.after})
        title = f"{diff.agent or 'An agent'} wants to change {Path(diff.path).name}"
        self._channel.put(ToolCalled(use=use, title=title, kind="edit", locations=(diff.path,)))
        asked = PermissionAsked(request_id=diff.id, use=use, title=title, preview=(view,), kind="edit")
        self._channel.put(asked)

    def _close(self, id: str) -> None:
        view = self._open.pop(id)
        text = self._taken.pop(id, None)
        done = DiffView(view.path, view.before, text) if text is not None else view
        self._channel.put(AskWithdrawn(request_id=id, reason="cancelled" if text is None else "answered"))
        words = "The change was not taken here." if text is None else "The change was taken; the agent writes it."
        self._channel.put(
            ToolEnded(
                tool_use_id=id,
                name="Write",
                result=ToolResult(id, words, is_error=text is None),
                outcome="denied" if text is None else "ok",
                display=(done,),
            )
        )
        self._end_if_idle("")

    def _show_file(self, shown: FileShown) -> None:
        self._begin()
        first = shown.selection.start.line if shown.selection is not None else 0
        lines = shown.text.splitlines(keepends=True)[first : first + SHOWN_LINES]
        id = f"shown_{uuid.uuid4().hex[:12]}"
        path = shown.document.path
        use = ToolUse(id, "mcp__ide__openFile", {"file_path": path})
        place = f"{path}:{first + 1}"
        self._channel.put(ToolCalled(use=use, title=f"Look at {place}", kind="read", locations=(place,)))
        self._channel.put(
            ToolEnded(
                tool_use_id=id,
                name=use.name,
                result=ToolResult(id, f"Opened {path}"),
                display=(TextView("".join(lines), language=shown.document.language),),
            )
        )
        self._end_if_idle("")

    def _begin(self) -> None:
        if not self._turn:
            self._turn = str(uuid.uuid4())
            self._channel.put(TurnStarted(turn_id=self._turn, origin="editor"))

    def _end_if_idle(self, text: str) -> None:
        if self._turn and not self._open:
            self._channel.put(TurnEnded(turn_id=self._turn, reason="completed", text=text))
            self._turn = ""
