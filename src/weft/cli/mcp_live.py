"""`weft mcp test`, `login`, `logout`, `approve`, `serve`: what needs a server, or is one."""

import argparse
import os
import sys
from pathlib import Path

import anyio

from weft.cli.mcp_entries import one
from weft.errors import UsageError, WeftError
from weft.mcp.asking import web_address
from weft.mcp.config import ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import HostOptions, InputAnswer
from weft.mcp.trust import Approvals, describe
from weft.mcp.visible import visible
from weft.paths import weft_home
from weft.schema.content import Json

LOGIN_LIMIT = 330.0


async def ask_here(
    server: str, message: str, *, schema: Json | None = None, url: str | None = None, visit: str = ""
) -> InputAnswer:
    """Asks on the terminal. A page is opened only after a yes; without a terminal the answer is no."""
    if not sys.stdin.isatty():
        return InputAnswer("decline")
    sys.stderr.write(f"{message}\n")
    if url is not None:
        sys.stderr.write(f"Address: {visible(url)}\n")
        reply = await _line("Open it in a browser? [y/N, or paste the address you end at] ")
        if "://" in reply:
            return InputAnswer("accept", {"redirect_url": reply})
        if reply.lower() not in ("y", "yes"):
            return InputAnswer("decline")
        if not await anyio.to_thread.run_sync(open_page, url):
            sys.stderr.write("No browser was found; open the address yourself.\n")
        if schema is None:
            return InputAnswer("accept")
        pasted = await _line("Waiting for the browser. From another machine: paste the address you end at: ")
        return InputAnswer("accept", {"redirect_url": pasted} if "://" in pasted else None)
    return InputAnswer("accept" if (await _line("[y/N] ")).lower() in ("y", "yes") else "decline")


async def _line(prompt: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    text = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    return text.strip()


def open_page(url: str) -> bool:
    """Opens a page without any shell; only https, or http on this machine."""
    if web_address(url) is None:
        return False
    import webbrowser

    return webbrowser.open(url)


def _options() -> HostOptions:
    return HostOptions(cwd=Path.cwd(), home=weft_home(), env=dict(os.environ), start_delay=0.0, reconnects=0)


def _startable(config: ServerConfig) -> ServerConfig:
    if config.standing != "approved":
        raise UsageError(
            f"{config.name} may not start: {config.problem or config.standing}", hint=f"weft mcp approve {config.name}"
        )
    return config


def test(args: argparse.Namespace) -> int:
    return anyio.run(_test, _startable(one(args.name)), float(args.timeout))


async def _test(config: ServerConfig, limit: float) -> int:
    async with Host((config,), _options()) as host:
        await host.settle(limit)
        info = host.servers()[0]
        sys.stdout.write(f"{info.name}: {info.state}{' - ' + visible(info.error) if info.error else ''}\n")
        for line in host.log_lines(config.name)[-20:]:
            sys.stderr.write(f"  {line.level}: {line.text}\n")
        if info.state != "ready":
            return 1
        sys.stdout.write(f"  {visible(info.version)}\n")
        for tool in host.tools():
            warned = f"  ! {'; '.join(tool.warnings)}" if tool.warnings else ""
            sys.stdout.write(
                f"  tool {visible(tool.name)}{' (reads only, it says)' if tool.read_only else ''}{warned}\n"
            )
        for prompt in host.prompts():
            sys.stdout.write(f"  prompt {visible(prompt.name)}\n")
        for resource in host.resources():
            sys.stdout.write(f"  resource {visible(resource.uri)}\n")
        for template in host.templates():
            sys.stdout.write(f"  template {visible(template.template)}\n")
        for change in host.changes():
            sys.stdout.write(f"  changed: {change.kind} {visible(change.name)}\n{change.difference}\n")
    return 0


def login(args: argparse.Namespace) -> int:
    config = _startable(one(args.name))
    if not config.remote:
        raise UsageError(f"{config.name} is a program on this machine: there is nothing to log in to")
    return anyio.run(_login, config)


async def _login(config: ServerConfig) -> int:
    options = HostOptions(
        cwd=Path.cwd(),
        home=weft_home(),
        env=dict(os.environ),
        start_delay=0.0,
        reconnects=0,
        ask_input=ask_here,
        start_timeout=LOGIN_LIMIT,
    )
    async with Host((config,), options) as host:
        await host.login(config.name)
    sys.stdout.write(f"You are logged in to {config.name}.\n")
    return 0


def logout(args: argparse.Namespace) -> int:
    from weft.mcp.tokens import Logins, open_vault

    config = one(args.name)
    Logins(open_vault(weft_home()), config).forget()
    sys.stdout.write(f"The login to {config.name} is forgotten.\n")
    return 0


def approve(args: argparse.Namespace) -> int:
    config = one(args.name)
    if config.standing in ("pending", "changed", "denied") and config.scope == "project":
        sys.stdout.write(f"{describe(config)}\n")
        if not args.yes and not _yes("Start it from now on in this folder?"):
            return 1
        Approvals(weft_home()).approve(Path.cwd(), config)
        sys.stdout.write(f"{config.name} is approved.\n")
        return 0
    return anyio.run(_approve_changes, _startable(config), bool(args.yes))


async def _approve_changes(config: ServerConfig, yes: bool) -> int:
    async with Host((config,), _options()) as host:
        await host.settle(30)
        if host.servers()[0].state != "ready":
            raise WeftError(f"{config.name} cannot be reached: {host.servers()[0].error}")
        changes = host.changes()
        if not changes:
            sys.stdout.write(f"Nothing of {config.name} waits for approval.\n")
        for change in changes:
            sys.stdout.write(f"{change.kind} {visible(change.name)}\n{change.difference}\n")
            if yes or await anyio.to_thread.run_sync(_yes, "Take it?"):
                host.approve_change(change)
    return 0


def _yes(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on", hint="pass --yes after reading what is printed above")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def serve(args: argparse.Namespace) -> int:
    from weft.serve.mcp import run

    return run(
        folder=Path.cwd(),
        port=args.http,
        tools=tuple(args.tools.split(",")) if args.tools else None,
        allow=tuple(args.allow),
    )
