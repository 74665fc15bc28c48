"""Skills that a server offers (`io.modelcontextprotocol/skills`): listed at once, fetched when used, checked always.

A listing says what every file hashes to. Nothing is fetched ahead of need, and a file that is not what the listing
said, by size, by digest or by front matter, is not used at all.
"""

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, cast

import msgspec

from weft.errors import ToolError
from weft.mcp.catalogue import list_of, table_of, text_of
from weft.schema.content import Json

if TYPE_CHECKING:
    from weft.mcp.host import Host

EXTENSION = "io.modelcontextprotocol/skills"
METHOD = "skills/list"
MAX_FILE = 4 << 20
MAX_SKILLS = 500
_FRONT = re.compile(r"(?s)\A---\n.*?\n---[^\n]*\n?")


class SkillFile(msgspec.Struct, frozen=True):
    uri: str
    digest: str
    size: int


class ServerSkill(msgspec.Struct, frozen=True, kw_only=True):
    """`dynamic` skills name no files: only their SKILL.md can be read, and nothing vouches for it but the listing."""

    server: str
    uri: str
    name: str
    description: str
    frontmatter: Json
    files: tuple[SkillFile, ...] = ()
    dynamic: bool = False

    @property
    def full_name(self) -> str:
        """What a person types and a model asks for; no skill of another server or of a folder has this name."""
        return f"{self.server}:{self.name}"

    @property
    def for_model(self) -> bool:
        return self.frontmatter.get("disable-model-invocation") is not True

    @property
    def for_person(self) -> bool:
        return self.frontmatter.get("user-invocable") is not False

    @property
    def definition(self) -> Json:
        """What is pinned: another front matter or another file is another skill."""
        files: Json = {file.uri: f"{file.digest} {file.size}" for file in self.files}
        return {"name": self.name, "_meta": {"uri": self.uri, "frontmatter": self.frontmatter, "files": files}}


async def list_skills(host: "Host", server: str) -> tuple[ServerSkill, ...]:
    """
    Raises:
        ToolError: the server has none to list.
    """
    return decode_skills(server, await host.request(server, METHOD, {}))


def decode_skills(server: str, raw: Json) -> tuple[ServerSkill, ...]:
    """The entries of a listing that can be used; one that is no skill is left out."""
    found: list[ServerSkill] = []
    for entry in map(table_of, list_of(raw.get("skills"))[:MAX_SKILLS]):
        front = table_of(entry.get("frontmatter"))
        uri, name = entry.get("uri"), front.get("name")
        if not isinstance(uri, str) or not isinstance(name, str):
            continue
        files = [
            SkillFile(str(item["uri"]), str(item["digest"]), cast("int", item["size"]))
            for item in map(table_of, list_of(entry.get("resources")))
            if isinstance(item.get("uri"), str)
            and isinstance(item.get("digest"), str)
            and isinstance(item.get("size"), int)
        ]
        found.append(
            ServerSkill(
                server=server,
                uri=uri,
                name=text_of(name, 64),
                description=text_of(front.get("description"), 1024),
                frontmatter=front,
                files=tuple(files),
                dynamic=entry.get("resources") == "dynamic",
            )
        )
    return tuple(found)


async def load_skill(host: "Host", skill: ServerSkill) -> str:
    """The skill's text.

    Raises:
        ToolError: it is not what was listed.
    """
    text = (await _read(host, skill, skill.uri)).decode("utf-8", "replace")
    if _frontmatter(text) != skill.frontmatter:
        raise ToolError(f"the skill {skill.name!r} is not used: its front matter differs from its listing")
    return text


async def use_skill(host: "Host", skill: ServerSkill, arguments: str = "") -> str:
    """The skill as a model reads it: whose words they are, where its other files are, and the text itself.

    Raises:
        ToolError: it is not what was listed.
    """
    body = _FRONT.sub("", await load_skill(host, skill), count=1).strip()
    head = f"A skill of the MCP server {skill.server!r}, in the server's own words."
    others = [file.uri for file in skill.files if file.uri != skill.uri]
    if others:
        head += f" Its other files are read with ReadMcpResourceTool: {', '.join(others)}"
    tail = f"\n\nARGUMENTS: {arguments}" if arguments else ""
    return f"{head}\n\n{body}{tail}"


async def read_skill_file(host: "Host", skill: ServerSkill, uri: str) -> bytes:
    """One of the skill's other files.

    Raises:
        ToolError: it is not part of the skill, or not what was listed.
    """
    return await _read(host, skill, uri)


async def _read(host: "Host", skill: ServerSkill, uri: str) -> bytes:
    listed = next((file for file in skill.files if file.uri == uri), None)
    if listed is None and not (skill.dynamic and uri == skill.uri):
        raise ToolError(f"{uri!r} is not a file of the skill {skill.name!r}")
    if listed is not None and listed.size > MAX_FILE:
        raise ToolError(f"{uri!r} is too large")
    parts = await host.read(skill.server, uri)
    if len(parts) != 1:
        raise ToolError(f"{uri!r} is not one file")
    text, data = parts[0].text, parts[0].data
    try:
        content = (
            text.encode("utf-8", "surrogatepass") if text is not None else base64.b64decode(data or "", validate=True)
        )
    except (binascii.Error, ValueError) as error:
        raise ToolError(f"{uri!r} is not valid base64") from error
    if listed is None:
        return content
    if len(content) != listed.size or listed.digest != f"sha256:{hashlib.sha256(content).hexdigest()}":
        raise ToolError(f"the skill {skill.name!r} is not used: {uri} is not what its listing says")
    return content


def _frontmatter(text: str) -> object:
    import yaml

    if not text.startswith("---\n"):
        return {}
    head, found, _ = text[4:].partition("\n---")
    try:
        return yaml.safe_load(head) if found else {}
    except yaml.YAMLError:
        return {}
