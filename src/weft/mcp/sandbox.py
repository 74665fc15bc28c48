"""VS Code's `sandbox` of a server, with bubblewrap: a read-only system, writable folders by name, no network."""

import shutil
from pathlib import Path

from weft.errors import TransportError
from weft.mcp.catalogue import list_of, table_of
from weft.schema.content import Json


def wrapped(argv: list[str], sandbox: Json) -> list[str]:
    """
    Raises:
        TransportError: there is no bubblewrap, or the entry allows only some domains, which we cannot enforce.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise TransportError("this server wants a sandbox and bubblewrap is not installed", hint="install bubblewrap")
    files, network = table_of(sandbox.get("filesystem")), table_of(sandbox.get("network"))
    line = [bwrap, "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for path in list_of(files.get("allowWrite")):
        line += ["--bind-try", str(Path(str(path)).expanduser()), str(Path(str(path)).expanduser())]
    for path in list_of(files.get("denyWrite")):
        line += ["--ro-bind-try", str(Path(str(path)).expanduser()), str(Path(str(path)).expanduser())]
    for path in list_of(files.get("denyRead")):
        line += ["--tmpfs", str(Path(str(path)).expanduser())]
    if network:
        if list_of(network.get("allowedDomains")):
            raise TransportError("this server's sandbox allows only some domains, which cannot be enforced here")
        line += ["--unshare-net"]
    return [*line, "--", *argv]
