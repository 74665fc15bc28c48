"""The list of what is to be done, above the composer, while something on it is open."""

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from weft.schema.display import Todo
from weft.surfaces.terminal.paint.lines import clean, fit
from weft.surfaces.terminal.paint.palette import Palette, palette
from weft.surfaces.terminal.words import t

ROWS = 6
MARKS = {"pending": "☐", "in_progress": "◐", "completed": "☑"}


class Todos(Widget):
    DEFAULT_CSS = """
    Todos { height: 0; display: none; margin: 1 0 0 0; }
    Todos.open { display: block; }
    Todos.away { display: none; }
    """

    def __init__(self, look: Palette | None = None) -> None:
        super().__init__()
        self.look = look or palette("dark")
        self.hidden = False
        self._todos: tuple[Todo, ...] = ()

    def show(self, todos: tuple[Todo, ...]) -> None:
        if todos is self._todos:
            return
        self._todos = todos
        self.update()

    def update(self) -> None:
        left = any(todo.status != "completed" for todo in self._todos)
        rows = min(ROWS, len(self._todos)) + 1
        self.set_class(left and not self.hidden, "open")
        self.styles.height = rows
        self.refresh()

    def _window(self) -> tuple[Todo, ...]:
        """The part around what is being done now."""
        now = next((n for n, todo in enumerate(self._todos) if todo.status != "completed"), 0)
        first = max(0, min(now - 1, len(self._todos) - ROWS))
        return self._todos[first : first + ROWS]

    def render_line(self, y: int) -> Strip:
        width, base, look = self.size.width, self.rich_style, self.look
        if y == 0:
            done = sum(todo.status == "completed" for todo in self._todos)
            line = [Segment(" " + t("To do"), look.strong), Segment(f"  {done}/{len(self._todos)}", look.dim)]
        else:
            shown = self._window()
            if y > len(shown):
                return Strip.blank(width, base)
            todo = shown[y - 1]
            style = (
                look.dim if todo.status == "completed" else look.accent if todo.status == "in_progress" else look.text
            )
            text = todo.active_form if todo.status == "in_progress" and todo.active_form else todo.content
            line = [Segment(f" {MARKS[todo.status]} ", style), Segment(fit(clean(text), width - 4), style)]
        return Strip(line).apply_style(base).crop_extend(0, width, base)
