"""Hooks that are no shell command: a request, a question to a model, the work of an agent, a tool of an MCP server.

Each ends as a command does, with an exit code and what it printed, so that all are read the same way.
"""

import os
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

import msgspec

from weft.schema.content import Json
from weft.settings.layers import as_object, as_strings, is_list, is_object

MAX_ANSWER = 1 << 20
WORDS = (
    "You judge one moment of a coding agent's work by the condition below. Answer with a JSON object alone: "
    '{"ok": true} when the condition holds, {"ok": false, "reason": "a sentence"} when it does not.'
)

inside: ContextVar[bool] = ContextVar("inside", default=False)
"""Set while a model or an agent works for a hook: what it does asks no model again, or there would be no end."""


class HttpWork(msgspec.Struct, frozen=True):
    """The input is posted to `url`. Headers may name variables of the environment that `env_names` lists."""

    url: str
    headers: dict[str, str] = {}
    env_names: tuple[str, ...] = ()


class ModelWork(msgspec.Struct, frozen=True):
    """A condition for a model, or for an `agent` that may look around first. `$ARGUMENTS` stands for the input."""

    text: str
    model: str | None = None
    agent: bool = False


class ToolWork(msgspec.Struct, frozen=True):
    """A tool of an MCP server. `${a.b}` in its arguments stands for a field of the input."""

    server: str
    tool: str
    arguments: Json = {}


Work: TypeAlias = HttpWork | ModelWork | ToolWork


class Reach(msgspec.Struct):
    """What hooks may use of a session; filled in when it is built. `ask` and `agent` take a prompt and a model;
    `call` takes a server, a tool and its arguments and says whether it failed, and its text; `later` runs something
    beside the turn."""

    ask: Callable[[str, str | None], Awaitable[str]] | None = None
    agent: Callable[[str, str | None], Awaitable[str]] | None = None
    call: Callable[[str, str, Json], Awaitable[tuple[bool, str]]] | None = None
    later: Callable[[Callable[[], Coroutine[Any, Any, None]]], object] | None = None


def read_work(value: Json) -> Work | str:
    """The work of a hook in settings that is no command, or what is missing in it."""
    kind = value.get("type")
    text = {key: item for key, item in value.items() if isinstance(item, str)}
    match kind:
        case "http":
            url = text.get("url", "")
            if not url.startswith(("http://", "https://")):
                return "an http hook needs a url that begins with http:// or https://"
            headers = {name: item for name, item in as_object(value.get("headers")).items() if isinstance(item, str)}
            return HttpWork(url, headers, as_strings(value.get("allowedEnvVars")))
        case "prompt" | "agent":
            if not text.get("prompt"):
                return f"a hook of type {kind!r} needs a prompt"
            return ModelWork(text["prompt"], text.get("model") or None, agent=kind == "agent")
        case "mcp_tool":
            if not text.get("server") or not text.get("tool"):
                return "a hook of type 'mcp_tool' needs a server and a tool"
            return ToolWork(text["server"], text["tool"], as_object(value.get("input")))
        case _:
            return f"there are no hooks of type {kind!r}"


async def run_work(work: Work, input: Json, reach: Reach, env: Mapping[str, str]) -> tuple[int, str, str]:
    """The exit code, standard output and standard error that a command would have had.

    Raises:
        WeftError: nobody answers.
    """
    match work:
        case HttpWork():
            return await _post(work, input, env)
        case ModelWork():
            return await _judge(work, input, reach)
        case ToolWork():
            if reach.call is None:
                return 1, "", "this session has no MCP servers"
            failed, text = await reach.call(work.server, work.tool, as_object(_filled(work.arguments, input)))
            return (1, "", text) if failed else (0, text, "")


async def _post(work: HttpWork, input: Json, env: Mapping[str, str]) -> tuple[int, str, str]:
    from weft.transports.http import HttpClient

    def variable(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return env.get(name, "") if name in work.env_names else ""

    headers = {
        name: re.sub(r"\$(?:\{(\w+)\}|(\w+))", variable, value).replace("\r", "").replace("\n", "")
        for name, value in work.headers.items()
    }
    async with HttpClient(env=os.environ) as client:
        body = msgspec.json.encode(input)
        async with await client.send(
            "POST", work.url, {"content-type": "application/json", **headers}, body
        ) as response:
            answer = (await response.read(MAX_ANSWER)).decode("utf-8", "replace")
    if not 200 <= response.status < 300:
        return 1, "", f"{work.url} answered {response.status}"
    return 0, answer, ""


async def _judge(work: ModelWork, input: Json, reach: Reach) -> tuple[int, str, str]:
    ask = reach.agent if work.agent else reach.ask
    if ask is None:
        return 1, "", "this session has no model to ask"
    given = msgspec.json.encode(input).decode()
    text = work.text.replace("$ARGUMENTS", given) if "$ARGUMENTS" in work.text else f"{work.text}\n\n{given}"
    token = inside.set(True)
    try:
        answer = await ask(f"{WORDS}\n\n{text}", work.model)
    finally:
        inside.reset(token)
    found = _object_in(answer)
    if found is None or not isinstance(found.get("ok"), bool):
        return 1, "", f"the model gave no verdict: {answer.strip()[:200]}"
    if found["ok"]:
        return 0, "", ""
    reason = found.get("reason")
    return 2, "", reason if isinstance(reason, str) and reason else "the condition does not hold"


def _object_in(text: str) -> Json | None:
    """The JSON object in an answer, which models like to put between other words."""
    start, end = text.find("{"), text.rfind("}")
    try:
        return msgspec.json.decode(text[start : end + 1], type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return None


def _filled(value: object, input: Json) -> object:
    if isinstance(value, str):
        whole = re.fullmatch(r"\$\{([\w.]+)\}", value)
        if whole:
            return _field(input, whole[1])
        return re.sub(r"\$\{([\w.]+)\}", lambda found: _plain(_field(input, found[1])), value)
    if is_object(value):
        return {key: _filled(item, input) for key, item in value.items()}
    if is_list(value):
        return [_filled(item, input) for item in value]
    return value


def _field(input: Json, path: str) -> object:
    value: object = input
    for name in path.split("."):
        value = as_object(value).get(name)
    return value


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
