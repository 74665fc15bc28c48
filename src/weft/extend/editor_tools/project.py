"""What the project is like now: problems, changes, tests, notes; and the attached editor's own commands."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from weft.errors import WorkspaceError
from weft.extend.api import Call, Json, ToolError
from weft.extend.editor_tools.index.grammars import LANGUAGES, parser
from weft.extend.editor_tools.runners import TestRun, choose, last_run, run_tests
from weft.schema.display import TextView
from weft.tools.files import locate
from weft.tools.port import Result
from weft.tools.ripgrep import Shown, run_whole

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_PROBLEMS = 100


class Problems:
    """The editor's diagnostics where one is attached; what the grammars cannot read, otherwise."""

    async def invoke(self, input: Json, call: Call) -> Result:
        names = cast("list[str]", input.get("file_paths") or [])
        paths = [locate(call.context, name) for name in names]
        if not paths:
            root = call.host.folders[0]
            paths = [root / name for name in await _changed(call) if os.path.splitext(name)[1].lower() in LANGUAGES]
        found: list[str] = []
        for path in paths:
            if call.context.allowed("Read", {"file_path": str(path)}):
                found += [f"{path}: {line}" for line in await _problems(call, path)]
        text = "\n".join(found[:MOST_PROBLEMS]) or f"No problems in {len(paths)} files."
        return Result(content=text, display=(TextView(text),), data={"problems": len(found), "files": len(paths)})


async def _problems(call: Call, path: Path) -> list[str]:
    known = await call.context.workspace.diagnostics(path)
    if known is not None:
        return list(known)
    language = LANGUAGES.get(path.suffix.lower())
    made = parser(language) if language is not None else None
    if made is None:
        return []
    try:
        data = await call.context.workspace.read(path)
    except WorkspaceError as error:
        return [str(error)]
    root = made.parse(data).root_node
    return list(_errors(root)) if root.has_error else []


def _errors(node: "Node") -> list[str]:
    found: list[str] = []
    waiting = [node]
    while waiting and len(found) < 20:
        one = waiting.pop()
        line, column = one.start_point[0] + 1, one.start_point[1] + 1
        if one.is_missing:
            found.append(f"{line}:{column} syntax error: {one.type!r} is missing")
        elif one.is_error:
            found.append(f"{line}:{column} syntax error")
        elif one.has_error:
            waiting.extend(one.children)
    return sorted(found, key=lambda text: [int(part) for part in text.split(" ")[0].split(":")])


async def _git(call: Call, *arguments: str) -> str:
    argv = ("git", "-c", "core.fsmonitor=false", "-c", "diff.external=", "--no-pager", *arguments)
    code, output = await run_whole(call.context, argv, call.host.folders[0])
    if code:
        text = output.decode("utf-8", "replace").strip()
        raise ToolError("this folder is not in a git repository" if "not a git repo" in text else f"git says: {text}")
    return output.decode("utf-8", "replace")


