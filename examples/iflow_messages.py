"""The shape of iFlow's SDK: typed messages, approvals by id."""

import anyio

from weft.sdk.iflow import IFlowClient, IFlowError, IFlowOptions
from weft.sdk.iflow_messages import AssistantMessage, TaskFinishMessage, ToolCallMessage


async def main() -> None:
    try:
        async with IFlowClient(IFlowOptions()) as client:
            await client.send_message("Write hello.txt.")
            async for message in client.receive_messages():
                match message:
                    case AssistantMessage(text=text) if text:
                        print(text, end="")
                    case ToolCallMessage(request_id=str(request_id), label=label):
                        print(f"[allowed: {label}]")
                        await client.approve_tool_call(request_id)
                    case TaskFinishMessage(stop_reason=reason):
                        print(f"\n({reason})")
                    case _:
                        pass
    except IFlowError as error:
        print(error.whole)


anyio.run(main)
