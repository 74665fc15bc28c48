"""A server of both eras on the official package: rounds of questions, changes, resource updates, progress, an app.

No packaged server exercises those. `modern_server.py` speaks on standard input and output.
"""

import mcp_types as types
from mcp.server import MCPServer
from mcp.server.apps import Apps
from mcp.server.mcpserver import Context

apps = Apps()


@apps.tool(resource_uri="ui://clock/app.html", description="A clock that shows itself.")
def clock(context: Context) -> str:
    return "12:00"


apps.add_html_resource("ui://clock/app.html", "<html><body>clock</body></html>")
server = MCPServer("modern", extensions=[apps], instructions="Add with add.")

NAME_FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "default": "ada"}},
    "required": ["name"],
}


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def prog(context: Context) -> str:
    """Reports three steps."""
    for step in range(3):
        await context.report_progress(step + 1, 3, f"step {step}")
    return "done"


@server.tool()
async def mrtr(city: str, context: Context) -> types.CallToolResult | types.InputRequiredResult:
    """Asks for a name, a model's answer and the folders, all in one round."""
    given = context.input_responses
    if not given:
        hello = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="hi"))
        return types.InputRequiredResult(
            input_requests={
                "who": types.ElicitRequest(
                    params=types.ElicitRequestFormParams(message="name?", requested_schema=NAME_FORM)
                ),
                "llm": types.CreateMessageRequest(
                    params=types.CreateMessageRequestParams(messages=[hello], max_tokens=5)
                ),
                "roots": types.ListRootsRequest(),
            },
            request_state=f"st-{city}",
        )
    text = f"{context.request_state} {sorted(given)} {given['who'].content}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


@server.tool()
async def touch(context: Context) -> str:
    """Tells of changed tools and of an updated note."""
    await context.notify_tools_changed()
    await context.notify_resource_updated("note://7")
    return "ok"


@server.resource("note://{number}")
def note(number: str) -> str:
    return f"note {number}"


@server.prompt()
def greet(who: str) -> str:
    return f"Hello {who}"


if __name__ == "__main__":
    server.run("stdio")
