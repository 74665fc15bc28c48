"""Looking at this machine and this folder: what was found, what is missing, what to do."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from weft.providers.discover import LocalServer

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENROUTER_API_KEY")
MARKS = {"ok": "ok  ", "missing": "-   ", "problem": "!   "}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A row. `advice` says what to do about it."""

    topic: str
    state: Literal["ok", "missing", "problem"]
    text: str
    advice: str = ""


def report(findings: list[Finding]) -> Iterator[str]:
    topic = ""
    for finding in findings:
        if finding.topic != topic:
            topic = finding.topic
            yield f"\n{topic}"
        yield f"  {MARKS[finding.state]}{finding.text}"
        if finding.advice:
            yield f"      {finding.advice}"


async def examine(*, repair: bool = False) -> list[Finding]:
    findings = [*_machine(), *_keys(), *await _local_models(), *await _choice()]
    findings += [*_programs(), *_settings(), *_sessions(repair)]
    return findings


def _machine() -> Iterator[Finding]:
    from weft import __version__
    from weft.paths import weft_home

    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding(topic="Weft", state="ok", text=f"Weft {__version__}, Python {version}, {sys.platform}")
    home = weft_home()
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    writable = os.access(there, os.W_OK)
    yield Finding(
        topic="Weft",
        state="ok" if writable else "problem",
        text=f"home: {home}{'' if home.exists() else ' (made at first use)'}",
        advice="" if writable else "It cannot be written. Set WEFT_HOME to a folder that can.",
    )


def _keys() -> Iterator[Finding]:
    found = [name for name in KEYS if os.environ.get(name)]
    for name in found:
        yield Finding(topic="Models", state="ok", text=f"{name} is set")
    if not found:
        advice = "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a local model server."
        yield Finding(topic="Models", state="missing", text="no key in the environment", advice=advice)
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        if os.environ.get(name):
            yield Finding(topic="Models", state="ok", text=f"{name} is {os.environ[name]}")


async def _local_models() -> list[Finding]:
    from weft.providers.discover import discover

    servers = await discover(os.environ)
    found = [
        Finding(topic="Models", state="ok", text=f"{server.name} at {server.url}: {_models_of(server)}")
        for server in servers
    ]
    return [*(found or [Finding(topic="Models", state="missing", text="no local model server answers")]), *_gguf()]


def _models_of(server: "LocalServer") -> str:
    from weft.providers.small.choose import SMALL, parameters_in

    names: list[str] = []
    for model in server.models[:5]:
        size = model.parameters or parameters_in(model.id)
        facts = [f"{model.context_window} tokens"] if model.context_window else []
        facts += ["small: one action at a time"] if 0 < size <= SMALL else []
        names.append(f"{model.id} ({', '.join(facts)})" if facts else model.id)
    return ", ".join(names) or "no models"


def _gguf() -> Iterator[Finding]:
    """Models that run without a server."""
    from weft.paths import weft_home
    from weft.providers.gguf.store import Store
    from weft.transports.llama_child import HINT, has_llama

    files = Store(weft_home(), os.environ).all()
    if files:
        yield Finding(topic="Models", state="ok", text=f"files that run here: {', '.join(list(files)[:5])}")
    if not has_llama():
        yield Finding(topic="Models", state="missing", text="llama.cpp is not installed", advice=HINT)
    elif not files:
        advice = "weft model add qwen2.5-coder-1.5b brings one that works without a key."
        yield Finding(topic="Models", state="missing", text="llama.cpp is here, and no model for it", advice=advice)


async def _choice() -> list[Finding]:
    """What `weft` would use now."""
    from weft.errors import WeftError
    from weft.providers.resolve import resolve
    from weft.settings import load_settings

    try:
        found = await resolve(None, settings=load_settings(Path.cwd()).values, env=dict(os.environ))
    except WeftError as error:
        advice = error.hint or "weft demo works without."
        return [Finding(topic="Models", state="missing", text=f"no model can be used: {error}", advice=advice)]
    await found.provider.aclose()
    return [Finding(topic="Models", state="ok", text=f"weft uses {found.model} from {found.endpoint}")]


def _programs() -> Iterator[Finding]:
    from weft.tools.ripgrep import find_ripgrep

    rg = find_ripgrep()
    yield Finding(
        topic="Programs",
        state="ok" if rg else "missing",
        text=f"ripgrep: {rg or 'not found'}",
        advice="" if rg else "Searches work without, but slower. Install ripgrep.",
    )
    for name, use in (("git", "history and changes are not shown to the model"), ("bash", "commands run in sh")):
        path = shutil.which(name)
        advice = "" if path else f"Without it {use}."
        yield Finding(
            topic="Programs", state="ok" if path else "missing", text=f"{name}: {path or 'not found'}", advice=advice
        )
    from weft.permissions.sandbox import available

    kind, sentence = available()
    advice = "" if kind == "bubblewrap" else "Install bubblewrap to keep commands inside the folder."
    yield Finding(
        topic="Programs", state="ok" if kind != "none" else "missing", text=f"sandbox: {sentence}", advice=advice
    )


def _settings() -> Iterator[Finding]:
    from weft.settings import load_settings

    settings = load_settings(Path.cwd())
    for layer in settings.layers:
        if layer.data:
            yield Finding(topic="Settings", state="ok", text=f"{layer.scope}: {layer.path}")
    for problem in settings.problems:
        state: Literal["problem", "missing"] = "problem" if problem.level == "error" else "missing"
        yield Finding(topic="Settings", state=state, text=str(problem))
    if settings.withheld:
        text = f"this folder is not trusted; left out: {', '.join(settings.withheld)}"
        yield Finding(topic="Settings", state="missing", text=text, advice="weft trust")


def _sessions(repair: bool) -> Iterator[Finding]:
    from weft.paths import claude_home, weft_home
    from weft.sessions.store import FileStore

    store = FileStore(weft_home(), foreign=claude_home())
    rows = [row for row in store.list(None) if row.source == "weft"]
    yield Finding(topic="Sessions", state="ok", text=f"{len(rows)} on disk")
    for row in rows[:200]:
        problems = store.problems(row.session_id)
        if not problems:
            continue
        if repair and row.path is not None:
            from weft.sessions.repair import mend

            yield Finding(topic="Sessions", state="ok", text=f"{row.session_id}: {mend(row.path)}")
            continue
        text = f"{row.session_id}: {problems[0]}"
        yield Finding(topic="Sessions", state="problem", text=text, advice="weft doctor --repair")


async def checks() -> str:
    """For `/doctor` in a session: the same rows as `weft doctor`."""
    return "\n".join(report(await examine())).strip()
