"""The host behind the page, over its socket: conversations, resuming, settings, the editor, agents."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio

from tests.integration.web.hosting import Served, Talk, served
from weft.paths import weft_home
from weft.schema.commands import Prompt, SetModel
from weft.schema.content import Document, Image, Text
from weft.schema.events import AgentEvent, PromptAdded, SessionInfo
from weft.schema.messages import Message, Reply, Usage
from weft.schema.records import AssistantRecord, Origin, UserRecord
from weft.sessions.store import FileStore
from weft.settings import load_settings
from weft.surfaces.web.frames import AgentState, Row
from weft.surfaces.web.panels import HostPanels
from weft.surfaces.web.ports import EditorSight, Opening
from weft.surfaces.web.shelf import SessionShelf
from weft.surfaces.web.talks import TalkFiles
from weft.testing.connection import ScriptedConnection, called, said


def write_session(folder: Path, id: str, question: str, answer: str) -> FileStore:
    store = FileStore(weft_home())
    log = store.create(id, folder)
    origin = Origin(uuid=f"{id}-u", session_id=id, cwd=str(folder), timestamp="2026-11-14T10:00:00Z")
    log.append(UserRecord(origin=origin, message=Message("user", (Text(question),))))
    reply = Reply(f"msg-{id}", "claude-sonnet-4-5", (Text(answer),), usage=Usage(1000, 200))
    back = Origin(uuid=f"{id}-a", parent_uuid=f"{id}-u", session_id=id, timestamp="2026-11-14T10:00:05Z")
    log.append(AssistantRecord(origin=back, reply=reply, cost=0.25))
    log.close()
    return store


A = "11111111-1111-4111-8111-111111111111"
B = "22222222-2222-4222-8222-222222222222"


async def test_sessions_on_disk_are_listed_opened_searched_renamed_copied_and_deleted(tmp_path: Path) -> None:
    write_session(tmp_path, A, "How do parsers work?", "They **read** tokens.")
    store = write_session(tmp_path, B, "What is a lexer?", "It makes tokens.")
    async with served(tmp_path, [said("More.")], shelf=SessionShelf(store)) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            await talk.send("ready")
            rows = (await talk.frame("state"))["conversations"]
            assert {row["title"] for row in rows} == {"How do parsers work?", "What is a lexer?"}
            await talk.send("switchConversation", conversation=A)
            opened = await talk.frame("conversationOpened")
            assert "<strong>read</strong>" in str(opened["chunks"])
            assert not site.agents
            await talk.send("searchConversations", request=1, query="lexer")
            assert (await talk.frame("reply"))["data"] == [B]
            await talk.send("renameConversation", conversation=A, title="Parsers")
            await talk.until(lambda f: f["type"] == "conversations" and "Parsers" in str(f))
            await talk.send("forkConversation", conversation=A)
            copy = await talk.frame("conversationOpened")
            assert copy["row"]["id"] not in (A, B)
            assert "read" in str(copy["chunks"])
            await talk.send("deleteConversation", conversation=B)
            assert (await talk.frame("conversationClosed"))["conversation"] == B
            await talk.send("sendMessage", conversation=A, text="Go on")
        assert {row.session_id for row in store.list(tmp_path)} == {A, copy["row"]["id"]}
        assert next(row.title for row in store.list(tmp_path) if row.session_id == A) == "Parsers"


async def test_a_page_that_comes_back_is_sent_only_what_it_missed(tmp_path: Path) -> None:
    async with served(tmp_path, [said("One"), said("Two")]) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            id = await talk.fresh()
            await talk.send("sendMessage", conversation=id, text="first")
            await talk.chunk("turn_end")
            last = max(frame["seq"] for frame in talk.seen if frame["type"] == "streamChunk") + 1
        async with site.connect() as socket:
            talk = Talk(socket)
            await talk.send("ready", seen={id: last})
            opened = await talk.frame("conversationOpened")
            assert opened["resumed"] is True
            await talk.send("sendMessage", conversation=id, text="second")
            await talk.chunk("turn_end")
            chunks = [frame for frame in talk.seen if frame["type"] == "streamChunk"]
            numbers = [frame["seq"] for frame in chunks]
            assert numbers == sorted(set(numbers))
            assert min(numbers) > last
            assert "One" not in str(chunks)


async def test_what_is_attached_reaches_the_agent(tmp_path: Path) -> None:
    async with served(tmp_path, [said("Seen.")]) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            id = await talk.fresh()
            picture = {"name": "a.png", "mediaType": "image/png", "data": "AAAA"}
            attached = [picture, {"name": "n.txt", "text": "notes"}, {"name": "b", "path": "src/b.py"}]
            await talk.send("sendMessage", conversation=id, text="Look", attachments=attached)
            await talk.chunk("turn_end")
            await talk.send(
                "sendMessage", conversation=id, text="x", attachments=[{**picture, "mediaType": "image/svg+xml"}]
            )
            assert "not a picture" in (await talk.frame("problem"))["message"]
        prompts = [command for command in site.agents[0].commands if isinstance(command, Prompt)]
        assert len(prompts) == 1
        kinds = [type(block) for block in prompts[0].content]
        assert kinds == [Image, Document, Text]
        assert prompts[0].content[-1] == Text("Look\n\n@src/b.py")


async def test_choices_before_the_agent_runs_are_what_it_starts_with(tmp_path: Path) -> None:
    async with served(tmp_path, [said("Hi")]) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            id = await talk.fresh()
            await talk.send("setMode", conversation=id, mode="plan")
            assert (await talk.chunk("session"))["info"]["mode"] == "plan"
            await talk.send("setThink", conversation=id, think=True)
            assert (await talk.chunk("session"))["info"]["thinking"]["kind"] == "adaptive"
            assert not site.agents
            await talk.send("sendMessage", conversation=id, text="go")
            await talk.chunk("turn_end")
            await talk.send("setModel", conversation=id, model="other")
            await talk.until(
                lambda f: f["type"] == "streamChunk" and f["chunk"].get("info", {}).get("model") == "other"
            )
            assert SetModel("other") in site.agents[0].commands
            await talk.send("setAgent", conversation=id, agent="gemini")
            assert "new conversation" in (await talk.frame("problem"))["message"]


class OneMissing:
    """An agent that cannot be used, and how often that was looked at."""

    def __init__(self) -> None:
        self.checks: list[str | None] = []

    async def list(self, *, check: str | None = None, fresh: bool = False) -> Sequence[AgentState]:
        self.checks.append(check)
        missing = AgentState(
            name="ghost", title="Ghost", available=False if check else None, detail="Not here", hint="Buy one"
        )
        return [missing]


async def test_an_agent_is_checked_when_it_is_first_used_and_its_absence_is_told(tmp_path: Path) -> None:
    agents = OneMissing()
    async with served(tmp_path, agents=agents, default_agent="ghost") as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            await talk.send("ready")
            assert (await talk.frame("state"))["agents"][0]["available"] is None
            id = await talk.fresh()
            assert agents.checks == [None]
            await talk.send("sendMessage", conversation=id, text="hello?")
            error = await talk.chunk("error")
            assert (error["message"], error["hint"]) == ("Not here", "Buy one")
            assert agents.checks == [None, "ghost"]
            assert not site.agents
            await talk.send("recheckCli")
            state = await talk.frame("state")
            assert state["agents"][0]["available"] is None
            assert agents.checks == [None, "ghost", None, "ghost", None]


async def test_an_agent_that_dies_is_told_of_and_started_again_by_the_next_prompt(tmp_path: Path) -> None:
    async with served(tmp_path, [said("Alive.")]) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            id = await talk.fresh()
            await talk.send("sendMessage", conversation=id, text="one")
            await talk.chunk("turn_end")
            await site.agents[0].die()
            assert "ended" in (await talk.chunk("error"))["message"]
            await talk.send("sendMessage", conversation=id, text="two")
            await talk.chunk("turn_end")
            assert len(site.agents) == 2


async def test_an_agent_that_cannot_start_is_an_error_on_the_page(tmp_path: Path) -> None:
    class Broken(ScriptedConnection):
        async def __aenter__(self):  # type: ignore[override]
            raise OSError("no such program")

    async with served(tmp_path, open_agent=lambda opening: Broken()) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            id = await talk.fresh()
            await talk.send("sendMessage", conversation=id, text="one")
            assert "no such program" in (await talk.chunk("error"))["message"]


async def test_settings_rules_and_usage_are_shown_and_changed(tmp_path: Path) -> None:
    store = write_session(tmp_path, A, "How?", "So.")
    (tmp_path / ".claude").mkdir()
    local = tmp_path / ".claude" / "settings.local.json"
    local.write_text(json.dumps({"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Read(.env)"]}, "theme": "kept"}))
    panels = HostPanels(lambda folder: load_settings(folder, trusted=True), store)
    async with served(tmp_path, panels=panels, shelf=SessionShelf(store)) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)

            async def ask(type: str, **fields: object) -> dict[str, object]:
                await talk.send(type, request=7, **fields)
                return await talk.frame("reply")

            rules = (await ask("getPanel", panel="permissions"))["data"]["rules"]  # type: ignore[index]
            assert {(rule["rule"], rule["behavior"]) for rule in rules} == {
                ("Bash(ls:*)", "allow"),
                ("Read(.env)", "deny"),
            }
            assert all(str(local) in rule["origin"] for rule in rules)
            await ask("removeRule", rule="Bash(ls:*)", behavior="allow", layer="local")
            await ask("setSetting", key="model", value="opus", layer="local")
            assert json.loads(local.read_text()) == {
                "permissions": {"allow": [], "deny": ["Read(.env)"]},
                "theme": "kept",
                "model": "opus",
            }
            refused = await ask("setSetting", key="hooks", value={}, layer="local")
            assert "cannot be changed" in str(refused["error"])
            refused = await ask("setSetting", key="permissions.defaultMode", value="anything", layer="local")
            assert "cannot be" in str(refused["error"])
            settings = (await ask("getPanel", panel="settings"))["data"]["settings"]  # type: ignore[index]
            values = {setting["key"]: setting["value"] for setting in settings}
            assert (values["model"], values["respectGitignore"]) == ("opus", True)
            usage = (await ask("getPanel", panel="usage"))["data"]
            assert len(usage["days"]) == 14  # type: ignore[index]
            assert usage["days"][-1] == {"name": "2026-11-14", "tokens": 1200, "cost": 0.25}  # type: ignore[index]


async def test_the_editor_s_selection_is_a_chip_and_goes_along(tmp_path: Path) -> None:
    async def watch(told: Callable[[EditorSight | None], None]) -> None:
        told(EditorSight("a.py", "two", 2, 2))
        await anyio.sleep_forever()

    async with served(tmp_path, [said("Yes.")], watch_editor=watch) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            await talk.send("ready")
            shown = await talk.until(lambda f: f["type"] == "ideContextChanged" and bool(f.get("selection")))
            assert shown["selection"]["text"] == "two"
            assert shown["selection"]["lineStart"] == 2
            id = await talk.fresh()
            await talk.send("sendMessage", conversation=id, text="What is this?")
            message = await talk.chunk("user_message")
            assert message["text"] == "What is this?"
            await talk.send("sendMessage", conversation=id, text="Without", context=False)
            await talk.chunk("user_message")
        prompts = [command for command in site.agents[0].commands if isinstance(command, Prompt)]
        assert "two" in prompts[0].content[-1].text
        assert prompts[1].content == (Text("Without"),)


async def test_a_new_conversation_is_of_the_folder_that_the_editor_shows(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    shown: list[Callable[[EditorSight | None], None]] = []

    async def watch(told: Callable[[EditorSight | None], None]) -> None:
        shown.append(told)
        await anyio.sleep_forever()

    async with served(tmp_path / "first", watch_editor=watch) as site:
        site.hub.folders.add(str(tmp_path / "second"))
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            await talk.send("newConversation")
            assert (await talk.frame("conversationOpened"))["row"]["folder"] == str(tmp_path / "first")
            for line in range(3):
                shown[0](EditorSight(str(tmp_path / "second" / "a.py"), "x", line + 1, line + 1))
            told = await talk.until(lambda f: f["type"] == "ideContextChanged" and bool(f.get("selection")))
            assert told["selection"]["lineStart"] == 3
            await talk.send("newConversation")
            assert (await talk.frame("conversationOpened"))["row"]["folder"] == str(tmp_path / "second")
            await talk.send("newConversation", folder=str(tmp_path / "first"))
            assert (await talk.frame("conversationOpened"))["row"]["folder"] == str(tmp_path / "first")


async def test_the_workspace_is_listed_and_read_and_nothing_else(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "main.py").write_text("print(1)\n")
    (work / "bin").write_bytes(b"\0\1")
    (tmp_path / "secret").write_text("s")
    (work / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "work-evil").mkdir()
    (tmp_path / "work-evil" / "x").write_text("x")
    async with served(work) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            await talk.send("listWorkspaceFiles", request=1, query="mpy")
            assert (await talk.frame("reply"))["data"] == ["src/main.py"]
            await talk.send("pickFiles", request=2, folder="")
            names = [entry["name"] for entry in (await talk.frame("reply"))["data"]]
            assert names == ["src", "bin"]
            await talk.send("readFiles", request=3, paths=["src/main.py"])
            assert (await talk.frame("reply"))["data"] == [{"path": "src/main.py", "text": "print(1)\n"}]
            for path in (
                "../secret",
                "out",
                str(tmp_path / "work-evil" / "x"),
                "/etc/passwd",
                "src/../../secret",
                "bin",
            ):
                await talk.send("openFile", request=4, path=path)
                assert "error" in await talk.frame("reply")


async def test_many_pages_and_a_slow_one_do_not_hold_each_other_up(tmp_path: Path) -> None:
    text = "word " * 2000
    async with served(tmp_path, [said(text, chunk=50)]) as site:
        await site.log_in()
        async with site.connect() as fast, site.connect() as sleepy:
            quick, slow = Talk(fast), Talk(sleepy)
            id = await quick.fresh()
            await slow.send("switchConversation", conversation=id)
            await slow.frame("conversationOpened")
            await quick.send("sendMessage", conversation=id, text="go")
            with anyio.fail_after(30):
                await quick.chunk("turn_end")
                await slow.chunk("turn_end")


async def test_a_conversation_with_another_agent_is_there_after_a_restart_and_goes_on(tmp_path: Path) -> None:
    openings: list[Opening] = []
    write_session(tmp_path, A, "Theirs", "The log that the agent keeps for itself.")

    def open_agent(opening: Opening) -> ScriptedConnection:
        openings.append(opening)
        info = SessionInfo(A, opening.folder, "x", agent_name=opening.agent)
        call = called("Bash", {"command": "ls"}, output="a.py\n")
        return ScriptedConnection([[*said("It is **kept**."), *call], said("And more.")], info=info)

    def host() -> AbstractAsyncContextManager[Served]:
        shelf, keeper = SessionShelf(FileStore(weft_home())), TalkFiles(weft_home())
        return served(tmp_path, open_agent=open_agent, shelf=shelf, keeper=keeper, default_agent="other")

    async with host() as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            id = await talk.fresh()
            await talk.send("sendMessage", conversation=id, text="Keep this")
            await talk.chunk("turn_end")
            await talk.send("renameConversation", conversation=id, title="A better name")
            await talk.until(lambda f: f["type"] == "conversations" and "A better name" in str(f))

    async with host() as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            await talk.send("ready")
            rows = (await talk.frame("state"))["conversations"]
            assert [(row["id"], row["title"], row["agent"]) for row in rows] == [(id, "A better name", "other")]
            await talk.send("switchConversation", conversation=id)
            opened = str((await talk.frame("conversationOpened"))["chunks"])
            assert "<strong>kept</strong>" in opened
            assert "a.py" in opened
            await talk.send("searchConversations", request=1, query="kept")
            assert id in (await talk.frame("reply"))["data"]
            await talk.send("sendMessage", conversation=id, text="Go on")
            await talk.chunk("turn_end")
            assert (openings[-1].resume, openings[-1].agent_session, openings[-1].agent) == (True, A, "other")
            await talk.send("rewind", conversation=id, messageId="x")
            assert "cannot go back" in (await talk.frame("problem"))["message"]
            await talk.send("deleteConversation", conversation=id)
            await talk.frame("conversationClosed")

    async with host() as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            await talk.send("ready")
            assert (await talk.frame("state"))["conversations"] == []


async def test_a_message_that_is_sent_again_with_its_key_counts_once(tmp_path: Path) -> None:
    async with served(
        tmp_path,
        [said("Heard.")],
    ) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            id = await talk.fresh()
            for request in (1, 2):
                await talk.send("sendMessage", conversation=id, text="Hello", key="k", request=request)
                assert (await talk.frame("reply"))["request"] == request
            await talk.chunk("turn_end")
        assert [type(command) for command in site.agents[-1].commands] == [Prompt]


class LongShelf:
    """One conversation of many messages."""

    def rows(self, folders: Sequence[str]) -> Sequence[Row]:
        return [Row(id="long", title="A long talk", folder=folders[0])]

    def events(self, session_id: str) -> Sequence[AgentEvent]:
        return [
            PromptAdded(id=f"u{number}", content=(Text(f"Message {number}."),), replay=True) for number in range(1000)
        ]


async def test_two_pages_that_go_far_back_both_see_every_message_once(tmp_path: Path) -> None:
    wanted = [f"Message {number}." for number in range(1000)]
    async with served(tmp_path, shelf=LongShelf()) as site:
        await site.log_in()
        async with site.connect() as one, site.connect() as other:
            talks = [Talk(one), Talk(other)]
            texts: list[list[str]] = [[], []]
            keys: list[str | None] = [None, None]
            for number, talk in enumerate(talks):
                await talk.send("switchConversation", conversation="long")
                opened = await talk.frame("conversationOpened")
                texts[number] = [chunk["text"] for chunk in opened["chunks"] if chunk["type"] == "user_message"]
                keys[number] = opened["older"]
            # One page goes back in two steps for each step of the other.
            while any(keys):
                for number in (0, 0, 1):
                    if (key := keys[number]) is None:
                        continue
                    await talks[number].send("olderMessages", conversation="long", before=key)
                    older = await talks[number].frame("older")
                    texts[number][:0] = [chunk["text"] for chunk in older["chunks"]]
                    keys[number] = older.get("older")
            assert texts == [wanted, wanted]


async def test_a_plan_that_iflow_did_not_ask_about_is_asked_about_here(tmp_path: Path) -> None:
    agents: list[ScriptedConnection] = []

    def open_agent(opening: Opening) -> ScriptedConnection:
        info = SessionInfo("s", opening.folder, "x", mode=opening.mode or "default", agent_name="iFlow")
        agents.append(ScriptedConnection([said("# Plan: one, two.")], info=info))
        return agents[-1]

    async with served(tmp_path, open_agent=open_agent, default_agent="iflow") as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            id = await talk.fresh()
            await talk.send("setMode", conversation=id, mode="plan")
            await talk.send("sendMessage", conversation=id, text="Plan it")
            asked = await talk.chunk("plan_approval")
            assert asked["plan"] == "# Plan: one, two."
            await talk.send(
                "planApproval", conversation=id, requestId=asked["request_id"], option="feedback", feedback="Three"
            )
            again = await talk.chunk("plan_approval")
            assert again["request_id"] != asked["request_id"]
            # A prompt instead of an answer takes the question back.
            await talk.send("sendMessage", conversation=id, text="Four")
            third = await talk.chunk("plan_approval")
            await talk.send("planApproval", conversation=id, requestId=third["request_id"], option="smart")
            await talk.until(lambda f: f["type"] == "streamChunk" and f["chunk"].get("text") == "Carry out the plan.")
            await talk.chunk("turn_end")
        told = [(type(each).__name__, getattr(each, "mode", "")) for each in agents[0].commands]
        assert told == [("Prompt", ""), ("Prompt", ""), ("Prompt", ""), ("SetMode", "smart"), ("Prompt", "")]
