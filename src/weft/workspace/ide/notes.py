"""What the model is told of the editor, in sentences: the selection, the open file, new problems."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from weft.protocols.ide.values import Diagnostic, FileDiagnostics, Mention, Selection

MAX_SELECTED = 2000
MAX_PROBLEMS = 50
_SIGNS = {"Error": "✘", "Warning": "⚠", "Information": "ℹ", "Hint": "★"}


def selection_note(selection: Selection) -> str:
    """One selection for the model. A range that ends before the first character of a line leaves that line out."""
    if not selection.text:
        return f"The person has the file {selection.path} open in the editor. It may or may not matter here."
    first, last = selection.start.line + 1, selection.end.line + 1
    if selection.end.character == 0 and last > first:
        last -= 1
    text = selection.text
    if len(text) > MAX_SELECTED:
        text = text[:MAX_SELECTED] + "\n… (cut here)"
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"The person has marked {where} of {selection.path} in the editor:\n{text}\n\nIt may or may not matter here."


def mention_text(mention: Mention, cwd: Path) -> str:
    """What a mention puts into the prompt: `@path#L2-3`, lines counted from one."""
    path = Path(mention.path)
    shown = str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
    if mention.first_line is None:
        return f"@{shown}"
    first, last = mention.first_line + 1, (mention.last_line or mention.first_line) + 1
    return f"@{shown}#L{first}" + ("" if first == last else f"-{last}")


def problem_line(item: Diagnostic) -> str:
    """`✘ [Line 2:5] message [code] (source)`, counted from one."""
    message = " ".join(item.message.split())
    code = f" [{item.code}]" if item.code else ""
    source = f" ({item.source})" if item.source else ""
    return f"{_SIGNS[item.severity]} [Line {item.start.line + 1}:{item.start.character + 1}] {message}{code}{source}"


def new_problems(before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """What was not there before. Lines move when text is added above them, so places do not count."""
    known = Counter(_identity(item) for item in before)
    fresh: list[Diagnostic] = []
    for item in after:
        key = _identity(item)
        if known[key] > 0:
            known[key] -= 1
        else:
            fresh.append(item)
    return tuple(fresh)


def _identity(item: Diagnostic) -> tuple[str, ...]:
    return item.message, item.severity, item.code or "", item.source or ""


def problems_note(files: Sequence[FileDiagnostics]) -> str | None:
    """All new problems as one text; None when there are none."""
    lines: list[str] = []
    for file in files:
        if file.diagnostics:
            lines.append(f"{file.path}:")
            lines += [f"  {problem_line(item)}" for item in file.diagnostics]
    if not lines:
        return None
    if len(lines) > MAX_PROBLEMS:
        lines = [*lines[:MAX_PROBLEMS], f"  … and {len(lines) - MAX_PROBLEMS} more"]
    return "The editor reports new problems since your edits:\n" + "\n".join(lines)
