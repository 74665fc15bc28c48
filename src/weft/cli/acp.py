"""`weft acp`: Weft as an ACP agent, on standard input and output or on a WebSocket."""

import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

from weft.errors import UsageError

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """Offers Weft to any ACP client. Without --port it speaks on standard input and output, as editors
expect; with --port it listens on ws://127.0.0.1:PORT/acp, for standard clients and for iFlow's."""
EPILOG = """examples:
  weft acp                               for an editor's settings: command "weft", arguments ["acp"]
  weft acp --port 8090                   prints the address, with the token that it wants
  weft acp --port 8090 --token-file t    the token is in a file (16 characters or more)
  weft acp --port 8090 --no-token        any program of this machine may connect; for iFlow's own SDKs

The token may also be in WEFT_ACP_TOKEN; the word none there is the same as --no-token."""


DEFAULTS = SimpleNamespace(port=None, model=None, permission_mode=None, debug=False, draft_v2=False)
"""What editors start is `weft acp` alone: reading no arguments is not worth a parser."""
COLLECT_AFTER = 2.0
"""Seconds in which a session is opened: importing makes many objects and no garbage."""


def main(argv: list[str]) -> int:
    arguments = parse(argv) if argv else DEFAULTS
    if arguments.debug:
        import logging

        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    import anyio

    from weft.cli.acp_session import opener, session_store

    open_session = opener(model=arguments.model, mode=arguments.permission_mode)
    store = session_store()
    if arguments.port is None:
        from weft.serve.acp.server import serve_stdio

        async def speak() -> None:
            import asyncio

            from weft.cli.main import collecting

            asyncio.get_running_loop().call_later(COLLECT_AFTER, collecting)
            await serve_stdio(open_session, store, arguments.draft_v2)

        anyio.run(speak)
        return 0
    token = find_token(arguments)

    async def listen() -> None:
        from weft.cli.main import collecting
        from weft.serve.acp.server import serve_websocket

        collecting()
        await serve_websocket(
            open_session,
            store,
            port=arguments.port,
            token=token,
            origins=tuple(arguments.origin),
            deflate=not arguments.no_deflate,
            draft=arguments.draft_v2,
            listening=lambda port: announce(port, token),
        )

    anyio.run(listen)
    return 0


def parse(argv: list[str]) -> "argparse.Namespace":
    import argparse

    parser = argparse.ArgumentParser(
        prog="weft acp",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, help="listen on this port of 127.0.0.1 (0 takes a free one)")
    parser.add_argument("--token-file", metavar="FILE", help="read the token from a file")
    parser.add_argument("--no-token", action="store_true", help="let any program of this machine connect")
    parser.add_argument("--origin", action="append", default=[], help="a web page's origin that may connect")
    parser.add_argument("--no-deflate", action="store_true", help="do not offer permessage-deflate")
    parser.add_argument(
        "--draft-v2", action="store_true", help="speak the draft of version 2 with those who ask for it"
    )
    parser.add_argument("--model", help="the model of new sessions")
    parser.add_argument("--permission-mode", help="the mode of new sessions")
    parser.add_argument("--debug", action="store_true", help="log every frame to standard error")
    return parser.parse_args(argv)


def find_token(arguments: "argparse.Namespace | SimpleNamespace") -> str | None:
    """
    Raises:
        UsageError: the token cannot be read or is too short.
    """
    given = os.environ.get("WEFT_ACP_TOKEN", "")
    if arguments.no_token or given == "none":
        return None
    if arguments.token_file:
        try:
            with open(arguments.token_file, encoding="utf-8") as file:
                given = file.read().strip()
        except OSError as error:
            raise UsageError(f"--token-file: cannot read {arguments.token_file}: {error.strerror}.") from error
    if given and len(given) < 16:
        raise UsageError("The token must have 16 characters or more.", hint="openssl rand -hex 16 makes one.")
    return given or os.urandom(16).hex()


def announce(port: int, token: str | None) -> None:
    """Clients that start us wait for a line with `listening` in it."""
    query = f"?token={token}" if token else ""
    sys.stdout.write(f"weft acp: listening on ws://127.0.0.1:{port}/acp{query}\n")
    sys.stdout.flush()
