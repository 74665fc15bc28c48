"""Questions of the model: one after the other, each with its choices and, where allowed, an answer in own words."""

from rich.segment import Segment

from weft.schema.commands import QuestionAnswered
from weft.schema.events import Question, QuestionAsked
from weft.surfaces.terminal.asks.panel import Choice, Panel
from weft.surfaces.terminal.paint.lines import Line, clean, wrap
from weft.surfaces.terminal.paint.markdown import paint_code
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.words import t

KEYS = "123456789"


class QuestionPanel(Panel):
    def __init__(self, ask: QuestionAsked, look: Palette) -> None:
        super().__init__(ask.request_id, look)
        self.ask = ask
        self._number = 0
        self._chosen: set[int] = set()
        self._answers: dict[str, str] = {}

    @property
    def _question(self) -> Question:
        return self.ask.questions[self._number]

    def head(self, width: int) -> list[Line]:
        question, look = self._question, self.look
        count = len(self.ask.questions)
        label = clean(question.header) or t("A question for you")
        out: list[Line] = [
            [Segment(label, look.heading), Segment(f"  {self._number + 1}/{count}" if count > 1 else "", look.dim)]
        ]
        out += wrap([(clean(question.question), look.text)], width)
        if self.at < len(question.options) and question.options[self.at].preview:
            out += [[], *paint_code(clean(question.options[self.at].preview), "", width, look)]
        return out

    def choices(self) -> list[Choice]:
        question = self._question
        found: list[Choice] = []
        for number, option in enumerate(question.options[: len(KEYS)]):
            mark = ("☑ " if number in self._chosen else "☐ ") if question.multiple else ""
            found.append(Choice(str(number), KEYS[number], mark + clean(option.label), clean(option.description)))
        if question.free_text or not question.options:
            found.append(Choice("other", "o", t("Say it in your own words")))
        if question.multiple:
            found.append(Choice("next", "tab", t("Done with this question")))
        found.append(Choice("decline", "escape", t("Do not answer")))
        return found

    def choose(self, id: str) -> None:
        if id == "other":
            self.ask_line(t("Your answer"))
        elif id == "decline":
            self.answer(QuestionAnswered(self.request_id, declined=True))
        elif id == "next":
            self._finish(", ".join(self._question.options[number].label for number in sorted(self._chosen)))
        elif self._question.multiple:
            self._chosen ^= {int(id)}
            self.at = int(id)
            self.show()
        else:
            self._finish(self._question.options[int(id)].label)

    def other_key(self, key: str) -> bool:
        if key == "space" and self._question.multiple and self.at < len(self._question.options):
            self._chosen ^= {self.at}
            return True
        return False

    def typed(self, text: str) -> None:
        if text:
            self._finish(text)

    def _finish(self, answer: str) -> None:
        self._answers[self._question.question] = answer
        self._chosen, self.at = set(), 0
        if self._number + 1 < len(self.ask.questions):
            self._number += 1
            self.show()
        else:
            self.answer(QuestionAnswered(self.request_id, self._answers))
