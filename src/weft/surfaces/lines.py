"""A conversation as plain lines: for pipes, for the demo, and for people who listen to their terminal.

Nothing is ever repainted: a line that was written stays.
"""

from collections.abc import Callable, Iterator
from difflib import unified_diff

from weft.schema.content import text_of
from weft.schema.display import DiffView, ExitView
from weft.schema.events import (
    AgentEvent,
    Compacted,
    MessageDone,
    Notice,
    PromptAdded,
    Retrying,
    TodosChanged,
    ToolCalled,
    ToolEnded,
    TurnEnded,
)

BOLD, DIM, RED, GREEN, CYAN, RESET = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"
MARKS = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}
MAX_LINES = 12


class Lines:
    """Feed it events; it yields lines without a newline at their end."""

    def __init__(self, *, colour: bool = False, shorten: Callable[[str], str] = lambda path: path) -> None:
        self._colour = colour
        self._shorten = shorten

    def paint(self, text: str, *codes: str) -> str:
        return f"{''.join(codes)}{text}{RESET}" if self._colour and text else text

    def feed(self, event: AgentEvent) -> Iterator[str]:
        match event:
            case PromptAdded(content=content, synthetic=False, parent=None):
                yield self.paint(f"> {text_of(content)}", BOLD)
            case MessageDone(reply=reply, parent=None) if reply.text.strip():
                yield ""
                yield reply.text.strip()
            case ToolCalled(use=use, title=title, state="running", parent=parent):
                indent = "" if parent is None else "  "
                shown = title if title.startswith(use.name) else f"{use.name}: {title}"
                yield ""
                yield indent + self.paint(f"● {self._shorten(shown)}", CYAN)
            case ToolEnded():
                yield from self._ended(event)
            case TodosChanged(todos=todos):
                yield from (f"  {MARKS[todo.status]} {todo.content}" for todo in todos)
            case Retrying(message=message, delay=delay):
                yield self.paint(f"  {message} Trying again in {delay:.1f} s.", DIM)
            case Compacted(state="done", before=before, after=after):
                yield self.paint(f"  The conversation was compacted: {before} tokens to {after}.", DIM)
            case Notice(text=text):
                yield self.paint(f"  {text}", DIM)
            case TurnEnded(error=str(error)):
                yield self.paint(error, RED)
            case TurnEnded(reason="local_command", text=text):
                yield text
            case _:
                return

    def _ended(self, event: ToolEnded) -> Iterator[str]:
        if event.outcome in ("denied", "cancelled"):
            yield self.paint(f"  {event.outcome}: {text_of(event.result.content)}", RED)
            return
        for view in event.display:
            if isinstance(view, DiffView):
                yield from self._diff(view)
            elif isinstance(view, ExitView) and view.code is not None:
                yield self.paint(f"  exit code {view.code}", GREEN if view.code == 0 else RED)
        if event.name in ("Bash", "Grep", "Glob") or event.outcome == "error":
            shown = text_of(event.result.content).strip().splitlines()
            yield from (self.paint(f"  │ {line[:200]}", DIM) for line in shown[:MAX_LINES])
            if len(shown) > MAX_LINES:
                yield self.paint(f"  │ … {len(shown) - MAX_LINES} more lines", DIM)

    def _diff(self, view: DiffView) -> Iterator[str]:
        before, after = (view.before or "").splitlines(), (view.after or "").splitlines()
        lines = list(unified_diff(before, after, lineterm="", n=2))[2:]
        for line in lines[: 4 * MAX_LINES]:
            code = GREEN if line.startswith("+") else RED if line.startswith("-") else DIM
            yield "  " + self.paint(line, code)
        if len(lines) > 4 * MAX_LINES:
            yield self.paint(f"  … {len(lines) - 4 * MAX_LINES} more lines", DIM)
