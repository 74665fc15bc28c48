"""A thin front to our MCP host for the official conformance scenarios: `python -m weft.testing.mcp_client URL`.

The harness sets MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_CONTEXT (JSON) and, from 0.2 on,
MCP_CONFORMANCE_PROTOCOL_VERSION. The client connects, lists, calls every tool with made-up arguments, and ends
with 0. People are played by functions that accept everything.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import anyio

from weft.errors import WeftError
from weft.mcp.catalogue import ToolInfo, table_of
from weft.mcp.config import OAuthSettings, ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import HostOptions, InputAnswer, SampleReply, SampleRequest
from weft.schema.content import Json, Text
from weft.transports.mcp_http import make_client

NAME = "conformance"
CIMD = "https://conformance-test.local/client-metadata.json"
MADE_UP: Json = {"string": "x", "integer": 3, "number": 3, "boolean": True, "object": {}, "array": []}


def made_up(schema: Json) -> object:
    return MADE_UP.get(str(schema.get("type")), "x")


def arguments_for(tool: ToolInfo) -> Json:
    properties = table_of(tool.input_schema.get("properties"))
    required = cast("list[str]", tool.input_schema.get("required") or [])
    return {name: made_up(table_of(properties.get(name))) for name in required}


async def accept(
    server: str, message: str, *, schema: Json | None = None, url: str | None = None, visit: str = ""
) -> InputAnswer:
    """Plays the person: fills forms with their defaults, and walks through a login page by its redirect."""
    if url is not None:
        async with make_client(url, headers={}) as client:
            response = await client.get(url)
        place = response.headers.get("location")
        return InputAnswer("accept", {"redirect_url": place}) if place else InputAnswer("decline")
    properties = table_of((schema or {}).get("properties"))
    required = cast("list[str]", (schema or {}).get("required") or [])
    missing = [name for name in required if "default" not in table_of(properties.get(name))]
    return InputAnswer("accept", {name: made_up(table_of(properties.get(name))) for name in missing})


async def sample(request: SampleRequest) -> SampleReply:
    return SampleReply("made-up", (Text("ok"),))


async def oauth_for(scenario: str, context: Json, url: str) -> OAuthSettings:
    """The settings that a person would have written for this server."""

    def said(name: str) -> str:
        return str(context.get(name) or "")

    client = OAuthSettings(client_id=said("client_id"), client_secret=said("client_secret"), client_metadata_url=CIMD)
    if scenario == "auth/client-credentials-basic":
        return OAuthSettings(grant="client_credentials", client_id=client.client_id, client_secret=client.client_secret)
    if scenario == "auth/client-credentials-jwt":
        return OAuthSettings(
            grant="private_key_jwt",
            client_id=client.client_id,
            private_key=said("private_key_pem"),
            algorithm=said("signing_algorithm") or "ES256",
        )
    if scenario == "auth/wif-jwt-bearer":
        return OAuthSettings(grant="jwt_bearer", client_id=client.client_id, assertion=said("valid_jwt"))
    if scenario in ("auth/enterprise-managed-authorization", "auth/cross-app-access-complete-flow"):
        parts = urlsplit(url)
        where = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
        async with make_client(url, headers={}) as http:
            metadata = cast("Json", (await http.get(where)).json())
        return OAuthSettings(
            grant="id_jag",
            client_id=client.client_id,
            client_secret=client.client_secret,
            issuer=str(cast("list[object]", metadata["authorization_servers"])[0]),
            assertion=said("idp_id_token"),
            idp_token_endpoint=said("idp_token_endpoint"),
            idp_client_id=said("idp_client_id"),
        )
    return client


def say(*words: object) -> None:
    sys.stderr.write(" ".join(str(word) for word in words) + "\n")


async def exercise(host: Host, scenario: str, context: Json) -> None:
    tools = host.tools()
    say("tools", [tool.name for tool in tools])
    if scenario == "json-schema-ref-no-deref":
        return
    if scenario.startswith("sep-2640"):
        await skills(host, load=not scenario.endswith("no-prefetch"))
        return
    calls = context.get("toolCalls")
    if isinstance(calls, list):
        for call in map(table_of, cast("list[object]", calls)):
            say(call["name"], await host.call(NAME, str(call["name"]), table_of(call.get("arguments"))))
        return
    focal = next((tool for tool in tools if tool.name == "json_schema_2020_12_tool"), None)
    if focal is not None:
        say(await host.call(NAME, "json_schema_echo", {"schema": table_of(focal.definition.get("inputSchema"))}))
        return
    for tool in tools:
        say(tool.name, await host.call(NAME, tool.name, arguments_for(tool)))
    for prompt in host.prompts():
        given = {argument.name: "x" for argument in prompt.arguments if argument.required}
        say(prompt.name, await host.get_prompt(NAME, prompt.name, given))
    for resource in host.resources():
        say(resource.uri, await host.read(NAME, resource.uri))


async def skills(host: Host, *, load: bool) -> None:
    from weft.mcp.skills import list_skills, load_skill, read_skill_file

    for skill in await list_skills(host, NAME):
        say("skill", skill.uri)
        if load:
            say(await load_skill(host, skill))
            for file in skill.files:
                if file.uri != skill.uri:
                    say(await read_skill_file(host, skill, file.uri))


async def run(url: str) -> int:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION")
    context = table_of(json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}"))
    mode = "auto" if version is None or version >= "2026" else "legacy"
    if scenario == "json-schema-ref-no-deref":
        mode = "legacy"
    with tempfile.TemporaryDirectory() as home:
        options = HostOptions(
            cwd=Path.cwd(), home=Path(home), ask_input=accept, sample=sample, start_delay=0.0, reconnects=0
        )
        oauth = await oauth_for(scenario, context, url) if scenario.startswith("auth/") else OAuthSettings()
        config = ServerConfig(name=NAME, transport="http", url=url, oauth=oauth, protocol=mode)
        async with Host((config,), options) as host:
            server = host.server(NAME)
            server.interactive_login = True
            await host.settle(25)
            if server.state != "ready":
                say("not ready:", server.state, server.error)
                return 1
            say("era", server.link.client.protocol_version if server.link and server.link.client else "?")
            await exercise(host, scenario, context)
    return 0


def main() -> int:
    try:
        return anyio.run(run, sys.argv[-1])
    except WeftError as error:
        say(error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
