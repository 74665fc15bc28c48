"""What can be asked for by name: agents, skills, tools that are looked up first. And what tools themselves cost."""

from collections.abc import Iterable

from weft.context.port import Piece, View
from weft.schema.messages import ToolSpec
from weft.schema.wire import encode

_LONGEST = 400


class Listings:
    name = "tools"

    async def read(self, view: View) -> tuple[Piece, ...]:
        return tuple(
            Piece(
                name="tools",
                text=f"{listing.title}:\n" + "\n".join(_row(name, text) for name, text in listing.rows),
                shortened=f"{listing.title}:\n" + ", ".join(name for name, _ in listing.rows),
                where="offered in this session",
                priority=40,
            )
            for listing in view.listings
            if listing.rows
        )


def _row(name: str, text: str) -> str:
    line = " ".join(text.split())
    return f"- {name}: {line[:_LONGEST]}{'…' if len(line) > _LONGEST else ''}" if line else f"- {name}"


def definitions(specs: Iterable[ToolSpec]) -> tuple[Piece, ...]:
    """The tools as they are sent: Weft's own together, those of each server by themselves."""
    texts: dict[str, list[str]] = {}
    for spec in specs:
        server = spec.name.split("__")[1] if spec.name.startswith("mcp__") and spec.name.count("__") > 1 else ""
        texts.setdefault(server, []).append(f"{spec.name}: {spec.description}\n{encode(spec.input_schema).decode()}")
    return tuple(
        Piece(
            name="tool manuals",
            text="\n\n".join(rows),
            where=f"{len(rows)} of the server {server}" if server else f"{len(rows)} of Weft's own",
            priority=100,
        )
        for server, rows in texts.items()
    )
