"""A server's skill is what its listing says, or it is not used (T32)."""

import hashlib
from typing import Any, cast

import pytest

from weft.errors import ToolError
from weft.mcp.catalogue import ResourceText
from weft.mcp.host import Host
from weft.mcp.skills import list_skills, load_skill, read_skill_file
from weft.schema.content import Json

BODY = "---\nname: pdf\ndescription: About PDF\n---\nDo this.\n"
MORE = "More."


def entry(uri: str, text: str) -> Json:
    return {"uri": uri, "digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}", "size": len(text.encode())}


class OneSkill:
    """The two methods of a host that skills use."""

    def __init__(self, body: str = BODY, front: Json | None = None) -> None:
        self.body = body
        self.front = front or {"name": "pdf", "description": "About PDF"}
        self.listed = BODY
        self.reads: list[str] = []

    async def request(self, server: str, method: str, params: Json) -> Json:
        files = [entry("skill://pdf/SKILL.md", self.listed), entry("skill://pdf/more.md", MORE)]
        return {"skills": [{"uri": "skill://pdf/SKILL.md", "frontmatter": self.front, "resources": files}, {"uri": 5}]}

    async def read(self, server: str, uri: str) -> tuple[ResourceText, ...]:
        self.reads.append(uri)
        return (ResourceText(uri=uri, text=self.body if uri.endswith("SKILL.md") else MORE),)


def host(fake: OneSkill) -> Host:
    return cast("Host", cast("Any", fake))


async def test_listing_fetches_nothing_and_loading_checks():
    fake = OneSkill()
    (skill,) = await list_skills(host(fake), "s")
    assert fake.reads == [] and skill.name == "pdf"
    assert await load_skill(host(fake), skill) == BODY
    assert await read_skill_file(host(fake), skill, "skill://pdf/more.md") == MORE.encode()


@pytest.mark.parametrize("body", [BODY.replace("Do this.", "Do that."), BODY + "more", ""])
async def test_t32_another_size_or_digest_is_not_used(body: str):
    fake = OneSkill(body)
    (skill,) = await list_skills(host(fake), "s")
    with pytest.raises(ToolError, match="not what its listing says"):
        await load_skill(host(fake), skill)


async def test_t32_other_front_matter_is_not_used():
    fake = OneSkill(front={"name": "pdf", "description": "Harmless"})
    (skill,) = await list_skills(host(fake), "s")
    with pytest.raises(ToolError, match="front matter differs"):
        await load_skill(host(fake), skill)


async def test_t32_files_outside_the_listing_are_not_read():
    fake = OneSkill()
    (skill,) = await list_skills(host(fake), "s")
    with pytest.raises(ToolError, match="not a file of the skill"):
        await read_skill_file(host(fake), skill, "skill://pdf/../../etc/passwd")
    assert fake.reads == []
