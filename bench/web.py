"""How fast the page is: a long conversation opens, a long reply streams, many conversations stream to many pages.

python bench/web.py            the numbers (a real browser is driven: Debian's Chromium with Playwright)
python bench/web.py --check    fails when a promise is broken
python bench/web.py fanout     one of them: open, reply, fanout
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import anyio  # noqa: E402
from tests.e2e.web.site import Site, launch, playwright  # noqa: E402

from weft.schema.commands import Prompt  # noqa: E402
from weft.schema.content import Text, ToolResult, ToolUse  # noqa: E402
from weft.schema.events import MessageDone, PromptAdded, Streamed, ToolCalled, ToolEnded  # noqa: E402
from weft.schema.messages import Reply  # noqa: E402
from weft.schema.stream import BlockDelta, BlockStart, TextDelta  # noqa: E402
from weft.surfaces.files import Folders  # noqa: E402
from weft.surfaces.web.app import WebHost  # noqa: E402
from weft.surfaces.web.frames import Row  # noqa: E402
from weft.surfaces.web.hub import Hub  # noqa: E402
from weft.testing.connection import ScriptedConnection, Stage, said  # noqa: E402

MESSAGES = 2_000
CONVERSATIONS, PAGES = 100, 10
PARAGRAPH = "The **parser** reads a line, splits it into `words` and returns the first of them, if there is one.\n\n"
CODE = (
    "```python\ndef parse(line: str) -> str:\n    words = line.split()\n    return words[0] if words else ''\n```\n\n"
)


class LongShelf:
    """One conversation of many messages, without a disk under it."""

    def rows(self, folders: Any) -> list[Row]:
        return [Row(id="long", title="A long talk", folder=folders[0], updated=time.time())]

    def events(self, session_id: str) -> list[Any]:
        out: list[Any] = []
        for number in range(MESSAGES // 4):
            use = ToolUse(f"t{number}", "Bash", {"command": f"make step-{number}"})
            out.append(PromptAdded(id=f"u{number}", content=(Text(f"Step {number}, please."),), replay=True))
            out.append(MessageDone(reply=Reply(f"m{number}", "x", (Text(PARAGRAPH + CODE), use)), replay=True))
            out.append(ToolCalled(use=use, title="Bash", kind="execute", replay=True))
            out.append(ToolEnded(tool_use_id=use.id, name="Bash", result=ToolResult(use.id, "ok\n" * 20), replay=True))
            out.append(MessageDone(reply=Reply(f"n{number}", "x", (Text(PARAGRAPH * 3),)), replay=True))
        return out

    def search(self, query: str, folders: Any) -> list[str]:
        return []


def open_long(browser: Any, folder: Path) -> dict[str, float]:
    """From the click to the last message on the screen, and from there to the first one by scrolling. Seconds of
    processor time are the page's main thread and this process, which is the host; other work does not count in them."""
    with Site(folder, shelf=LongShelf()) as site:
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        metrics = _metrics(page)
        page.goto(site.link())
        page.wait_for_selector(".row-open")
        idle, host_idle = _busy(metrics), time.process_time()
        started = time.perf_counter()
        page.click(".row-open")
        page.wait_for_selector(f"text=Step {MESSAGES // 4 - 1}, please.")
        opened = time.perf_counter() - started
        shown, host_shown = _busy(metrics), time.process_time()
        started = time.perf_counter()
        page.evaluate(
            """() => new Promise((done) => {
                const step = () => {
                    const first = document.querySelector(".log").firstElementChild;
                    if (first.textContent.includes("Step 0, please.")) return done();
                    document.querySelector(".scroller").scrollTop = 0;
                    requestAnimationFrame(step);
                };
                step();
            })"""
        )
        scrolled = time.perf_counter() - started
        far, host_far = _busy(metrics), time.process_time()
        page.close()
    return {
        "open_seconds": opened,
        "open_cpu_seconds": shown - idle + host_shown - host_idle,
        "scroll_to_first_seconds": scrolled,
        "scroll_page_cpu_seconds": far - shown,
        "scroll_host_cpu_seconds": host_far - host_shown,
    }


