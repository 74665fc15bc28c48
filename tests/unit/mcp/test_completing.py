"""What a person may type next that only servers know."""

import pytest

from weft.mcp.catalogue import PromptArgument, PromptInfo, ResourceInfo, TemplateInfo
from weft.mcp.completing import complete
from weft.schema.content import Json
from weft.schema.events import ServerInfo

VALUES = {
    "city": ("Paris", "Parma", "New York"),
    "street": ("Rue A", "Rue B"),
    "id": ("1", "12"),
    "part": ("head",),
}


class Known:
    """A host whose servers answer at once; `asked` is what they were asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Json, str, str, dict[str, str]]] = []

    def servers(self) -> tuple[ServerInfo, ...]:
        return (ServerInfo("maps", "ready"), ServerInfo("off", "failed"))

    def prompts(self) -> tuple[PromptInfo, ...]:
        two = (PromptArgument("city", required=True), PromptArgument("street"))
        return (PromptInfo(server="maps", name="find", arguments=two), PromptInfo(server="maps", name="plain"))

    def resources(self) -> tuple[ResourceInfo, ...]:
        return (
            ResourceInfo(server="maps", uri="map://world", name="The world"),
            ResourceInfo(server="maps", uri="map://the moon", name="Moon"),
        )

    def templates(self) -> tuple[TemplateInfo, ...]:
        return (TemplateInfo(server="maps", template="tile://{id}/{part}", name="A tile"),)

    async def complete(
        self, server: str, ref: Json, name: str, value: str, context: dict[str, str] | None = None
    ) -> tuple[str, ...]:
        self.asked.append((ref, name, value, context or {}))
        return tuple(item for item in VALUES.get(name, ()) if item.startswith(value))


TYPED = [
    ("/mcp__maps__find Par", 17, ["Paris", "Parma"]),
    ("/mcp.maps.find Par", 15, ["Paris", "Parma"]),
    ("/mcp__maps__find N", 17, ["'New York'"]),
    ('/mcp__maps__find "New York" Rue', 28, ["Rue A", "Rue B"]),
    ("/mcp__maps__find Paris Rue A", 23, []),
    ("/mcp__maps__find Paris Nowhere", 23, []),
    ("/mcp__maps__plain x", 0, []),
    ("/other x", 0, []),
    ("look at @moon", 8, ['@"maps:map://the moon" ']),
    ("look at @maps:map://w", 8, ["@maps:map://world "]),
    ("@maps:ti", 0, ["@maps:tile://"]),
    ("@maps:tile://", 0, ["@maps:tile://1/", "@maps:tile://12/"]),
    ("@maps:tile://12/he", 0, ["@maps:tile://12/head "]),
    ("@off:never://", 0, []),
    ("mail me@maps:tile", 0, []),
    ("@", 0, []),
    ("", 0, []),
]


@pytest.mark.parametrize(("typed", "start", "inserts"), TYPED, ids=[row[0] for row in TYPED])
async def test_what_could_stand_at_the_cursor(typed: str, start: int, inserts: list[str]):
    begin, items = await complete(Known(), typed)
    assert [item.insert for item in items] == inserts
    if inserts:
        assert begin == start


async def test_the_server_is_told_what_stands_before_the_cursor():
    known = Known()
    await complete(known, '/mcp__maps__find "New York" Rue')
    await complete(known, "@maps:tile://12/he")
    assert known.asked == [
        ({"name": "find"}, "street", "Rue", {"city": "New York"}),
        ({"uri": "tile://{id}/{part}"}, "part", "he", {"id": "12"}),
    ]
