"""A form of an MCP server, or an address that it wants the person to visit."""

from rich.segment import Segment

from weft.schema.commands import InputGiven
from weft.schema.events import InputRequested
from weft.surfaces.terminal.asks.fields import Field, problem, read_fields, to_content, turn
from weft.surfaces.terminal.asks.panel import Choice, Panel
from weft.surfaces.terminal.paint.lines import Line, clean, wrap
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.words import t


class FormPanel(Panel):
    """Each field is a row: Enter or its number edits it, or turns it to the next value where it has a few."""

    def __init__(self, ask: InputRequested, look: Palette) -> None:
        super().__init__(ask.request_id, look)
        self.ask = ask
        self.fields = read_fields(ask.schema or {})
        self._editing: Field | None = None
        self._problem = ""

    def head(self, width: int) -> list[Line]:
        ask, look = self.ask, self.look
        label = t("{server} asks you", server=clean(ask.server))
        out: list[Line] = [[Segment(label, look.heading)], *wrap([(clean(ask.message), look.text)], width)]
        if ask.url:
            out += wrap([(clean(ask.url), look.link)], width)
        if self._problem:
            out.append([Segment(self._problem, look.error)])
        return out

    def choices(self) -> list[Choice]:
        found: list[Choice] = []
        for number, field in enumerate(self.fields):
            label = dict(field.options).get(field.value, field.value) or "…"
            if field.kind == "boolean":
                label = t(label)
            need = " *" if field.required else ""
            key = str(number + 1) if number < 9 else " "
            found.append(
                Choice(f"field {number}", key, f"{clean(field.title)}{need}: {clean(label)}", clean(field.description))
            )
        found.append(Choice("send", "ctrl+s", t("I have been there") if self.ask.url else t("Send")))
        found.append(Choice("decline", "ctrl+x", t("Decline")))
        found.append(Choice("cancel", "escape", t("Cancel")))
        return found

    def choose(self, id: str) -> None:
        if id.startswith("field "):
            self._edit(int(id[6:]))
        elif id == "send":
            self._send()
        else:
            self.answer(InputGiven(self.request_id, "decline" if id == "decline" else "cancel"))

    def _edit(self, number: int) -> None:
        field = self.fields[number]
        self.at = number
        if field.kind in ("boolean", "choice"):
            turn(field)
            self.show()
        else:
            self._editing = field
            self.ask_line(field.title, field.value)

    def typed(self, text: str) -> None:
        if self._editing is not None:
            self._editing.value = text
            self._problem = problem(self._editing)
            self.at = min(self.at + 1, len(self.fields))
        self.show()

    def _send(self) -> None:
        for number, field in enumerate(self.fields):
            self._problem = problem(field)
            if self._problem:
                self._problem = f"{clean(field.title)}: {self._problem}"
                self.at = number
                self.show()
                return
        content = to_content(self.fields) if self.fields or not self.ask.url else None
        self.answer(InputGiven(self.request_id, "accept", content))
