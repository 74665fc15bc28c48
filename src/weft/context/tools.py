"""What can be asked for by name: agents, skills, tools that are looked up first."""

from weft.context.port import Piece, View

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
