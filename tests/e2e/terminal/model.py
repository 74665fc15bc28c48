"""A model on loopback whose answer depends on what it is asked: `python -m tests.e2e.terminal.model FOLDER`.

The first line of standard output is its address.
"""

import sys
from typing import cast

import anyio

from weft.schema.content import AnyBlock, Json, Text, Thinking, ToolUse
from weft.testing.fake_anthropic import Answer, FakeAnthropic

FLOOD = "".join(
    f"Line {number} of a long reply that goes on and on, with `code` and **weight**.\n\n" for number in range(4000)
)
OLD = "    return ordered[len(ordered) // 2]\n"
NEW = """\
    middle = len(ordered) // 2
    if len(ordered) % 2 == 0:
        return (ordered[middle - 1] + ordered[middle]) / 2
    return ordered[middle]
"""
TODOS = ("Run the tests", "Mend the median", "Show that the tests pass")


class Model:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._calls = 0

    def answer(self, body: Json) -> Answer:
        messages = cast("list[Json]", body["messages"])
        told = next(text for message in reversed(messages) if (text := _typed(message)))
        steps = 0
        for message in reversed(messages):
            if _typed(message):
                break
            steps += message["role"] == "assistant"
        return self._scene(told, steps)

    def _call(self, name: str, **arguments: object) -> ToolUse:
        self._calls += 1
        return ToolUse(f"toolu_{self._calls}", name, arguments)

    def _scene(self, told: str, step: int) -> Answer:
        scenes = {
            "mend": self._mend,
            "flood": lambda _: Answer(blocks=(Text(FLOOD),), piece=2000),
            "slowly": lambda _: Answer(blocks=(Text("one two three four five " * 400),), delay=0.05, piece=24),
            "question": self._question,
            "plan": self._plan,
            "noise": self._noise,
        }
        for word, scene in scenes.items():
            if word in told.lower():
                return scene(step)
        return Answer(blocks=(Text(f"You said: {told}"),))

    def _mend(self, step: int) -> Answer:
        path = f"{self._folder}/tally.py"
        scenes: list[tuple[AnyBlock, ...]] = [
            (
                Thinking("The tests will say what is wrong. After that, the code beside them.", "signed"),
                Text("I'll run the tests first, to see what fails."),
                self._call("TodoWrite", todos=_todos(0)),
                self._call("Bash", command="python3 -m unittest -q", description="Run the tests"),
            ),
            (
                Text("One test fails: the **median** of an even count. I'll look at the code."),
                self._call("Read", file_path=path),
            ),
            (
                Text("`median` takes the upper of the two middle values; it should take the mean of both."),
                self._call("TodoWrite", todos=_todos(1)),
                self._call("Edit", file_path=path, old_string=OLD, new_string=NEW),
            ),
            (self._call("TodoWrite", todos=_todos(2)), self._call("Bash", command="python3 -m unittest -q")),
            (
                self._call("TodoWrite", todos=_todos(3)),
                Text(
                    "The tests pass now.\n\n"
                    "- **Cause**: `median` in `tally.py` returned the upper middle value for an even count.\n"
                    "- **Change**: it returns the mean of the two middle values there.\n\n"
                    "```python\nmiddle = len(ordered) // 2\nif len(ordered) % 2 == 0:\n"
                    "    return (ordered[middle - 1] + ordered[middle]) / 2\n```\n\n"
                    "| test | result |\n|---|---|\n| even count | passes |\n| odd count | passes |\n"
                ),
            ),
            (Text("All done."),),
        ]
        return Answer(blocks=scenes[min(step, len(scenes) - 1)], delay=0.004)

    def _question(self, step: int) -> Answer:
        if step:
            return Answer(blocks=(Text("Thank you for your answer."),))
        options = [
            {"label": "SQLite", "description": "one file, no server"},
            {"label": "PostgreSQL", "description": "a server, many writers"},
        ]
        question = {"question": "Which database should it use?", "header": "Database", "options": options}
        return Answer(blocks=(self._call("AskUserQuestion", questions=[{**question, "multiSelect": False}]),))

    def _plan(self, step: int) -> Answer:
        if step:
            return Answer(blocks=(Text("I begin."),))
        plan = "## Plan\n\n1. Read `tally.py`\n2. Mend `median`\n3. Run the tests\n"
        return Answer(blocks=(self._call("ExitPlanMode", plan=plan),))

    def _noise(self, step: int) -> Answer:
        if step:
            return Answer(blocks=(Text("That was loud."),))
        return Answer(blocks=(self._call("Bash", command="seq 1 20000", description="Count"),))


def _todos(done: int) -> list[Json]:
    return [
        {
            "content": text,
            "status": "completed" if n < done else "in_progress" if n == done else "pending",
            "activeForm": text,
        }
        for n, text in enumerate(TODOS)
    ]


def _typed(message: Json) -> str:
    """What a person typed in this message, or nothing."""
    content = message["content"]
    if message["role"] != "user":
        return ""
    if isinstance(content, str):
        return content
    texts = [str(block["text"]) for block in cast("list[Json]", content) if block.get("type") == "text"]
    typed = [text for text in texts if not text.startswith("<")]
    return typed[-1] if typed else ""


async def serve(folder: str) -> None:
    async with FakeAnthropic(Model(folder).answer) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1])
