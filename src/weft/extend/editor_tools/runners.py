"""Test runners: pytest, jest and go test. What failed, and why."""

import os
import re
import sys
from pathlib import Path

import anyio
import msgspec

from weft.errors import ToolError
from weft.extend.api import Call, Json
from weft.workspace.port import RunSpec

LIMIT = 600.0
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", re.MULTILINE)
_SECTION = re.compile(r"^_{3,} (.+?) _{3,}$", re.MULTILINE)


class Failure(msgspec.Struct, frozen=True):
    name: str
    message: str = ""


class TestRun(msgspec.Struct, frozen=True):
    __test__ = False

    runner: str
    failures: tuple[Failure, ...] = ()
    summary: str = ""


def choose(root: Path, wanted: str) -> str:
    """
    Raises:
        ToolError: no runner is configured here.
    """
    if wanted:
        return wanted
    if (root / "go.mod").is_file():
        return "go"
    package = root / "package.json"
    if package.is_file() and b"jest" in package.read_bytes()[:200_000]:
        return "jest"
    signs = ("pytest.ini", "conftest.py", "pyproject.toml", "setup.cfg", "tox.ini", "tests", "test")
    if any((root / name).exists() for name in signs) or any(root.glob("test_*.py")):
        return "pytest"
    raise ToolError("no tests of pytest, jest or go were found here. Say which runner to use")


def last_run(runner: str, root: Path) -> TestRun | None:
    """What the runner itself has kept of its last run: pytest keeps the names of what failed."""
    if runner != "pytest":
        return None
    try:
        data = msgspec.json.decode((root / ".pytest_cache" / "v" / "cache" / "lastfailed").read_bytes(), type=Json)
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return TestRun("pytest", tuple(Failure(name) for name in data), "names only, from the last run")


async def run_tests(runner: str, target: str, call: Call) -> TestRun:
    if target.startswith("-"):
        raise ToolError("a target is a file, a folder or the name of a test")
    root = call.host.folders[0]
    argv = _argv(runner, target, root)
    call.progress(f"Running {' '.join(argv[:4])}")
    try:
        process = await call.context.workspace.start(
            RunSpec(argv=argv, cwd=root, env={"CI": "1", "FORCE_COLOR": "0"}, sandbox=call.context.sandbox)
        )
    except Exception as error:
        raise ToolError(f"{argv[0]} cannot be started: {error}") from error
    chunks: list[bytes] = []
    code: int | None = None
    try:
        with anyio.move_on_after(LIMIT):
            async for data in process.output():
                chunks.append(data)
            code = await process.wait()
    finally:
        if code is None:
            with anyio.move_on_after(5, shield=True):
                await process.kill()
    if code is None:
        raise ToolError(f"the tests took longer than {LIMIT:g} seconds. Name a smaller target")
    output = b"".join(chunks).decode("utf-8", "replace")
    found = parse(runner, output)
    if code and not found.failures:
        raise ToolError(f"{runner} ended with {code}:\n{output[-4000:]}")
    return found


def parse(runner: str, output: str) -> TestRun:
    """What failed, by what the runner wrote."""
    return {"pytest": _pytest, "jest": _jest, "go": _go}[runner](output)


def _argv(runner: str, target: str, root: Path) -> tuple[str, ...]:
    rest = (target,) if target else ()
    if runner == "pytest":
        python = next(
            (str(path) for path in (root / ".venv/bin/python", root / "venv/bin/python") if path.exists()), ""
        )
        return (python or sys.executable, "-m", "pytest", "-q", "--tb=short", "-rfE", "--color=no", *rest)
    if runner == "jest":
        local = root / "node_modules" / ".bin" / "jest"
        return (str(local) if local.exists() else "jest", "--json", "--silent", *rest)
    return ("go", "test", "-json", target or "./...")


def _pytest(output: str) -> TestRun:
    heads = list(_SECTION.finditer(output))
    sections: dict[str, str] = {}
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else output.find("\n====", head.end())
        sections[head[1].split(" ")[-1]] = output[head.end() : end if end >= 0 else len(output)].strip()
    failures = [
        Failure(found[1], sections.get(_plain(found[1]), "") or (found[2] or "")) for found in _FAILED.finditer(output)
    ]
    return TestRun("pytest", tuple(failures), output.strip().rsplit("\n", 1)[-1].strip("= "))


def _plain(name: str) -> str:
    return ".".join(name.split("::")[1:]) or name


class _Assertion(msgspec.Struct, rename="camel"):
    full_name: str = ""
    status: str = ""
    failure_messages: list[str] = []


class _Suite(msgspec.Struct, rename="camel"):
    name: str = ""
    status: str = ""
    message: str = ""
    assertion_results: list[_Assertion] = []


class _Jest(msgspec.Struct, rename="camel"):
    num_failed_tests: int = 0
    num_passed_tests: int = 0
    test_results: list[_Suite] = []


def _jest(output: str) -> TestRun:
    start = output.find('{"num')
    line = output[start:].split("\n", 1)[0] if start >= 0 else ""
    try:
        report = msgspec.json.decode(line.encode(), type=_Jest)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return TestRun("jest")
    failures: list[Failure] = []
    for suite in report.test_results:
        failed = [one for one in suite.assertion_results if one.status == "failed"]
        failures += [
            Failure(f"{os.path.basename(suite.name)} {one.full_name}", "\n".join(one.failure_messages)[:4000])
            for one in failed
        ]
        if suite.status == "failed" and not failed:
            failures.append(Failure(os.path.basename(suite.name), suite.message[:4000]))
    return TestRun("jest", tuple(failures), f"{report.num_passed_tests} passed")


class _GoEvent(msgspec.Struct, rename="pascal"):
    action: str = ""
    package: str = ""
    test: str = ""
    output: str = ""
    import_path: str = ""
    failed_build: str = ""


def _go(output: str) -> TestRun:
    """Events of tests, and what the compiler says: plain lines before Go 1.24, events of their own since."""
    said: dict[str, list[str]] = {}
    failed: dict[str, str] = {}
    """What failed, and under which name its output stands."""
    passed = 0
    building = ""
    for line in output.splitlines():
        event = _go_event(line)
        if event is None:
            if line.startswith("# "):
                building = line[2:].split(" ")[0]
            elif line.startswith("FAIL\t") and line.endswith(" failed]"):
                package = line.split("\t")[1].split(" ")[0]
                failed[package] = package
            elif building:
                said.setdefault(building, []).append(line + "\n")
            continue
        name = event.import_path or f"{event.package} {event.test}".strip()
        if event.action in ("output", "build-output"):
            said.setdefault(name, []).append(event.output)
        elif event.action == "fail" and (event.test or event.failed_build):
            failed[name] = event.failed_build or name
        elif event.action == "pass" and event.test:
            passed += 1
    inner = [name for name in failed if not any(other.startswith(f"{name}/") and " " in name for other in failed)]
    failures = tuple(Failure(name, "".join(said.get(failed[name], []))[:4000].strip()) for name in inner)
    return TestRun("go", failures, f"{passed} passed")


def _go_event(line: str) -> _GoEvent | None:
    try:
        return msgspec.json.decode(line, type=_GoEvent)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
