"""Bash: one command line, in the folder that the last one left."""

import os
import signal
from pathlib import Path
from typing import Annotated, cast

import anyio
import msgspec
from msgspec import Meta

from weft.errors import ToolError, WorkspaceError
from weft.schema.display import ExitView, TextView
from weft.tools.port import Progress, Result, Tool, ToolContext
from weft.tools.shell import DEFAULT_LIMIT, Capture, TextStream, Trailer, number, plain, shell_env, shortened
from weft.workspace.port import RunSpec

MAX_PROGRESS = 1_000_000


class BashArgs(msgspec.Struct, frozen=True):
    command: Annotated[str, Meta(description="The command line, for bash.")]
    timeout: Annotated[int | None, Meta(description="Milliseconds until it is stopped: 120000 if not given.")] = None
    description: Annotated[str, Meta(description="What it does, in five to ten words, for the person.")] = ""
    run_in_background: Annotated[bool, Meta(description="Start it and go on; read its output later.")] = False
    disable_sandbox: Annotated[bool, Meta(description="Run it outside the sandbox. The person is asked.")] = (
        msgspec.field(default=False, name="dangerouslyDisableSandbox")
    )


class Ended(msgspec.Struct, frozen=True):
    code: int
    timed_out: bool
    text: str
    raw: bytes
    folder: Path | None


class Bash(Tool[BashArgs]):
    name = "Bash"
    args = BashArgs
    aliases = ("Shell",)
    kind = "execute"
    group = "execution"

    def title(self, args: BashArgs) -> str:
        return args.description or args.command

    async def run(self, args: BashArgs, context: ToolContext) -> Result:
        if not args.command.strip():
            raise ToolError("the command is empty")
        if args.timeout is not None and args.timeout <= 0:
            raise ToolError("timeout must be more than 0; it is in milliseconds")
        cwd, moved = await _folder(context)
        if args.run_in_background:
            return await self._background(args, context, cwd)
        seconds = _timeout(args, context)
        ended = await _run(args, context, cwd, seconds)
        return _result(args, context, ended, seconds, moved)

    async def _background(self, args: BashArgs, context: ToolContext, cwd: Path) -> Result:
        task = await context.tasks.start_shell(
            context.use.id,
            args.command,
            args.description or args.command,
            cwd,
            sandbox=context.sandbox and not args.disable_sandbox,
        )
        where = f" Its output is kept in {task.output_file}." if task.output_file else ""
        return Result(
            content=f"Started in the background as task {task.id}.{where} TaskOutput reads it, TaskStop ends it.",
            display=(ExitView(args.command, None, background_task=task.id),),
            data={**_data("", interrupted=False), "backgroundTaskId": task.id},
        )


def _timeout(args: BashArgs, context: ToolContext) -> float:
    most = number(context.settings, "BASH_MAX_TIMEOUT_MS", 600_000, 86_400_000)
    default = number(context.settings, "BASH_DEFAULT_TIMEOUT_MS", 120_000, most)
    return min(args.timeout or default, most) / 1000


async def _folder(context: ToolContext) -> tuple[Path, str]:
    """Where to run. A folder that was removed is left for the workspace's own, and that is told."""
    cwd = context.session.cwd
    found = await context.workspace.stat(cwd)
    if found is not None and found.kind == "folder":
        return cwd, ""
    root = context.workspace.roots[0]
    context.session.set_cwd(root)
    return root, f"(The folder {cwd} is gone: this ran in {root}.)"


async def _run(args: BashArgs, context: ToolContext, cwd: Path, seconds: float) -> Ended:
    trailer, capture, stream = Trailer(), Capture(), TextStream()
    spec = RunSpec(
        shell=trailer.wrap(args.command),
        bare=args.command,
        mark=trailer.mark,
        cwd=cwd,
        env=shell_env(context.session.session_id, context.settings),
        sandbox=context.sandbox and not args.disable_sandbox,
    )
    try:
        process = await context.workspace.start(spec)
    except WorkspaceError as error:
        raise ToolError(str(error)) from error
    code: int | None = None
    try:
        with anyio.move_on_after(seconds):
            async for data in process.output():
                shown = trailer.feed(data)
                capture.add(shown)
                if capture.total <= MAX_PROGRESS and (text := stream.feed(shown)):
                    context.progress(Progress(output=text))
            code = await process.wait()
    finally:
        if code is None:
            await process.kill()
    capture.add(trailer.finish())
    raw = capture.whole()
    timed_out = code is None
    return Ended(143 if code is None else code, timed_out, plain(raw), raw, trailer.folder)


def _result(args: BashArgs, context: ToolContext, ended: Ended, seconds: float, moved: str) -> Result:
    limit = number(context.settings, "BASH_MAX_OUTPUT_LENGTH", DEFAULT_LIMIT, 150_000)
    text = ended.text.rstrip("\n")
    if len(text) > limit:
        path = context.session.spill(f"{context.use.id}.txt", ended.raw)
        text = shortened(text, limit, f"All of it is in {path}: read parts of it with Read or Grep.")
    note = moved or _move(context, ended.folder)
    code = 128 - ended.code if ended.code < 0 else ended.code
    lines = [text] if text else []
    if code:
        lines.insert(0, f"Exit code {code}")
        if ended.timed_out:
            lines.insert(1, f"Command timed out after {seconds:g}s")
    elif not text:
        lines.append("(Bash completed with no output)")
    if note:
        lines.append(note)
    if code and context.sandbox and not args.disable_sandbox and (blocked := _blocked(context, text, code)):
        lines.append(blocked)
    name = signal.Signals(-ended.code).name if ended.code < 0 else None
    view = ExitView(args.command, None if ended.timed_out else code, signal=name, timed_out=ended.timed_out)
    return Result(
        content="\n".join(lines),
        is_error=code != 0,
        display=(view, TextView(text)) if text else (view,),
        data=_data(text, interrupted=ended.timed_out),
    )


def _blocked(context: ToolContext, text: str, code: int) -> str:
    """What to do when the sandbox, where it is on, is the likely reason of a failure."""
    sandbox = context.settings.get("sandbox")
    if not isinstance(sandbox, dict) or cast("dict[str, object]", sandbox).get("enabled") is not True:
        return ""
    from weft.permissions.sandbox import available, sandbox_blocked

    reason = sandbox_blocked(text, code, available()[0])
    return f"({reason}. Call it again with dangerouslyDisableSandbox to ask for it outside.)" if reason else ""


def _data(stdout: str, *, interrupted: bool) -> dict[str, object]:
    """Standard error is woven into the output, in the order in which it came."""
    return {
        "stdout": stdout,
        "stderr": "",
        "interrupted": interrupted,
        "isImage": False,
        "noOutputExpected": False,
    }


def _move(context: ToolContext, folder: Path | None) -> str:
    """Keeps the folder for the next command when it is inside the workspace; says so when it is not."""
    cwd = context.session.cwd
    if folder is None or folder == cwd or str(folder) == os.path.realpath(cwd):
        return ""
    if any(folder.is_relative_to(os.path.realpath(root)) for root in context.workspace.roots):
        context.session.set_cwd(folder)
        return ""
    return f"(The working directory is {cwd} again: {folder} is outside the workspace.)"
