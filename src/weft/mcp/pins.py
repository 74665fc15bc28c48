"""What a server said about itself when it was first trusted, kept on disk, and how that differs from what it says now.

A changed definition is not used until a person has seen the difference. The same file remembers the server's era,
and lets the tools be offered at once at the next start, before the server is up.
"""

import hashlib
import json
from pathlib import Path
from typing import Literal

import msgspec

from weft.mcp.catalogue import ToolInfo, decode_tool, list_of, table_of
from weft.mcp.config import ServerConfig
from weft.mcp.trust import read_json, write_private
from weft.mcp.visible import visible
from weft.schema.content import Json

PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta")

Kind = Literal["tool", "prompt", "skill", "instructions"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is no longer what was approved. `difference` is for people, hidden characters escaped."""

    server: str
    kind: Kind
    name: str
    difference: str


def canonical(definition: Json) -> str:
    kept = {key: definition[key] for key in PINNED if definition.get(key) is not None}
    return json.dumps(kept, sort_keys=True, indent=1, ensure_ascii=False)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Pins:
    """One server's file. The server's identity is its name and its endpoint: another endpoint is another server."""

    def __init__(self, home: Path, config: ServerConfig) -> None:
        identity = digest(f"{config.name}\0{config.transport}\0{config.endpoint}\0{config.socket}")
        self._path = home / "mcp" / f"{identity[:32]}.json"
        self._server = config.name
        self._kept = read_json(self._path)

    @property
    def known(self) -> bool:
        """Whether the server was ever there."""
        return bool(self._kept)

    @property
    def era(self) -> str:
        era = self._kept.get("era")
        return era if isinstance(era, str) else ""

    def set_era(self, era: str) -> None:
        if era != self.era:
            self._kept["era"] = era
            self._write()

    def tools(self) -> tuple[ToolInfo, ...]:
        """The approved definitions: what the model may be told before the server answers."""
        found = (table_of(item) for item in self._table("tools").values())
        return tuple(decode_tool(self._server, raw) for raw in found if isinstance(raw.get("name"), str))

    def instructions(self) -> str:
        kept = self._kept.get("instructions")
        return kept if isinstance(kept, str) else ""

    def check(self, kind: Kind, definitions: list[Json]) -> tuple[Change, ...]:
        """Pins what is new and returns what is not as it was. On the first sight of a server all is new."""
        table = self._table(f"{kind}s")
        changes: list[Change] = []
        wrote = False
        for definition in definitions:
            name = str(definition["name"])
            if name not in table:
                table[name] = definition
                wrote = True
            elif canonical(table_of(table[name])) != canonical(definition):
                changes.append(self._change(kind, name, table_of(table[name]), definition))
        if wrote:
            self._kept[f"{kind}s"] = table
            self._write()
        return tuple(changes)

    def check_instructions(self, text: str) -> tuple[Change, ...]:
        kept = self._kept.get("instructions")
        if not isinstance(kept, str):
            self._kept["instructions"] = text
            self._write()
            return ()
        if kept == text:
            return ()
        before: Json = {"name": "instructions", "description": kept}
        after: Json = {"name": "instructions", "description": text}
        return (self._change("instructions", "instructions", before, after),)

    def approve(self, kind: Kind, name: str, definition: Json) -> None:
        """The person has seen the new definition and takes it. Old "always allow" rules stay dropped."""
        if kind == "instructions":
            self._kept["instructions"] = definition.get("description", "")
        else:
            table = self._table(f"{kind}s")
            table[name] = definition
            self._kept[f"{kind}s"] = table
        self._write()

    def voided(self) -> tuple[str, ...]:
        """Names of tools that changed after they were approved: an older "always allow" must not cover them."""
        return tuple(str(name) for name in list_of(self._kept.get("voided")))

    def void(self, names: list[str]) -> None:
        new = [name for name in names if name not in self.voided()]
        if new:
            self._kept["voided"] = [*self.voided(), *new]
            self._write()

    def unvoid(self, name: str) -> None:
        """A rule that was given after the change may hold again."""
        self._kept["voided"] = [kept for kept in self.voided() if kept != name]
        self._write()

    def _change(self, kind: Kind, name: str, before: Json, after: Json) -> Change:
        import difflib

        lines = difflib.unified_diff(
            canonical(before).splitlines(), canonical(after).splitlines(), "approved", "now", lineterm="", n=1
        )
        return Change(server=self._server, kind=kind, name=name, difference=visible("\n".join(lines)))

    def _table(self, key: str) -> Json:
        return dict(table_of(self._kept.get(key)))

    def _write(self) -> None:
        write_private(self._path, json.dumps(self._kept, sort_keys=True))