def long_reply(browser: Any, folder: Path, size: int) -> dict[str, float]:
    """What a reply of `size` characters costs the page's main thread while it streams."""
    text = (PARAGRAPH * 6 + CODE) * (size // (len(PARAGRAPH) * 6 + len(CODE)) + 1)

    async def turn(stage: Stage, prompt: Prompt) -> None:
        for number, event in enumerate(said(text[:size] + "\n\nThe end.", chunk=200)):
            await stage.emit(event)
            if number % 50 == 0:
                await anyio.sleep(0.005)

    with Site(folder, [turn]) as site:
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        metrics = _metrics(page)
        page.goto(site.link())
        page.wait_for_selector(".composer textarea")
        before = _busy(metrics)
        started = time.perf_counter()
        page.fill(".composer textarea", "Write a long text")
        page.keyboard.press("Enter")
        page.wait_for_selector(".log .prose >> text=The end.", timeout=300_000)
        wall = time.perf_counter() - started
        busy = _busy(metrics) - before
        page.close()
    return {"characters": size, "page_cpu_seconds": busy, "wall_seconds": wall}


def _metrics(page: Any) -> Any:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session


def _busy(session: Any) -> float:
    """Seconds of processor time that the page's main thread has used."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


# --- many conversations, many pages --------------------------------------------------------------------------

READER = """
import asyncio, json, sys, time, websockets
port, cookie, ids, pages, seconds = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4]), 8.0
found = []
async def page():
    own = f"http://127.0.0.1:{port}"
    async with websockets.connect(f"ws://127.0.0.1:{port}/socket", origin=own, additional_headers={"Cookie": cookie},
                                  max_size=None, compression=None) as socket:
        for id in ids:
            await socket.send(json.dumps({"type": "switchConversation", "conversation": id, "keep": True}))
        seen = set()
        begin = time.monotonic() + 1
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                data = await asyncio.wait_for(socket.recv(), left)
            except TimeoutError:
                break
            now = time.monotonic()
            # A piece comes twice, open and finished: the first time counts.
            stamps = [stamp for stamp in data.split("@@")[1::2] if len(stamp) == 16 and stamp not in seen]
            seen.update(stamps)
            # What was said before the page looked is as old as it is.
            found.extend(now - float(stamp) for stamp in stamps if float(stamp) > begin)
async def main():
    await asyncio.gather(*(page() for _ in range(pages)))
asyncio.run(main())
print(json.dumps(found))
"""


async def fanout(folder: Path) -> dict[str, float]:
    """Each conversation says something with the time in it, twenty times a second; pages read the time."""
    rate = 0.05

    async def turn(stage: Stage, prompt: Prompt) -> None:
        await stage.emit(Streamed(message_id="m", delta=BlockStart(0, Text(""))))
        while True:
            stamp = f"{time.monotonic():016.6f}"
            text = f"Some words of a reply @@{stamp}@@ and more.\n\n"
            await stage.emit(Streamed(message_id="m", delta=BlockDelta(0, TextDelta(text))))
            await anyio.sleep(rate)

    hub = Hub(Folders([folder]), lambda opening: ScriptedConnection([turn]))
    host = WebHost(hub)
    used = time.process_time()
    async with anyio.create_task_group() as group:
        group.start_soon(host.serve)
        await anyio.sleep(0.3)
        ids: list[str] = []
        for _ in range(CONVERSATIONS):
            conversation = hub.new()
            ids.append(conversation.id)
            await conversation.send(Prompt("go"), hub.group)
        cookie = await _cookie(host)
        arguments = [str(host.port), cookie, json.dumps(ids), str(PAGES)]
        done = await anyio.run_process([sys.executable, "-c", READER, *arguments], stderr=subprocess.PIPE)
        group.cancel_scope.cancel()
    delays = sorted(json.loads(done.stdout.decode().splitlines()[-1]))
    return {
        "frames": len(delays),
        "host_cpu_seconds": time.process_time() - used,
        "p50_ms": delays[len(delays) // 2] * 1000,
        "p99_ms": delays[int(len(delays) * 0.99)] * 1000,
    }


async def _cookie(host: WebHost) -> str:
    path = host.link().split(str(host.port), 1)[1]
    async with await anyio.connect_tcp("127.0.0.1", host.port) as stream:
        await stream.send(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{host.port}\r\nConnection: close\r\n\r\n".encode())
        head = (await stream.receive()).decode()
    return next(line.split(": ")[1].split(";")[0] for line in head.split("\r\n") if line.startswith("set-cookie"))


def main(argv: list[str]) -> int:
    check = "--check" in argv
    wanted = [name for name in argv if not name.startswith("-")] or ["open", "reply", "fanout"]
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if "fanout" in wanted:
            found["fanout"] = anyio.run(fanout, Path(folder))
        if {"open", "reply"} & set(wanted):
            with playwright().sync_playwright() as api:
                browser = launch(api)
                if "open" in wanted:
                    found["open"] = open_long(browser, Path(folder))
                if "reply" in wanted:
                    found["reply"] = [long_reply(browser, Path(folder), size) for size in (250_000, 500_000, 1_000_000)]
                browser.close()
    print(json.dumps(found, indent=2))
    return broken(found) if check else 0


def broken(found: dict[str, Any]) -> int:
    problems: list[str] = []
    if "open" in found and found["open"]["open_seconds"] > 1.0:
        problems.append(f"a conversation of {MESSAGES} messages took more than a second to open")
    if "open" in found and found["open"]["scroll_page_cpu_seconds"] + found["open"]["scroll_host_cpu_seconds"] > 4.0:
        problems.append(f"scrolling through {MESSAGES} messages used more than 4 s of processor time")
    if "reply" in found:
        small, large = found["reply"][0], found["reply"][-1]
        growth = large["page_cpu_seconds"] / small["page_cpu_seconds"]
        if growth > 1.6 * large["characters"] / small["characters"]:
            problems.append(f"a reply of 1 MB cost {growth:.1f} times one of 250 KB: more than linear")
    if "fanout" in found and found["fanout"]["p99_ms"] > 100:
        problems.append(f"{CONVERSATIONS} conversations to {PAGES} pages: p99 is {found['fanout']['p99_ms']:.0f} ms")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
