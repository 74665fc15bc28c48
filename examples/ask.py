"""One question, one answer, and what it cost."""

import anyio

import weft


async def main() -> None:
    answer = await weft.query("What is this project about? One sentence.", cwd=".")
    print(answer.text)
    print(f"{answer.steps} requests, ${answer.cost:.4f}")


anyio.run(main)
