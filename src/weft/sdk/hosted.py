"""`python -m weft.sdk.hosted`: the child of `weft.Options(process=True)`. It speaks to `connect/child` on its pipes."""

import sys

import anyio
import msgspec

from weft.connect.port import Connection
from weft.errors import RemoteProtocolError
from weft.protocols.session_lines import Open
from weft.sdk.child import decode_options
from weft.sdk.compose import Overrides, open_connection
from weft.sdk.remote_tools import remote_hooks, remote_tool
from weft.serve.session_lines import AskHost, LineServer
from weft.transports.stdio import stdio_stream


async def open_hosted(opening: Open, ask: AskHost) -> Connection:
    try:
        options = decode_options(opening.options)
    except msgspec.ValidationError as error:
        raise RemoteProtocolError(f"the options cannot be read: {error}") from None
    overrides = Overrides(
        tools=[remote_tool(told, ask) for told in opening.tools],
        hook_functions=remote_hooks(opening.hooks, ask) or None,
    )
    return await open_connection(options, overrides)


async def run() -> int:
    return await LineServer(stdio_stream(), open_hosted).run()


def main() -> int:
    try:
        return anyio.run(run)
    except RemoteProtocolError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
