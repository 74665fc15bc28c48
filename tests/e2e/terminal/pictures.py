"""The pictures of the documentation, taken from the screen. `python -m tests.e2e.terminal.pictures` writes them."""

import html
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
from rich.cells import cell_len

from tests.e2e.terminal.stage import Stage, on_stage
from weft.schema import events as e
from weft.schema.content import ToolUse
from weft.schema.display import DiffView, ExitView, Todo
from weft.surfaces.terminal.words import use_language
from weft.testing.connection import Turn, called, said

IMAGES = Path(__file__).resolve().parents[3] / "docs" / "images"
OLD = '''\
def median(numbers):
    """The middle value; of an even count, the mean of the two in the middle."""
    ordered = sorted(numbers)
    return ordered[len(ordered) // 2]
'''
NEW = OLD.replace(
    "    return ordered[len(ordered) // 2]\n",
    "    middle = len(ordered) // 2\n    if len(ordered) % 2 == 0:\n"
    "        return (ordered[middle - 1] + ordered[middle]) / 2\n    return ordered[middle]\n",
)
DIFF = DiffView("/tally.py", OLD, NEW)
FAILED = "FAIL: test_median_of_an_even_count\nAssertionError: 3 != 2.5\nRan 4 tests in 0.001s\nFAILED (failures=1)"
TODOS = (
    Todo("Run the tests", "completed"),
    Todo("Mend the median", "in_progress", "Mending the median"),
    Todo("Show that the tests pass"),
)
WORK: list[e.AgentEvent] = [
    *said("I'll run the tests first, to see what fails.", thinking="The tests will say what is wrong."),
    *called(
        "Bash",
        {"command": "python3 -m unittest -q"},
        kind="execute",
        result=FAILED,
        display=(ExitView("python3 -m unittest -q", 1),),
    ),
    *called("Read", {"file_path": "/tally.py"}, kind="read"),
    *said("One test fails: the **median** of an even count. `median` takes the upper of the two middle values."),
]
ASK = e.PermissionAsked(
    request_id="r1",
    use=ToolUse("t9", "Edit", {"file_path": "/tally.py"}),
    kind="edit",
    preview=(DIFF,),
    suggestions=(e.RuleSuggestion("Edit(/tally.py)", "session"), e.RuleSuggestion("Edit(/tally.py)", "local")),
)
DONE = said(
    "The tests pass now.\n\n- **Cause**: `median` in `tally.py` returned the upper middle value.\n"
    "- **Change**: it returns the mean of the two middle values.\n\n"
    "```python\nmiddle = len(ordered) // 2\nif len(ordered) % 2 == 0:\n"
    "    return (ordered[middle - 1] + ordered[middle]) / 2\n```\n\n"
    "| test | result |\n|---|---|\n| even count | passes |\n| odd count | passes |\n"
)
USED = e.UsageChanged(context_tokens=31_000, context_window=200_000, total_cost=0.08)
PROMPT = "The tests fail. Find out why and mend it."
OPTIONS = (e.QuestionOption("SQLite", "one file, no server"), e.QuestionOption("PostgreSQL", "a server, many writers"))
QUESTION = e.QuestionAsked(
    request_id="q1",
    tool_use_id="t",
    questions=(e.Question("Which database should the new store use?", "Database", OPTIONS),),
)


async def asking(stage: Stage) -> None:
    await stage.type(f"{PROMPT}\n")
    await stage.shows("Make this change?", "16%")


async def finished(stage: Stage) -> None:
    await stage.type(f"{PROMPT}\n")
    await stage.shows("odd count", "$0.08")
    await stage.until(lambda: not stage.app.conversation.model.running)


async def completing(stage: Stage) -> None:
    await stage.type("/")
    await stage.shows("/compact")


async def questioning(stage: Stage) -> None:
    await stage.type("Add a store for results\n")
    await stage.shows("Which database", "many writers")


async def choosing(stage: Stage) -> None:
    await stage.type("/model\n")
    await stage.picker()
    await stage.shows("another one")


EDITED = called("Edit", {"file_path": "/tally.py"}, id="e1", kind="edit", display=(DIFF,))
Scene = tuple[tuple[int, int], list[Turn], Callable[[Stage], Awaitable[None]], str]
SCENES: Mapping[str, Scene] = {
    "terminal-commands": ((80, 24), [], completing, "dark"),
    "terminal-approval": ((92, 34), [[*WORK, e.TodosChanged(todos=TODOS), USED, ASK]], asking, "dark"),
    "terminal-done": ((92, 38), [[*WORK[-10:], *EDITED, *DONE, USED]], finished, "dark"),
    "terminal-light": ((92, 38), [[*WORK[-10:], *EDITED, *DONE, USED]], finished, "light"),
    "terminal-wide": ((150, 30), [[*EDITED, *DONE, USED]], finished, "dark"),
    "terminal-question": ((80, 20), [[QUESTION]], questioning, "dark"),
    "terminal-model": ((80, 24), [], choosing, "dark"),
    "terminal-chinese": ((92, 34), [[*WORK, e.TodosChanged(todos=TODOS), USED, ASK]], asking, "dark"),
}


async def picture(name: str, folder: Path) -> str:
    """The scene as SVG, without the fonts that it would fetch from elsewhere."""
    size, turns, act, theme = SCENES[name]
    chinese = name == "terminal-chinese"
    use_language("zh" if chinese else "en")
    try:
        async with on_stage(turns, folder=folder, size=size, theme=theme) as stage:
            if chinese:
                await stage.type(f"{PROMPT}\n")
                await stage.shows("进行这处修改吗", "16%")
            else:
                await act(stage)
            await stage.pilot.pause(0.1)
            svg = stage.app.export_screenshot(title="weft")
    finally:
        use_language("en")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return re.sub(r'textLength="([\d.]+)"([^>]*)>([^<]*)<', _with_wide_letters, svg)


def _with_wide_letters(found: re.Match[str]) -> str:
    """The export counts letters; a Chinese one takes two cells."""
    length, rest, words = float(found[1]), found[2], found[3]
    shown = html.unescape(words)
    if not shown or shown.isascii():
        return found[0]
    return f'textLength="{length / len(shown) * cell_len(shown):.1f}"{rest}>{words}<'


async def write(names: list[str]) -> None:
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            (IMAGES / f"{name}.svg").write_text(await picture(name, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    anyio.run(write, sys.argv[1:] or list(SCENES))
