"""Many agents in one process, at once: no child processes, a few megabytes each."""

import anyio

import weft


async def ask(number: int, answers: dict[int, str]) -> None:
    answers[number] = (await weft.query(f"What is {number} times {number}?", tools=[], persist=False)).text


async def main() -> None:
    answers: dict[int, str] = {}
    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(ask, number, answers)
    print(len(answers), "answers")


anyio.run(main)
