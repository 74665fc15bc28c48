"""Names that providers accept and that nobody can confuse: `mcp__server__tool`."""

import hashlib
import re

_OTHER = re.compile(r"[^A-Za-z0-9_-]")
LONGEST = 64


def part(name: str) -> str:
    """A server's or a tool's name with only the characters that every provider takes."""
    return _OTHER.sub("_", name) or "_"


def namespaced(server: str, tool: str) -> str:
    """The name that the model uses. One that was changed or cut ends in a hash of the real one, so that no two
    tools ever share a name."""
    whole = f"mcp__{part(server)}__{part(tool)}"
    if len(whole) <= LONGEST and part(tool) == tool and part(server) == server:
        return whole
    if len(whole) <= LONGEST and not _OTHER.search(tool.replace(".", "").replace("/", "").replace(" ", "")):
        return whole
    mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{whole[: LONGEST - 9]}_{mark}"


def unique(names: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Names for (server, tool) pairs, all different: of two that fall together the later one gets its hash."""
    taken: set[str] = set()
    found: dict[tuple[str, str], str] = {}
    for server, tool in names:
        name = namespaced(server, tool)
        if name in taken:
            mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
            name = f"{name[: LONGEST - 9]}_{mark}"
        taken.add(name)
        found[server, tool] = name
    return found


def spellings(server: str, prompt: str) -> tuple[str, str]:
    """The two ways to type a prompt: Claude Code's and VS Code's."""
    return f"mcp__{server}__{prompt}", f"mcp.{server}.{prompt}"
