"""The program decides what the agent may do, with a reason that the model reads."""

import os
import tempfile

import anyio

import weft
from weft.schema.events import PermissionAsked


async def decide(asked: PermissionAsked) -> bool | str:
    if asked.use.name == "Write":
        return True
    return f"{asked.use.name} is not allowed in this example."


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = weft.Options(cwd=folder, permission=decide)
        async with weft.Client(options) as client:
            answer = await client.ask("Write 'hello' into hello.txt, then delete it.")
            print(answer.text)
            print("refused:", [denial.tool_name for denial in answer.denials])
            print("there:", os.listdir(folder))


anyio.run(main)
