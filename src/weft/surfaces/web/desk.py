"""What each message of a page does: one case for each, closed by the type checker."""

import uuid
from typing import assert_never

from anyio import to_thread

from weft.errors import SessionError, UsageError
from weft.schema import commands as c
from weft.schema.messages import ThinkingConfig
from weft.surfaces.markdown import highlight
from weft.surfaces.web import messages as m
from weft.surfaces.web.answers import answer, to_content
from weft.surfaces.web.conversation import Conversation, Viewer
from weft.surfaces.web.frames import Older, Reply, encode_frame
from weft.surfaces.web.guard import Keys
from weft.surfaces.web.hub import OWN, Hub
from weft.surfaces.web.ports import Panels
from weft.surfaces.web.stream import ErrorChunk


class Desk:
    """Acts for one page. What it raises is shown on that page."""

    def __init__(self, hub: Hub, page: Viewer, keys: Keys | None = None) -> None:
        self._hub = hub
        self._page = page
        self._keys = keys

    async def handle(self, message: m.FromPage) -> None:
        """
        Raises:
            WeftError: it cannot be done; the message is a sentence.
        """
        if isinstance(message, m.InConversation):
            await self._in_conversation(message, await self._hub.get(message.conversation))
        else:
            await self._in_host(message)

    # --- about the host -------------------------------------------------------------------------------------

    async def _in_host(self, message: m.HostMessage) -> None:
        hub = self._hub
        match message:
            case m.Ready(seen=seen):
                self._page.push(encode_frame(await hub.state()))
                self._page.push(encode_frame(hub.editor_frame()))
                for id, last in seen.items():
                    await self._show_again(id, last)
            case m.RecheckCli():
                await hub.recheck()
                hub.tell(await hub.state())
            case m.PickFiles(folder=folder):
                found = await to_thread.run_sync(hub.folders.children, folder)
                self._reply(message, [{"name": name, "folder": is_folder} for name, is_folder in found])
            case m.ListWorkspaceFiles(query=query, limit=limit):
                self._reply(message, await to_thread.run_sync(hub.folders.search, query, min(limit, 500)))
            case m.ReadFiles(paths=paths):
                texts = [await to_thread.run_sync(hub.folders.read, path) for path in paths[:50]]
                self._reply(message, [{"path": path, "text": text} for path, text in zip(paths, texts, strict=False)])
            case m.OpenFile(path=path, line=line):
                text = await to_thread.run_sync(hub.folders.read, path)
                name = path.rsplit("/", 1)[-1]
                html = highlight(text, name if "." in name else "")
                self._reply(message, {"path": path, "line": line, "html": html})
            case m.NewConversation(folder=folder, agent=agent):
                self._show(hub.new(folder, agent))
            case m.SearchConversations(query=query):
                self._reply(message, list(await hub.search(query)))
            case m.GetPanel(panel=panel, folder=folder):
                self._reply(message, await self._panels().read(panel, folder or hub.folders.roots[0]))
            case m.SetSetting(key=key, value=value, layer=layer, folder=folder):
                await self._panels().set_setting(key, value, layer, folder or hub.folders.roots[0])
                self._reply(message, True)
            case m.RemoveRule(rule=rule, behavior=behavior, layer=layer, folder=folder):
                await self._panels().remove_rule(rule, behavior, layer, folder or hub.folders.roots[0])
                self._reply(message, True)
            case m.AddFolder(folder=folder):
                self._reply(message, hub.folders.add(folder))
                hub.tell(await hub.state())
            case m.NewLink():
                if self._keys is None:
                    raise UsageError("There are no links here")
                self._reply(message, self._keys.new_link())
            case _:
                assert_never(message)

    async def _show_again(self, id: str, last: int) -> None:
        try:
            conversation = await self._hub.get(id)
        except SessionError:
            return
        conversation.watch(self._page, last)

    def _show(self, conversation: Conversation, *, seen: int | None = None, keep: bool = False) -> None:
        if not keep:
            self._hub.forget(self._page)
        conversation.watch(self._page, seen)

    def _panels(self) -> Panels:
        if self._hub.panels is None:
            raise UsageError("There are no settings here")
        return self._hub.panels

    def _reply(self, message: m.PageMessage, data: object) -> None:
        if message.request is not None:
            self._page.push(encode_frame(Reply(request=message.request, data=data)))

    # --- about a conversation -------------------------------------------------------------------------------

    async def _in_conversation(self, message: m.ConversationMessage, conversation: Conversation) -> None:
        hub = self._hub
        match message:
            case m.ToolApproval() | m.QuestionAnswer() | m.PlanApprovalAnswer() | m.InputAnswer():
                if not await answer(conversation, message):
                    raise UsageError("This was answered already")
            case m.SetMode() | m.SetThink() | m.SetModel() | m.SetAgent() | m.SetWorkspaceFolder():
                await self._choose(message, conversation)
            case m.SendMessage():
                async with conversation.entry:
                    if not message.key or message.key not in conversation.arrived:
                        await self._send(message, conversation)
                        conversation.arrived.append(message.key)
                self._reply(message, True)
            case m.WakeAgent():
                async with conversation.entry:
                    if not conversation.live and await self._unavailable(conversation.opening.agent) is None:
                        conversation.wake(hub.group)
            case m.CancelCurrent(drop_queue=drop):
                if conversation.live:
                    await conversation.send(c.Cancel(drop_queue=drop), hub.group)
            case m.SwitchConversation(seen=seen, keep=keep):
                self._show(conversation, seen=seen, keep=keep)
            case m.DeleteConversation():
                await hub.delete(conversation.id)
            case m.ClearConversation():
                conversation.stop()
                fresh = hub.new(conversation.opening.folder, conversation.opening.agent)
                fresh.adopt(model=conversation.opening.model, mode=conversation.opening.mode)
                self._show(fresh)
            case m.RenameConversation(title=title):
                await self._rename(conversation, title.strip()[:200])
            case m.ForkConversation(message_id=until):
                await self._fork(conversation, until)
            case m.OlderMessages(before=key):
                chunks, older = await conversation.older(key)
                self._page.push(encode_frame(Older(conversation=conversation.id, chunks=chunks, older=older)))
            case m.EditQueued(id=id, text=text):
                await conversation.send(c.DropPrompt(id, text), hub.group)
            case m.Rewind(message_id=id, files=files, messages=whole):
                await self._rewind(message, conversation, id, files=files, whole=whole)
            case m.ExportConversation(format=kind):
                self._export(message, conversation, kind)
            case m.Compact(instructions=text):
                await conversation.send(c.Compact(text), hub.group)
            case m.StopTask(task=task):
                await conversation.send(c.StopTask(task), hub.group)
            case m.ServerAction(server=server, action=action):
                await conversation.send(c.ServerCommand(server, action), hub.group)
            case m.AppCall(call=call, server=server, tool=tool, arguments=given):
                await conversation.send(c.AppCall(f"app_{call}", server, tool, given), hub.group)
            case m.CompletePrompt(text=text):
                hub.group.start_soon(self._complete, message, conversation, text)
            case _:
                assert_never(message)

    async def _complete(self, message: m.CompletePrompt, conversation: Conversation, text: str) -> None:
        found = await conversation.complete(text)
        self._reply(message, {"start": found.start, "items": found.items})

    async def _send(self, message: m.SendMessage, conversation: Conversation) -> None:
        if not conversation.live:
            problem = await self._unavailable(conversation.opening.agent)
            if problem is not None:
                conversation.publish([problem])
                return
        sight = self._hub.sight if message.context else None
        content = to_content(message, sight)
        if not content:
            return
        prompt = c.Prompt(content, id=f"prompt-{uuid.uuid4()}", steer=message.steer)
        await conversation.send(prompt, self._hub.group)

    async def _unavailable(self, agent: str) -> ErrorChunk | None:
        """Why this agent cannot be started, if it is known that it cannot."""
        states = await self._hub.list_agents(check=agent)
        state = next((state for state in states if state.name == agent), None)
        if state is None or state.available is not False:
            return None
        return ErrorChunk(message=state.detail or f"{state.title or agent} is not there", kind="agent", hint=state.hint)

    async def _choose(self, message: m.ChoiceMessage, conversation: Conversation) -> None:
        hub = self._hub
        match message:
            case m.SetMode(mode=mode):
                await self._set(conversation, c.SetMode(mode), mode=mode)
            case m.SetThink(think=think, effort=effort):
                thinking = ThinkingConfig("adaptive" if think else "disabled", effort=effort)
                await self._set(conversation, c.SetThinking(thinking), thinking=thinking)
            case m.SetModel(model=model):
                await self._set(conversation, c.SetModel(model), model=model)
            case m.SetAgent(agent=agent):
                if conversation.used:
                    raise UsageError("Another agent needs a new conversation")
                conversation.stop()
                conversation.keep_with(hub.keeper_of(agent))
                conversation.pretend(agent=agent, model=None)
                conversation.reset()
            case m.SetWorkspaceFolder(folder=folder):
                if conversation.used:
                    raise UsageError("Another folder needs a new conversation")
                conversation.stop()
                if folder not in self._hub.folders.roots:
                    raise UsageError("This folder is not part of the workspace")
                others = tuple(root for root in self._hub.folders.roots if root != folder)
                conversation.pretend(folder=folder, directories=others)
            case _:
                assert_never(message)

    async def _set(self, conversation: Conversation, command: c.Command, **change: object) -> None:
        if conversation.live:
            await conversation.send(command, self._hub.group)
        else:
            conversation.pretend(**change)

    async def _rename(self, conversation: Conversation, title: str) -> None:
        conversation.rename(title)
        if conversation.opening.agent != OWN:
            return
        if conversation.live:
            await conversation.send(c.SetTitle(title), self._hub.group)
        elif self._hub.shelf is not None and conversation.opening.resume:
            await to_thread.run_sync(self._hub.shelf.rename, conversation.id, title)
        self._hub.changed()

    async def _fork(self, conversation: Conversation, until: str | None) -> None:
        shelf = self._hub.shelf
        if shelf is None:
            raise UsageError("This agent's conversations cannot be copied")
        session = conversation.opening.agent_session or conversation.id
        try:
            new_id = await to_thread.run_sync(shelf.fork, session, conversation.opening.folder, until)
        except SessionError as error:
            if conversation.opening.agent == OWN:
                raise
            raise UsageError(f"{conversation.opening.agent} keeps this conversation to itself: {error}") from error
        self._hub.changed()
        self._show(await self._hub.get(new_id))

    async def _rewind(
        self, message: m.Rewind, conversation: Conversation, id: str, *, files: bool, whole: bool
    ) -> None:
        if conversation.running:
            raise UsageError("Stop the turn first, then go back")
        if whole and conversation.opening.agent != OWN:
            raise UsageError(f"{conversation.opening.agent} cannot go back in a conversation; it may bring files back")
        text = conversation.log.user_text(id)
        if whole:
            conversation.expect_rewind(id)
        await conversation.send(c.Rewind(id, files=files, conversation=whole), self._hub.group)
        self._reply(message, {"text": text})

    def _export(self, message: m.PageMessage, conversation: Conversation, kind: str) -> None:
        name = "".join(letter if letter.isalnum() else "-" for letter in conversation.title)[:60].strip("-")
        transcript = conversation.transcript
        text = transcript.to_json(conversation.title) if kind == "json" else transcript.to_markdown(conversation.title)
        self._reply(message, {"name": f"{name or 'conversation'}.{'json' if kind == 'json' else 'md'}", "text": text})
