"""Two tools to look at what MCP servers offer as resources: a list, and one of them."""

import base64
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from weft.mcp.catalogue import McpResult, ResourceText, ToolInfo
from weft.mcp.host import Host
from weft.mcp.results import resource_blocks
from weft.schema.content import AnyBlock, Json, Text
from weft.tools.mcp import to_result
from weft.tools.port import Result, Tool, ToolContext


class ListResourcesArgs(msgspec.Struct, frozen=True):
    server: Annotated[str | None, Meta(description="Only this server's.")] = None


class ListMcpResources(Tool[ListResourcesArgs]):
    name = "ListMcpResourcesTool"
    args = ListResourcesArgs
    kind = "read"
    group = "mcp"
    read_only = True

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def manual(self) -> str:
        return "Lists the resources that the connected MCP servers offer: address, name, kind, what each is about."

    def title(self, args: ListResourcesArgs) -> str:
        return f"Resources of {args.server or 'all servers'}"

    async def run(self, args: ListResourcesArgs, context: ToolContext) -> Result:
        if args.server is not None:
            self._host.server(args.server)
        rows: list[Json] = []
        for item in self._host.resources():
            if args.server in (None, item.server):
                about = item.description or item.title
                rows.append({"server": item.server, "uri": item.uri, "name": item.name, "mimeType": item.mime})
                rows[-1]["about"] = about
        for item in self._host.templates():
            if args.server in (None, item.server):
                rows.append({"server": item.server, "uriTemplate": item.template, "name": item.name})
                rows[-1]["about"] = item.description
        text = "\n".join(msgspec.json.encode(row).decode() for row in rows)
        return Result(content=text or "There are no resources.", data=rows)


class ReadResourceArgs(msgspec.Struct, frozen=True):
    server: Annotated[str, Meta(description="The server that has it.")]
    uri: Annotated[str, Meta(description="The resource's address, as it is listed.")]


class ReadMcpResource(Tool[ReadResourceArgs]):
    name = "ReadMcpResourceTool"
    args = ReadResourceArgs
    kind = "read"
    group = "mcp"
    read_only = True

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def manual(self) -> str:
        return "Reads one resource of a connected MCP server by its address."

    def title(self, args: ReadResourceArgs) -> str:
        return f"Resource {args.uri}"

    async def run(self, args: ReadResourceArgs, context: ToolContext) -> Result:
        blocks: list[AnyBlock] = []
        for number, part in enumerate(await self._parts(args.server, args.uri)):
            shown = resource_blocks(part)
            if part.data is not None and isinstance(shown[0], Text):
                path = context.session.spill(f"mcp-{context.use.id}-{number}.bin", base64.b64decode(part.data))
                shown.append(Text(f"[its bytes are in {path}]"))
            blocks += shown
        info = ToolInfo(server=args.server, name="resources/read")
        return to_result(McpResult(content=tuple(blocks)), info, context)

    async def _parts(self, server: str, uri: str) -> Sequence[ResourceText]:
        """A file of a skill is checked against the skill's listing before anybody reads it."""
        for skill in self._host.skills():
            if skill.server == server and any(file.uri == uri for file in skill.files):
                from weft.mcp.skills import read_skill_file

                data = await read_skill_file(self._host, skill, uri)
                try:
                    return (ResourceText(uri=uri, mime="text/plain", text=data.decode()),)
                except UnicodeDecodeError:
                    return (ResourceText(uri=uri, data=base64.b64encode(data).decode()),)
        return await self._host.read(server, uri)
