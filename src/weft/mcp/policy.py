"""A company's say over servers: allow and deny lists, by address, by exact command line, or by name. Deny wins."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

import msgspec

from weft.mcp.config import ServerConfig
from weft.schema.content import Json


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """`allowed` of None allows everything; an empty tuple allows nothing."""

    allowed: tuple[Json, ...] | None = None
    denied: tuple[Json, ...] = ()

    def refusal(self, config: ServerConfig) -> str:
        """Why this server may not run, or nothing."""
        if any(_matches(rule, config) for rule in self.denied):
            return "denied by policy"
        if self.allowed is not None and not any(_matches(rule, config) for rule in self.allowed):
            return "not on the list of servers that policy allows"
        return ""


def policy_from(settings: Mapping[str, object]) -> Policy:
    """`allowedMcpServers` and `deniedMcpServers` of managed settings."""
    allowed = settings.get("allowedMcpServers")
    return Policy(
        allowed=None if allowed is None else _rules(allowed),
        denied=_rules(settings.get("deniedMcpServers")),
    )


def _rules(value: object) -> tuple[Json, ...]:
    items = cast("Sequence[object]", value) if isinstance(value, list) else ()
    return tuple(cast("Json", item) for item in items if isinstance(item, dict))


def _matches(rule: Json, config: ServerConfig) -> bool:
    match rule:
        case {"serverUrl": str(pattern)}:
            return config.transport != "stdio" and fnmatchcase(config.url, pattern)
        case {"serverCommand": argv}:
            return config.transport == "stdio" and [config.command, *config.args] == argv
        case {"serverName": str(name)}:
            return config.name == name
        case _:
            return False
