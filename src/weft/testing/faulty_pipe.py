"""Faults between two programs that talk over pipes, driven by a seed.

    python -m weft.testing.faulty_pipe SEED [--after BYTES] -- COMMAND…

starts the command and passes its standard input and output on, until a planned number of bytes of the output; then it
does one thing: cuts, goes silent for a while, repeats the last line, or puts a line of garbage in between. The plan
depends on the seed alone. What is started ends with this program.
"""

import os
import subprocess
import sys
import threading
import time
from random import Random
from typing import Final

FAULTS: Final = ("none", "cut", "torn", "garbage", "binary", "blank", "twice", "delay")
GARBAGE: Final = b'{"jsonrpc": "2.0", "method": 7, "type": [], \xff\n'
DELAY: Final = 0.5


def plan(seed: int) -> tuple[str, int]:
    """The fault, and how many lines of output come before it."""
    chance = Random(seed)
    return FAULTS[seed % len(FAULTS)], chance.randrange(1, 12)


def pump_in(child: "subprocess.Popen[bytes]") -> None:
    assert child.stdin is not None
    try:
        while data := os.read(0, 65536):
            child.stdin.write(data)
            child.stdin.flush()
        child.stdin.close()
    except OSError:
        return


def relay(child: "subprocess.Popen[bytes]", fault: str, after: int) -> None:
    assert child.stdout is not None
    for number, line in enumerate(child.stdout):
        if number == after:
            if fault == "cut":
                return
            if fault == "torn":
                os.write(1, line[: len(line) // 2])
                return
            spoiled = {"garbage": GARBAGE, "binary": bytes(range(256)) + b"\n", "blank": b"\n\n \n", "twice": line}
            os.write(1, spoiled.get(fault, b""))
            if fault == "delay":
                time.sleep(DELAY)
        os.write(1, line)


def main(argv: list[str]) -> int:
    seed, command = int(argv[0]), argv[argv.index("--") + 1 :]
    fault, after = plan(seed)
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=pump_in, args=(child,), daemon=True).start()
    try:
        relay(child, fault, after)
    except OSError:
        pass
    finally:
        child.kill()
        child.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
