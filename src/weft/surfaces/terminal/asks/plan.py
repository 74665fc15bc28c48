"""A plan that waits for approval, and the mode in which the work begins."""

from weft.schema.commands import PlanAnswered
from weft.schema.display import TextView
from weft.schema.events import PlanProposed
from weft.surfaces.terminal.asks.panel import Choice, Panel
from weft.surfaces.terminal.paint.lines import Line
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.paint.tools import paint_display
from weft.surfaces.terminal.words import t


class PlanPanel(Panel):
    def __init__(self, ask: PlanProposed, look: Palette) -> None:
        super().__init__(ask.request_id, look)
        self.ask = ask

    def head(self, width: int) -> list[Line]:
        plan = paint_display(TextView(self.ask.plan, markdown=True), min(width, 110), self.look)
        return [self.title("A plan for you to approve"), [], *plan]

    def choices(self) -> list[Choice]:
        return [
            Choice("edits", "y", t("Yes, and accept edits as they come")),
            Choice("ask", "m", t("Yes, and ask me about each change")),
            Choice("why", "r", t("No: say what should be different")),
            Choice("keep", "escape", t("No, keep planning")),
        ]

    def choose(self, id: str) -> None:
        match id:
            case "edits":
                self.answer(PlanAnswered(self.request_id, True, mode="acceptEdits"))
            case "ask":
                self.answer(PlanAnswered(self.request_id, True, mode="default"))
            case "why":
                self.ask_line(t("What should be different?"))
            case _:
                self.answer(PlanAnswered(self.request_id, False, mode="plan"))

    def typed(self, text: str) -> None:
        self.answer(PlanAnswered(self.request_id, False, mode="plan", feedback=text))
