"""What hooks may use of a session: its model, an agent of it, the tools of its servers."""

import time
from typing import TYPE_CHECKING

from weft.agent.dispatch import run_tool
from weft.agent.history import new_id
from weft.agent.turn import Turn
from weft.errors import ToolError
from weft.mcp.names import namespaced
from weft.schema.content import Json, Text, ToolUse, text_of
from weft.schema.messages import Message, Reply, Request
from weft.schema.stream import StreamDone, StreamFailed
from weft.tools.port import SubagentRequest

if TYPE_CHECKING:
    from weft.hooks.kinds import Reach
    from weft.sdk.workbench import Workbench

AGENT = "Explore"
MAX_TOKENS = 1024


def fill(reach: "Reach", bench: "Workbench") -> None:
    ground = bench.ground

    async def ask(prompt: str, model: str | None) -> str:
        """One question apart from the conversation, by the session's budget."""
        bench.limits.check_budget()
        wanted = model or ground.settings.text("smallModel")
        chosen = ground.resolved.catalogue.resolve(wanted, ground.env) if wanted else ground.state.model
        request = Request(model=chosen, messages=(Message("user", (Text(prompt),)),), max_tokens=MAX_TOKENS)
        started = time.monotonic()
        async for event in ground.provider().stream(request):
            if isinstance(event, StreamDone):
                _count(bench, event.reply, time.monotonic() - started, bench.turn())
                return event.reply.text
            if isinstance(event, StreamFailed):
                raise ToolError(f"the model did not answer: {event.message}")
        raise ToolError("the model did not answer")

    async def agent(prompt: str, model: str | None) -> str:
        """An agent that only reads, and so may look before it judges."""
        request = SubagentRequest(
            tool_use_id=f"hook_{new_id()}", agent=AGENT, description="a hook's question", prompt=prompt, model=model
        )
        result = await bench.subagents.run(request)
        if result.is_error:
            raise ToolError(text_of(result.content))
        return text_of(result.content)

    async def call(server: str, tool: str, arguments: Json) -> tuple[bool, str]:
        name = namespaced(server, tool)
        found = bench.box.find(name)
        if found is None:
            return True, f"there is no tool {tool!r} of an MCP server {server!r}"
        use = ToolUse(f"hook_{new_id()}", name, arguments)
        result = await run_tool(found, arguments, bench.thread.work.context(use))
        return result.is_error, text_of(result.content)

    reach.ask, reach.agent, reach.call = ask, agent, call
    reach.later = lambda work: ground.moments.later(work)


def _count(bench: "Workbench", reply: Reply, seconds: float, turn: Turn | None) -> None:
    cost = bench.ledger.add(reply.model, reply.usage, seconds)
    if turn is not None:
        turn.usage += reply.usage
        turn.cost += cost or 0.0
        turn.api_seconds += seconds
