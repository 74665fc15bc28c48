"""The line at the foot: what the agent does, its model, mode, how full the window is, what it cost, what waits."""

from time import monotonic

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from weft.surfaces.terminal.model import Model
from weft.surfaces.terminal.paint.lines import Line, clean, fit
from weft.surfaces.terminal.paint.palette import Palette, palette
from weft.surfaces.terminal.words import t

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
MODES = {
    "default": "ask first",
    "acceptEdits": "accept edits",
    "plan": "plan",
    "bypassPermissions": "bypass permissions",
    "dontAsk": "don't ask",
    "smart": "smart",
}


def meter(tokens: int, window: int, *, wide: bool) -> str:
    """How full the context window is."""
    if not window:
        return f"{tokens / 1000:.0f}k" if tokens else ""
    share = min(1.0, tokens / window)
    if not wide:
        return f"{share:.0%}"
    full = round(share * 8)
    return f"{'█' * full}{'░' * (8 - full)} {share:.0%}"


class Status(Widget):
    """Two parts on one line: activity or a hint at the left, the session's state at the right."""

    DEFAULT_CSS = "Status { height: 1; }"

    def __init__(self, model: Model, look: Palette | None = None) -> None:
        super().__init__()
        self.model = model
        self.look = look or palette("dark")
        self.hint = ""
        self.starting = True
        self.vim = ""
        self._frame = 0

    def tick(self) -> None:
        """The next picture of the spinner."""
        self._frame += 1
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        right = self._right(width)
        used = sum(segment.cell_length for segment in right)
        left = self._left(max(10, width - used - 3))
        gap = width - used - sum(segment.cell_length for segment in left) - 1
        return (
            Strip([*left, Segment(" " * max(1, gap)), *right, Segment(" ")])
            .adjust_cell_length(width, base)
            .apply_style(base)
        )

    def _left(self, room: int) -> Line:
        model, look = self.model, self.look
        if self.hint:
            return [Segment(" " + fit(self.hint, room - 1), look.warning)]
        if model.asks:
            return [Segment(" " + fit(t("Waiting for your answer"), room - 1), look.warning)]
        if model.running:
            seconds = int(monotonic() - model.turn_began)
            doing = model.activity or t("Working")
            text = f"{doing} · {seconds} s · {t('esc to interrupt')}"
            return [
                Segment(f" {SPINNER[self._frame % len(SPINNER)]} ", look.accent),
                Segment(fit(text, room - 3), look.dim),
            ]
        if self.starting:
            return [Segment(" " + t("Starting …"), look.dim)]
        return [Segment(" " + fit(self.vim or t("? for help"), room - 1), look.dim)]

    def _right(self, width: int) -> Line:
        model, look = self.model, self.look
        wide = width >= 100
        parts: Line = []
        info = model.info
        if model.queue:
            parts.append(Segment(t("{n} waiting", n=len(model.queue)), look.accent))
        running = sum(task.state == "running" for task in model.tasks.values())
        if running:
            parts.append(Segment(t("{n} in background", n=running), look.accent))
        if info is not None:
            style = (
                look.warning
                if info.mode == "bypassPermissions"
                else look.accent
                if info.mode != "default"
                else look.dim
            )
            parts.append(Segment(t(MODES.get(info.mode, info.mode)), style))
            thinking = info.thinking.kind != "disabled"
            model_name = clean(info.model.rpartition("/")[2])
            parts.append(Segment(fit(model_name, 40 if wide else 24) + (" ✻" if thinking else ""), look.text))
        filled = meter(model.context_tokens, model.context_window, wide=wide)
        if filled:
            near = model.context_window and model.context_tokens > 0.8 * model.context_window
            parts.append(Segment(filled, look.warning if near else look.dim))
        if model.cost or not model.cost_known:
            parts.append(Segment(f"${model.cost:.2f}" + ("" if model.cost_known else "+?"), look.dim))
        line: Line = []
        for number, part in enumerate(parts):
            line += [Segment(" · ", look.dim), part] if number else [part]
        return line
