"""An answer of a type: the agent must fill it in, and it is checked."""

import anyio
import msgspec

import weft


class Verdict(msgspec.Struct):
    good: bool
    reasons: list[str]


async def main() -> None:
    answer = await weft.query("Is 'x1' a good name for a list of users?", output=Verdict)
    verdict: Verdict = answer.value
    print("good" if verdict.good else "not good", verdict.reasons)


anyio.run(main)
