"""`weft plugin new`: a package with a tool, a participant and a test that passes."""

import re
from pathlib import Path
from typing import Final

from weft.errors import UsageError

FILES: Final = {
    "pyproject.toml": """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "weft-{name}"
version = "0.1.0"
description = "A plug-in for Weft."
requires-python = ">=3.11"

[project.entry-points."weft.plugins"]
{name} = "{package}"

[tool.hatch.build.targets.wheel]
packages = ["src/{package}"]
""",
    "README.md": """\
# weft-{name}

A plug-in for Weft. `#{name}` in a prompt asks for its tool, `@{name}` hands the turn to its participant.

    pip install -e . pytest
    pytest
    weft plugin check .
""",
    "src/{package}/__init__.py": """\
\"\"\"A plug-in for Weft. Nothing here is imported before it is used.\"\"\"
""",
    "src/{package}/plugin.toml": """\
[plugin]
name = "{name}"
version = "0.1.0"
description = "Says how many files there are."

[[tool]]
name = "{tool}"
run = "{package}.tools:CountFiles"
display_name = "Count files"
model_description = "Counts the files of a folder with a given ending. Use it when the person asks how many there are."
user_description = "Counts files."
can_be_referenced = true
reference_name = "{name}"
read_only = true

[tool.input_schema]
type = "object"
required = ["ending"]

[tool.input_schema.properties.ending]
type = "string"
description = "How the names end, such as .py"

[[participant]]
id = "weft-{name}.{name}"
name = "{name}"
run = "{package}.chat:handle"
full_name = "{name}"
description = "Answers about the files of the project."
""",
    "src/{package}/tools.py": """\
\"\"\"The tool. `weft.extend.api` has all that a plug-in needs.\"\"\"

from weft.extend.api import Call, Json, Prepared, TextPart, ToolError, ToolResult


class CountFiles:
    async def prepare(self, input: Json, call: Call) -> Prepared:
        ending = input["ending"]
        return Prepared(message=f"Counting {{ending}} files", title="Count files", confirmation=f"Count `{{ending}}`?")

    async def invoke(self, input: Json, call: Call) -> ToolResult:
        ending = str(input["ending"])
        if not ending:
            raise ToolError("An ending is needed, such as .py")
        count = sum(path.is_file() for path in call.cwd.rglob(f"*{{ending}}"))
        return ToolResult(parts=(TextPart(f"{{count}} files end with {{ending}}"),), data={{"count": count}})
""",
    "src/{package}/chat.py": """\
\"\"\"The participant: what `@{name}` says.\"\"\"

from weft.extend.api import ChatContext, ChatRequest, ChatResult, ResponseStream


async def handle(request: ChatRequest, context: ChatContext, stream: ResponseStream) -> ChatResult:
    stream.progress("Looking around")
    names = sorted(path.name for path in request.host.folders[0].iterdir() if not path.name.startswith("."))
    stream.markdown(f"There are {{len(names)}} things here:\\n")
    stream.filetree(names)
    return ChatResult(metadata={{"count": len(names)}})
""",
    "tests/test_{package}.py": """\
\"\"\"Runs without a session and without a model.\"\"\"

import asyncio
from pathlib import Path

import pytest
from {package}.chat import handle
from {package}.tools import CountFiles

from weft.extend.api import ChatContext, ChatRequest, ToolError
from weft.testing.plugins import FakeHost, fake_call, fake_stream


def test_files_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    result = asyncio.run(CountFiles().invoke({{"ending": ".py"}}, fake_call(tmp_path)))
    assert result.data == {{"count": 1}}


def test_an_ending_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        asyncio.run(CountFiles().invoke({{"ending": ""}}, fake_call(tmp_path)))


def test_the_participant_lists_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    stream = fake_stream([])
    asyncio.run(handle(ChatRequest(prompt="", host=FakeHost(tmp_path)), ChatContext(), stream))
    assert "a.py" in stream.text
""",
}


def write_plugin(name: str, folder: Path) -> Path:
    """
    Raises:
        UsageError: the name cannot be one, or the folder has something in it.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > 40:
        raise UsageError(f"{name!r} cannot be the name of a plug-in.", hint="Use small letters, digits and dashes.")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is there already and not empty.", hint="Choose another with --folder.")
    words = name.replace("-", "_")
    values = {"name": name, "package": f"weft_{words}", "tool": f"{words}_count"}
    for place, text in FILES.items():
        path = folder / place.format(**values)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(**values), "utf-8")
    return folder