async def _changed(call: Call) -> list[str]:
    shown = Shown(call.context, call.host.folders[0])
    top = (await _git(call, "rev-parse", "--show-prefix")).strip()
    rows = (await _git(call, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", ".")).split(
        "\0"
    )
    names = [row[3:].removeprefix(top) for row in rows if len(row) > 3]
    return [name for name in names if shown(name)]


class ChangedFiles:
    async def invoke(self, input: Json, call: Call) -> Result:
        names = await _changed(call)
        wanted = input.get("state")
        staged = ("--cached",) if wanted == "staged" else () if wanted == "unstaged" else ("HEAD",)
        if wanted not in ("staged", "unstaged") and not await _has_commits(call):
            staged = ()
        diff = ""
        if names:
            diff = await _git(call, "diff", "--no-ext-diff", "--no-textconv", "--no-color", *staged, "--", *names)
        text = "\n".join([f"{len(names)} files changed:", *names, "", diff]).strip() if names else "Nothing is changed."
        return Result(content=_within(text, call), display=(TextView(text, language="diff"),), data={"files": names})


async def _has_commits(call: Call) -> bool:
    try:
        await _git(call, "rev-parse", "--verify", "-q", "HEAD")
    except ToolError:
        return False
    return True


def _within(text: str, call: Call) -> str:
    if call.count_tokens(text) <= call.token_budget:
        return text
    path = call.context.session.spill("changes.diff", text.encode())
    return f"[All of it is in {path}.] It begins:\n{text[:8000]}"


class TestFailure:
    """Runs the tests, or reads what the last run said."""

    def read_only(self, input: Json) -> bool:
        return input.get("run") is not True

    async def invoke(self, input: Json, call: Call) -> Result:
        runner = choose(call.host.folders[0], str(input.get("runner") or ""))
        if input.get("run") is True:
            found = await run_tests(runner, str(input.get("target") or ""), call)
            _kept(call).write_bytes(msgspec.json.encode(found))
        else:
            found = self._last(runner, call)
        rows = [f"{failure.name}\n{failure.message}".strip() for failure in found.failures]
        head = f"{found.runner}: {len(found.failures)} failed" + (f" ({found.summary})" if found.summary else "")
        text = "\n\n".join([head, *rows])
        data = {"runner": found.runner, "failed": [failure.name for failure in found.failures]}
        return Result(content=_within(text, call), display=(TextView(text),), data=data)

    def _last(self, runner: str, call: Call) -> TestRun:
        try:
            kept = msgspec.json.decode(_kept(call).read_bytes(), type=TestRun)
        except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
            kept = None
        found = last_run(runner, call.host.folders[0]) or (kept if kept is not None and kept.runner == runner else None)
        if found is None:
            raise ToolError("the tests have not been run yet. Call this tool with run = true")
        return found


def _kept(call: Call) -> Path:
    name = hashlib.sha256(str(call.host.folders[0].resolve()).encode()).hexdigest()[:16]
    return call.host.storage / f"tests-{name}.json"


class Memory:
    """Facts about this project, kept in Weft's home between sessions."""

    def read_only(self, input: Json) -> bool:
        return input.get("action", "read") == "read"

    async def invoke(self, input: Json, call: Call) -> str:
        name = hashlib.sha256(str(call.host.folders[0].resolve()).encode()).hexdigest()[:16]
        path = call.host.storage / f"memory-{name}.json"
        try:
            facts = msgspec.json.decode(path.read_bytes(), type=list[str])
        except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
            facts = []
        action, fact = input.get("action", "read"), str(input.get("fact") or "").strip()
        if action == "read":
            return "\n".join(f"{number}. {one}" for number, one in enumerate(facts, 1)) or "Nothing is remembered yet."
        if not fact:
            raise ToolError("a fact is needed")
        if action == "add":
            facts = [*facts, fact] if fact not in facts else facts
        else:
            left = [one for one in facts if one != fact]
            if left == facts:
                raise ToolError("this is not remembered. Read the list first; a fact is forgotten by its exact words")
            facts = left
        path.write_bytes(msgspec.json.encode(facts[-200:]))
        return "Remembered." if action == "add" else "Forgotten."


# --- the attached editor ------------------------------------------------------------------------------------


class RunCommand:
    """A command that the attached editor offers over the IDE protocol."""

    async def invoke(self, input: Json, call: Call) -> Result:
        link = getattr(call.context.workspace, "link", None)
        if link is None:
            raise ToolError("no editor is attached. The person can attach one with /ide")
        name = str(input["command"])
        if name not in link.tools:
            raise ToolError(f"the editor has no command {name!r}. It offers: {', '.join(sorted(link.tools))}")
        arguments = input.get("arguments")
        answer = await link.call(name, cast("Json", arguments) if isinstance(arguments, dict) else {})
        text = msgspec.json.encode(answer).decode()
        return Result(content=text, display=(TextView(text, language="json"),), data=answer)


class EditorApi:
    """Documentation of the editor's own extension API, from the editor."""

    async def invoke(self, input: Json, call: Call) -> Result:
        link = getattr(call.context.workspace, "link", None)
        offered = sorted(name for name in getattr(link, "tools", ()) if "api" in name.lower())
        if link is None or not offered:
            raise ToolError("the attached editor offers no documentation of its API. Search the web instead")
        answer = await link.call(offered[0], {"query": input["query"]})
        return Result(content=msgspec.json.encode(answer).decode(), data=answer)
