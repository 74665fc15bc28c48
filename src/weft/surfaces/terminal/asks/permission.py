"""May this tool run? The exact rule that "always" would write stands beside it, with the file it goes to."""

from rich.segment import Segment

from weft.schema.commands import PermissionAnswered
from weft.schema.display import DiffView
from weft.schema.events import PermissionAsked, RuleSuggestion
from weft.surfaces.diffs import can_choose, chosen_input, to_hunks
from weft.surfaces.terminal.asks.panel import Choice, Panel
from weft.surfaces.terminal.entries import ToolEntry
from weft.surfaces.terminal.paint.diffs import paint_diff
from weft.surfaces.terminal.paint.lines import Line, clean, wrap
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.paint.tools import argument_lines, paint_display, title_of
from weft.surfaces.terminal.words import t

WHERE: dict[str, str] = {
    "session": "for this session",
    "local": ".claude/settings.local.json",
    "project": ".claude/settings.json",
    "user": "your own settings",
}
TITLES = {
    "execute": "Run this command?",
    "edit": "Make this change?",
    "delete": "Delete this?",
    "move": "Move this?",
    "read": "Read this?",
    "fetch": "Fetch this?",
    "search": "Search here?",
}


class PermissionPanel(Panel):
    def __init__(self, ask: PermissionAsked, look: Palette, cwd: str) -> None:
        super().__init__(ask.request_id, look)
        self.ask = ask
        self._cwd = cwd
        self._places = list(dict.fromkeys(rule.destination for rule in ask.suggestions))
        self._place = 0
        self._hunk: int | None = None
        self._refused: set[int] = set()
        self._can_choose = can_choose(ask.use.name, ask.use.input, ask.preview)

    @property
    def _diff(self) -> DiffView | None:
        return next((view for view in self.ask.preview if isinstance(view, DiffView)), None)

    def head(self, width: int) -> list[Line]:
        ask, look = self.ask, self.look
        title: list[Line] = [self.title(TITLES.get(ask.kind, "Allow this?"))]
        entry = ToolEntry(id=ask.use.id, name=ask.use.name, input=ask.use.input, title=ask.title, kind=ask.kind)
        what = [Segment(f"{clean(ask.use.name)}  ", look.strong)]
        title += wrap([(title_of(entry, self._cwd), look.text)], width, first=what, rest=[Segment("  ")])
        if ask.reason:
            title += wrap([(clean(ask.reason).replace(f"{self._cwd}/", ""), look.dim)], width)
        diff = self._diff
        if self._hunk is not None and diff is not None:
            return [*title, *paint_diff(diff, width, look, refused=self._refused, at=self._hunk)]
        shown = [line for view in ask.preview for line in paint_display(view, width, look)]
        if len(ask.preview) == 1 and diff is not None:
            shown = paint_diff(diff, width, look)
        if not shown and (ask.use.name != "Bash" or len(ask.use.input) > 2):
            shown = argument_lines(ask.use.input, width, look)
        return [*title, [], *shown] if shown else title

    def choices(self) -> list[Choice]:
        if self._hunk is not None:
            return [
                Choice("take", "enter", t("Make the accepted changes")),
                Choice("flip", "space", t("Accept or reject this change")),
                Choice("back", "escape", t("Back")),
            ]
        found = [Choice("yes", "y", t("Yes"))]
        if self.ask.suggestions:
            found.append(Choice("always", "a", t("Yes, and always:"), self._rule_text()))
        if len(self._places) > 1:
            found.append(Choice("where", "tab", t("Keep that rule somewhere else")))
        if self._can_choose:
            found.append(Choice("hunks", "h", t("Choose change by change")))
        found.append(Choice("no", "n", t("No")))
        found.append(Choice("why", "r", t("No, and say why")))
        found.append(Choice("stop", "escape", t("No, and stop")))
        return found

    def _rules(self) -> tuple[RuleSuggestion, ...]:
        """Those that the chosen place would keep: each place is offered rules in its own spelling."""
        where = self._places[self._place % len(self._places)]
        return tuple(rule for rule in self.ask.suggestions if rule.destination == where)

    def _rule_text(self) -> str:
        rules = self._rules()
        return clean(f"{', '.join(rule.rule for rule in rules)} → {t(WHERE[rules[0].destination])}")

    def choose(self, id: str) -> None:
        match id:
            case "yes":
                self.answer(PermissionAnswered(self.request_id, "allow"))
            case "always":
                self.answer(PermissionAnswered(self.request_id, "allow", rules=self._rules()))
            case "where":
                self._place += 1
                self.show()
            case "no":
                self.answer(PermissionAnswered(self.request_id, "deny"))
            case "why":
                self.ask_line(t("What should it do instead?"))
            case "stop":
                self.answer(PermissionAnswered(self.request_id, "deny", interrupt=True))
            case _:
                self._choose_hunks(id)

    def _choose_hunks(self, id: str) -> None:
        match id:
            case "hunks":
                self._hunk, self.at = 0, 0
            case "back":
                self._hunk, self.at = None, 0
            case "flip" if self._hunk is not None:
                self._refused ^= {self._hunk}
            case "take":
                self._take()
                return
            case _:
                return
        self.show()

    def other_key(self, key: str) -> bool:
        diff = self._diff
        if self._hunk is None or diff is None or key not in ("up", "down", "k", "j"):
            return False
        self._hunk = (self._hunk + (1 if key in ("down", "j") else -1)) % len(to_hunks(diff))
        return True

    def _take(self) -> None:
        diff = self._diff
        if diff is None:
            return
        everything = range(len(to_hunks(diff)))
        accepted = [number for number in everything if number not in self._refused]
        if not accepted:
            self.answer(PermissionAnswered(self.request_id, "deny", message="Every change was rejected."))
            return
        input = chosen_input(self.ask.use.name, self.ask.use.input, diff, accepted) if self._refused else None
        said = "Some of the changes were rejected by the person; only the others were made." if self._refused else ""
        self.answer(PermissionAnswered(self.request_id, "allow", input=input, message=said))

    def typed(self, text: str) -> None:
        self.answer(PermissionAnswered(self.request_id, "deny", message=text))
