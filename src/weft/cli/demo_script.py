"""The scripted model of `weft demo`. Its words are written beforehand, but which of them it says depends on what its
tools really answered: it never claims what did not happen."""

from pathlib import Path

from weft.schema.content import ToolResult, text_of
from weft.schema.messages import Request
from weft.testing.scripted import Cue, Script, call, say

TEST = "python3 -m unittest -q"
OLD = "    return ordered[len(ordered) // 2]\n"
NEW = """\
    middle = len(ordered) // 2
    if len(ordered) % 2 == 0:
        return (ordered[middle - 1] + ordered[middle]) / 2
    return ordered[middle]
"""


def script(folder: Path) -> Script:
    source = str(folder / "tally.py")

    def look(request: Request) -> Cue:
        result = _last(request)
        if not result.is_error:
            return "The tests pass already, so I changed nothing."
        read = call("Read", file_path=source)
        if not _ran(result):
            return [say(f"I could not run the tests: {_first_line(result)}\n\nI read the code instead."), read]
        words = "A test of the median fails." if "median" in text_of(result.content) else "The tests do not pass."
        return [say(words), read]

    def mend(request: Request) -> Cue:
        result = _last(request)
        if result.is_error:
            return f"I could not read {source}, so I changed nothing: {_first_line(result)}"
        if OLD.strip() not in text_of(result.content):
            return "The line that my script knows how to mend is not in tally.py. I changed nothing."
        words = (
            "`median` takes the upper of the two middle values. Of an even count it has to take the mean of both, "
            "as its docstring says."
        )
        return [say(words), call("Edit", file_path=source, old_string=OLD, new_string=NEW)]

    def check(request: Request) -> Cue:
        result = _last(request)
        if result.is_error:
            return f"The edit was not made, so the bug is still there: {_first_line(result)}"
        return [say("Now the tests again."), call("Bash", command=TEST, description="Run the tests again")]

    def report(request: Request) -> Cue:
        result = _last(request)
        change = (
            "- **Cause**: `median` in `tally.py` returned the upper middle value for lists with an even count.\n"
            "- **Change**: it now returns the mean of the two middle values there; odd counts are as before.\n"
        )
        if not result.is_error:
            return f"The tests pass now.\n\n{change}- **Checked**: `{TEST}` ends without a failure."
        if _ran(result):
            return f"The tests still fail after my change.\n\n{change}- **Not done**: {_last_line(result)}"
        return f"I made a change, but could not check it.\n\n{change}- **Not checked**: {_first_line(result)}"

    begin = say("I'll run the tests first, to see what fails, and read the code beside it.")
    return [[begin, call("Bash", command=TEST, description="Run the tests")], look, mend, check, report]


def _last(request: Request) -> ToolResult:
    return next(block for block in reversed(request.messages[-1].content) if isinstance(block, ToolResult))


def _ran(result: ToolResult) -> bool:
    """Whether the command ran at all, whatever came of it."""
    return not result.is_error or text_of(result.content).startswith("Exit code")


def _first_line(result: ToolResult) -> str:
    return text_of(result.content).strip().splitlines()[0] if text_of(result.content).strip() else "no reason was given"


def _last_line(result: ToolResult) -> str:
    return text_of(result.content).strip().splitlines()[-1]
