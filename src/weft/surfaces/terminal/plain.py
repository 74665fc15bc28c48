"""The conversation as plain lines, for screen readers and for terminals that can do nothing else.

Nothing is repainted and nothing moves. Questions are written out with the words that answer them; a line typed while
the agent works is a message to it, except for the answer to an open question.
"""

from collections.abc import Callable
from typing import assert_never

import anyio
import msgspec
from anyio import to_thread

from weft.connect.port import Connection
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Json
from weft.surfaces.lines import Lines
from weft.surfaces.terminal.asks.fields import Field, problem, read_fields, to_content
from weft.surfaces.terminal.model import Ask
from weft.surfaces.terminal.paint.lines import clean
from weft.surfaces.terminal.words import t


class PlainTerminal:
    """`read` gives a line and blocks; None ends the conversation. `write` takes a line."""

    def __init__(self, connection: Connection, read: Callable[[], str | None], write: Callable[[str], None]) -> None:
        self._connection = connection
        self._read = read
        self._write = write
        self._lines = Lines()
        self._asks: dict[str, Ask] = {}
        self._said: dict[str, list[str]] = {}
        self._running = False

    async def run(self, prompt: str = "") -> None:
        async with self._connection:
            self._say(t("Weft. Type a message and press Enter. /help lists commands, an empty line is ignored."))
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen, group.cancel_scope)
                if prompt:
                    await self._connection.send(c.Prompt(prompt))
                async for event in self._connection.events():
                    self._take(event)
                group.cancel_scope.cancel()

    async def _listen(self, scope: anyio.CancelScope) -> None:
        while True:
            line = await to_thread.run_sync(self._read, abandon_on_cancel=True)
            if line is None or line.strip() in ("/exit", "/quit"):
                scope.cancel()
                return
            if line.strip():
                await self.hear(line.strip())

    async def hear(self, line: str) -> None:
        """An answer to the oldest open question, or a message."""
        if line == "/stop":
            await self._connection.send(c.Cancel())
            return
        ask = next(iter(self._asks.values()), None)
        if ask is None:
            await self._connection.send(c.Prompt(line))
            return
        answer = self._answer(ask, line)
        if answer is not None:
            self._asks.pop(ask.request_id, None)
            await self._connection.send(answer)
            self._ask_next()

    def _say(self, text: str) -> None:
        self._write(clean(text))

    def _take(self, event: e.AgentEvent) -> None:
        for line in self._lines.feed(event):
            self._say(line)
        match event:
            case e.TurnStarted():
                self._running = True
                self._say(t("Working. /stop interrupts."))
            case e.TurnEnded(reason=reason):
                self._running = False
                self._asks.clear()
                self._say(t("Interrupted.") if reason == "cancelled" else t("Done."))
            case e.PermissionAsked() | e.QuestionAsked() | e.PlanProposed() | e.InputRequested():
                self._asks[event.request_id] = event
                if len(self._asks) == 1:
                    self._ask_next()
            case e.AskWithdrawn(request_id=id):
                self._asks.pop(id, None)
            case _:
                return

    def _ask_next(self) -> None:
        ask = next(iter(self._asks.values()), None)
        if ask is not None:
            for line in question(ask, len(self._said.get(ask.request_id, ()))):
                self._say(line)

    def _answer(self, ask: Ask, line: str) -> c.Answer | None:
        """None while more answers are needed, or when the words mean nothing here; then it is asked again."""
        word, _, rest = line.partition(" ")
        match ask:
            case e.PermissionAsked():
                found = permission(ask, word.lower(), rest)
            case e.PlanProposed(request_id=id):
                found = plan(id, word.lower(), rest)
            case e.QuestionAsked():
                return self._collect(ask, line)
            case e.InputRequested():
                return self._fill(ask, line)
            case _:
                assert_never(ask)
        if found is None:
            self._ask_next()
        return found

    def _collect(self, ask: e.QuestionAsked, line: str) -> c.Answer | None:
        said = self._said.setdefault(ask.request_id, [])
        options = ask.questions[len(said)].options
        numbers = [int(part) for part in line.replace(",", " ").split() if part.isdigit()]
        chosen = [options[number - 1].label for number in numbers if 0 < number <= len(options)]
        said.append(", ".join(chosen) if chosen else line)
        if len(said) < len(ask.questions):
            self._ask_next()
            return None
        answers = {each.question: text for each, text in zip(ask.questions, said, strict=True)}
        return c.QuestionAnswered(ask.request_id, answers)

    def _fill(self, ask: e.InputRequested, line: str) -> c.Answer | None:
        if line.lower() == "decline":
            return c.InputGiven(ask.request_id, "decline")
        fields = read_fields(ask.schema or {})
        said = self._said.setdefault(ask.request_id, [])
        if fields:
            field = msgspec.structs.replace(fields[len(said)], value="" if line == "-" else line)
            wrong = problem(field)
            if wrong:
                self._say(wrong)
                self._ask_next()
                return None
            said.append(field.value)
        if len(said) < len(fields):
            self._ask_next()
            return None
        return c.InputGiven(ask.request_id, "accept", _filled(fields, said) if fields or not ask.url else None)


def _filled(fields: list[Field], said: list[str]) -> Json:
    return to_content([msgspec.structs.replace(f, value=v) for f, v in zip(fields, said, strict=True)])


def permission(ask: e.PermissionAsked, word: str, rest: str) -> c.Answer | None:
    if word in ("y", "yes"):
        return c.PermissionAnswered(ask.request_id, "allow")
    if word in ("a", "always") and ask.suggestions:
        return c.PermissionAnswered(ask.request_id, "allow", rules=ask.suggestions)
    if word in ("n", "no"):
        return c.PermissionAnswered(ask.request_id, "deny", message=rest)
    return None


def plan(request_id: str, word: str, rest: str) -> c.Answer | None:
    if word in ("y", "yes"):
        return c.PlanAnswered(request_id, True, mode="acceptEdits" if rest == "edits" else "default")
    if word in ("n", "no"):
        return c.PlanAnswered(request_id, False, mode="plan", feedback=rest)
    return None


def question(ask: Ask, number: int) -> list[str]:
    """What is asked, and the words that answer it."""
    match ask:
        case e.PermissionAsked(use=use, title=title, reason=reason, suggestions=rules):
            always = t("always (writes {rules}), ", rules=", ".join(r.rule for r in rules)) if rules else ""
            lines = [t("May it use {tool}?", tool=use.name) + f" {title}", reason]
            return [*(line for line in lines if line), t("Answer: yes, {always}no, or no and a reason.", always=always)]
        case e.PlanProposed(plan=text):
            return [t("A plan for you to approve"), text, t("Answer: yes, yes edits, no, or no and what to change.")]
        case e.QuestionAsked(questions=questions):
            asked = questions[number]
            rows = [f"{n}. {o.label}. {o.description}".rstrip() for n, o in enumerate(asked.options, 1)]
            return [asked.question, *rows, t("Answer with a number, or in your own words.")]
        case e.InputRequested(server=server, message=message, url=url, schema=schema):
            fields = read_fields(schema or {})
            lines = [f"{server}: {message}", *([url] if url else [])]
            if not fields:
                return [*lines, t("Answer: yes when you are done, or decline.")]
            field = fields[number]
            choices = ", ".join(value for value, _ in field.options)
            return [*(lines if not number else []), f"{field.title} {field.description} {choices}".strip()]
    assert_never(ask)
