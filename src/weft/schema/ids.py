"""Names of sessions and records: UUIDs, in their usual spelling."""

from uuid import UUID, uuid4


def new_id() -> str:
    """A random one."""
    return str(uuid4())


def parse_id(text: str) -> str | None:
    """The usual spelling of a UUID that was written with or without hyphens and braces; None for other texts."""
    try:
        return str(UUID(text))
    except ValueError:
        return None


def following_id(uuid: str, steps: int) -> str:
    """The id that stands `steps` (at least 1) behind another: always the same one.

    Version 5 is made for this, and loads the whole of `hashlib` for one word.
    """
    known = parse_id(uuid)
    value = UUID(known).int if known else int.from_bytes(uuid.encode()[:16], "big")
    return str(UUID(int=(value + steps) % (1 << 128)))
