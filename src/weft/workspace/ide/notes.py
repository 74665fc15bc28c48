"""What the model is told of the editor, in sentences: the selection, the open file, problems."""

from pathlib import Path

from weft.protocols.ide.values import Diagnostic, Mention, Selection

MAX_SELECTED = 2000
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
