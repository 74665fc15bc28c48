"""`weft proxy`: agents ask models through it, and never see the key."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.proxy.policy import Policy
    from weft.proxy.server import ProxyOptions
    from weft.proxy.session import ProxySession
    from weft.proxy.upstream import Upstream

EPILOG = """\
examples:
  weft proxy --run claude                      Claude Code with a nonce instead of your key, until it ends
  weft proxy --run claude -p "hello"           all that follows the command is the command's
  weft proxy --upstream ollama --model qwen3 --run claude
                                               Claude Code on a model of this machine
  weft proxy --credential helper:./get-key --budget 5 --allow 'claude-haiku-*'
                                               listen until Ctrl-C; print what to set
  weft proxy --upstream https://models.example/v1 --credential keyring:models/me

A key is never an argument: others could read it in the process list. `weft usage` shows what was used."""


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="weft proxy",
        description="Takes a nonce, asks the real server with the real key. Speaks the Anthropic Messages API and "
        "OpenAI's chat completions, whichever of them the server speaks.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--run", metavar="COMMAND", help="start this command with the nonce, and end with it")
    found.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1 (default: a free one)")
    found.add_argument(
        "--upstream", action="append", default=[], metavar="NAME|URL", help="the server to ask; may be given again"
    )
    found.add_argument("--dialect", choices=("anthropic", "openai"), help="what the server at a URL speaks")
    found.add_argument("--credential", metavar="SOURCE", help="env:NAME, file:PATH, keyring:SERVICE/USER, "
                       "helper:COMMAND, oauth:PATH or none")  # fmt: skip
    found.add_argument("--model", help="ask this model whatever is asked for; UPSTREAM:MODEL is possible")
    found.add_argument(
        "--map", action="append", default=[], metavar="PATTERN=MODEL", help="ask MODEL for names like PATTERN"
    )
    found.add_argument("--fallback-model", help="ask this one when the other is overloaded")
    found.add_argument("--allow", action="append", default=[], metavar="PATTERN", help="allow only models like this")
    found.add_argument("--budget", type=float, metavar="DOLLARS", help="refuse calls when this is used up")
    found.add_argument("--token-budget", type=int, metavar="TOKENS", help="the same in tokens")
    found.add_argument("--calls-per-minute", type=int, metavar="N")
    found.add_argument("--tokens-per-minute", type=int, metavar="N")
    found.add_argument("--expires", type=float, metavar="SECONDS", help="the nonce ends after this time")
    found.add_argument("--retries", type=int, default=2, help="how often to ask again on overload (default: 2)")
    found.add_argument("--who", help="the name in the log (default: the command)")
    found.add_argument("--log-bodies", action="store_true", help="requests and answers go into the log, secrets masked")
    found.add_argument("--no-log", action="store_true", help="keep no log of calls")
    found.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    return found


def main(argv: list[str]) -> int:
    argv, rest = _split(argv)
    options = parser().parse_args(argv)
    if rest and not options.run:
        raise UsageError("Arguments after -- need --run COMMAND.", hint='weft proxy --run claude -p "hello"')
    import anyio

    return anyio.run(_serve, options, [options.run, *rest] if options.run else [])


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Everything after `--run COMMAND` is the command's, so that it reads as it is typed."""
    if "--run" in argv and argv.index("--run") + 1 < len(argv):
        at = argv.index("--run") + 2
        rest = argv[at:]
        return argv[:at], rest[1:] if rest[:1] == ["--"] else rest
    if "--" in argv:
        at = argv.index("--")
        return argv[:at], argv[at + 1 :]
    return argv, []


def upstreams_of(options: argparse.Namespace, env: dict[str, str]) -> "tuple[Upstream, ...]":
    from weft.proxy.credentials import read_credential
    from weft.proxy.upstream import find_upstreams
    from weft.settings import load_settings

    credential = read_credential(options.credential, env) if options.credential else None
    settings = load_settings(Path.cwd(), sources=["user"]).values
    return find_upstreams(env, settings, wanted=options.upstream, credential=credential, dialect=options.dialect)


def policy_of(options: argparse.Namespace) -> "Policy":
    from weft.proxy.policy import Policy

    return Policy(
        models=tuple(options.allow),
        dollars=options.budget,
        tokens=options.token_budget,
        calls_per_minute=options.calls_per_minute,
        tokens_per_minute=options.tokens_per_minute,
        seconds=options.expires,
    )


def options_of(options: argparse.Namespace) -> "ProxyOptions":
    import msgspec

    from weft.proxy.server import RETRIES, ProxyOptions

    models: dict[str, str] = {}
    for text in options.map:
        pattern, equals, model = str(text).partition("=")
        if not (pattern and equals and model):
            raise UsageError(f"{text!r} is not PATTERN=MODEL.", hint="weft proxy --map 'claude-haiku-*=ollama:qwen3'")
        models[pattern] = model
    if options.model:
        models["*"] = options.model
    return ProxyOptions(
        port=options.port,
        models=models,
        fallback=options.fallback_model,
        bodies=options.log_bodies,
        retries=msgspec.structs.replace(RETRIES, max_retries=max(0, options.retries)),
    )


async def _serve(options: argparse.Namespace, command: Sequence[str]) -> int:
    from weft.proxy.session import ProxySession
    from weft.transports.seclusion import hide_from_peers

    env = dict(os.environ)
    who = options.who or (os.path.basename(command[0]) if command else "weft proxy")
    made = ProxySession(
        who,
        upstreams_of(options, env),
        policy=policy_of(options),
        options=options_of(options),
        environ=env,
        log=not options.no_log,
    )
    hide_from_peers()
    async with made as session:
        if command:
            from weft.transports.foreground import run_foreground

            return await run_foreground(command, env=session.env(env), cwd=Path.cwd())
        _say(session)
        await _until_signal()
    return 0


def _say(session: "ProxySession") -> None:
    url, nonce = session.proxy.url, session.grant.nonce
    names = ", ".join(
        f"{one.name} ({one.dialect}, key from {one.credential.source})" for one in session.proxy.upstreams
    )
    lines = [
        f"The proxy listens on {url} and asks {names}.",
        "",
        "In another terminal:",
        f"  export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY={nonce}",
        f"  export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={nonce}",
        "",
        "Ctrl-C ends it, and the nonce with it.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


async def _until_signal() -> None:
    import signal

    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async for _ in signals:
            return
