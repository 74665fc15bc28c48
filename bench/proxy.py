"""What the auth proxy costs: time to the first byte, throughput of long streams, memory with 500 open streams.

    python bench/proxy.py [--quick] [--json] [--no-peers] [--realtime]

The same requests go directly to the server, through `weft proxy`, through nginx and through LiteLLM's proxy, in turns,
so that a busy machine is busy for all of them. The server and the client share one core, each proxy has another one
to itself. `events` is a client that reads the answer (chunks, events), `drain` one that throws the bytes away, which
no client does and which shows what is left for the proxy to lose. `cpu` is the proxy's CPU for a short answer. Goals:
at most 2 ms more to the first byte at the median, 90 % of the direct throughput for a client that reads, memory that
does not grow while 500 clients read slowly. Exit code 1 when one is missed. `--realtime` (root) takes the processor
from all others for a few seconds: on a machine that is busy with other things nothing else gives true times.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from weft.protocols.http_body import ChunkedBody
from weft.protocols.sse import SseDecoder

ROOT = Path(__file__).resolve().parent.parent
KEY = "sk-bench-0123456789abcdef"
EVENT = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",'
    b'"text":"some words of an answer"}}\n\n'
)
START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
    b'"model":"bench","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,'
    b'"output_tokens":1}}}\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\n\n'
)
END = (
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\nevent: message_delta\n'
    b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":'
    b'{"output_tokens":99}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
)
MEGABYTE = 1 << 20


# --- the server, a process of its own ------------------------------------------------------------------------------


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A message whose text is as many kilobytes as the request's `max_tokens`; without end where that is 1."""
    many = chunk(EVENT) * (65536 // len(EVENT))
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
            body = json.loads(await reader.readexactly(int(lines[b"content-length"])))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            writer.write(chunk(START))
            if body["max_tokens"] == 1:
                while True:
                    writer.write(many)
                    await writer.drain()
            for _ in range(body["max_tokens"] * 1024 // 65536):
                writer.write(many)
                await writer.drain()
            writer.write(chunk(EVENT) + chunk(END) + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def serve() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


# --- those that are compared ----------------------------------------------------------------------------------------


class Way(NamedTuple):
    name: str
    port: int
    key: str
    pid: int


def pin(core: int) -> None:
    """Others on the machine disturb less where we may say so; it is the same for all that is compared."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[core % len(cores)]})


@contextmanager
def child(
    argv: list[str], *, core: int, env: dict[str, str] | None = None, cwd: str | None = None
) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env, cwd=cwd,
        start_new_session=True, preexec_fn=lambda: pin(core),
    )  # fmt: skip
    try:
        yield started
    finally:
        os.killpg(started.pid, signal.SIGTERM)
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        assert started.stdout is not None
        started.stdout.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, limit: float = 90.0) -> None:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing listens on {port}")


@contextmanager
def weft(url: str, folder: str) -> Iterator[Way]:
    env = {**os.environ, "BENCH_KEY": KEY, "WEFT_HOME": folder}
    argv = [sys.executable, "-m", "weft", "proxy", "--upstream", url, "--dialect", "anthropic"]
    with child([*argv, "--credential", "env:BENCH_KEY"], core=1, env=env) as started:
        assert started.stdout is not None
        for line in started.stdout:
            if "ANTHROPIC_BASE_URL" in line:
                words = dict(word.split("=", 1) for word in line.split() if "=" in word)
                port = int(words["ANTHROPIC_BASE_URL"].rsplit(":", 1)[1])
                yield Way("weft", port, words["ANTHROPIC_API_KEY"], started.pid)
                return
        raise SystemExit("weft proxy did not start")


@contextmanager
def nginx(url: str, folder: str, program: str) -> Iterator[Way]:
    port = free_port()
    places = "\n".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = Path(folder) / "nginx.conf"
    config.write_text(f"""
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{ access_log off; {places}
  upstream model {{ server {url.removeprefix("http://")}; keepalive 16; }}
  server {{ listen 127.0.0.1:{port}; location / {{
    proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    proxy_set_header x-api-key {KEY}; }} }} }}
""")
    with child([program, "-c", str(config), "-p", folder, "-e", f"{folder}/error.log"], core=1) as started:
        wait_for(port)
        yield Way("nginx", port, "any", started.pid)


@contextmanager
def litellm(url: str, folder: str, program: str) -> Iterator[Way]:
    port = free_port()
    config = Path(folder) / "litellm.yaml"
    config.write_text(f"""
model_list:
  - model_name: bench
    litellm_params: {{model: anthropic/bench, api_base: "{url}", api_key: {KEY}}}
general_settings: {{master_key: sk-bench}}
""")
    env = {**os.environ, "LITELLM_TELEMETRY": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HOME": folder}
    argv = [program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
    with child(argv, core=1, env=env, cwd=folder) as started:
        wait_for(port)
        yield Way("litellm", port, "sk-bench", started.pid)


# --- the client --------------------------------------------------------------------------------------------------


def request(way: Way, kilobytes: int) -> bytes:
    message = {"role": "user", "content": "word " * 400}
    body = json.dumps({"model": "bench", "max_tokens": kilobytes, "stream": True, "messages": [message]}).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{way.port}\r\nx-api-key: {way.key}\r\n"
    head += "content-type: application/json\r\nanthropic-version: 2023-06-01\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body


class Timing(NamedTuple):
    first: float
    whole: float
    size: int


def ask(link: socket.socket, way: Way, kilobytes: int) -> Timing:
    """Seconds to the first event and to the last, and the bytes that came."""
    begun = time.perf_counter()
    link.sendall(request(way, kilobytes))
    first, size, tail = 0.0, 0, b""
    while not (tail.endswith(b"0\r\n\r\n") and b"message_stop" in tail):
        data = link.recv(262_144)
        if not data:
            raise SystemExit(f"{way.name} closed the connection: {tail[-200:]!r}")
        if not first and b"message_start" in tail + data:
            first = time.perf_counter() - begun
        size += len(data)
        tail = (tail + data)[-600:]
        if tail.startswith(b"HTTP/1.1 ") and not tail.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{way.name} refused: {tail[:300]!r}")
    return Timing(first, time.perf_counter() - begun, size)


def read_events(link: socket.socket, way: Way, kilobytes: int) -> Timing:
    """As a client reads: the framing, then each event."""
    begun = time.perf_counter()
    link.sendall(request(way, kilobytes))
    head = b""
    while b"\r\n\r\n" not in head:
        head += link.recv(65536)
    data = head.partition(b"\r\n\r\n")[2]
    body, decoder, count, size = ChunkedBody(), SseDecoder(), 0, len(head)
    while True:
        count += len(decoder.feed(body.feed(data)))
        if body.done:
            break
        data = link.recv(65536)
        size += len(data)
    assert count > kilobytes
    return Timing(0.0, time.perf_counter() - begun, size)


def cpu_of(group: int) -> float:
    """Seconds that the processes of a group have used."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:13])) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def costs(ways: list[Way], calls: int) -> dict[str, float]:
    """Milliseconds of CPU for one short answer."""
    found: dict[str, float] = {}
    for way in ways:
        with socket.create_connection(("127.0.0.1", way.port)) as link:
            before = cpu_of(way.pid)
            for _ in range(calls if way.name != "litellm" else 20):
                ask(link, way, 0)
            found[way.name] = (cpu_of(way.pid) - before) * 1000 / (calls if way.name != "litellm" else 20)
    return found


def first_bytes(ways: list[Way], rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {way.name: [] for way in ways}
    links = {way.name: socket.create_connection(("127.0.0.1", way.port)) for way in ways}
    for link in links.values():
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number in range(rounds + 5):
        for way in ways:
            took = ask(links[way.name], way, 0).first
            if number >= 5:
                found[way.name].append(took * 1000)
    for link in links.values():
        link.close()
    return found


def throughput(
    ways: list[Way], rounds: int, megabytes: int, read: Callable[[socket.socket, Way, int], Timing]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {way.name: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            with socket.create_connection(("127.0.0.1", way.port)) as link:
                took = read(link, way, megabytes * 1024)
            found[way.name].append(took.size / MEGABYTE / took.whole)
    return found


def resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def memory(way: Way, streams: int, seconds: float) -> list[float]:
    """Megabytes of the proxy: before, and while `streams` clients read a little of an endless answer, four times."""
    found = [resident(way.pid)]
    links: list[socket.socket] = []
    for _ in range(streams):
        link = socket.create_connection(("127.0.0.1", way.port))
        link.sendall(request(way, 1))
        links.append(link)
    for _ in range(4):
        time.sleep(seconds / 4)
        for link in links:
            link.recv(2048)
        found.append(resident(way.pid))
    for link in links:
        link.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--realtime", action="store_true", help="before all other processes (root)")
    parser.add_argument("--no-peers", action="store_true", help="only weft and the direct connection")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return 0
    rounds = 60 if options.quick else 300
    with ExitStack() as stack:
        server = stack.enter_context(child([sys.executable, __file__, "--serve"], core=0))
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        folder = lambda: stack.enter_context(tempfile.TemporaryDirectory())  # noqa: E731
        ways = [Way("direct", int(url.rsplit(":", 1)[1]), KEY, server.pid)]
        ways.append(stack.enter_context(weft(url, folder())))
        if not options.no_peers:
            ways.append(stack.enter_context(nginx(url, folder(), peer("nginx"))))
            ways.append(stack.enter_context(litellm(url, folder(), peer("litellm"))))
        pin(0)
        first_bytes(ways, 5)
        cpu = costs(ways, rounds)
        grown = memory(ways[1], 500, 4.0 if options.quick else 12.0)
        if options.realtime:
            for way in ways:
                prefer(way.pid)
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        # LiteLLM goes on working after its answer, which would be in the way of those that come next.
        firsts = {**first_bytes(ways[3:], 20 if options.quick else 60), **first_bytes(ways[:3], rounds)}
        turns, size = (3, 8) if options.quick else (9, 16)
        rates = throughput(ways[:3], turns, size, read_events) | throughput(ways[3:], 1, 1, read_events)
        drains = throughput(ways[:3], turns, size, ask) | throughput(ways[3:], 1, 1, ask)
    return report(Found(firsts, cpu, rates, drains, grown), as_json=options.json)


def prefer(group: int) -> None:
    """Every thread of a group before all that is not ours."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[2]) == group:
                for thread in os.listdir(stat.parent / "task"):
                    os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(1))


def peer(name: str) -> str:
    found = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "peers.py"), "path", name], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


class Found(NamedTuple):
    firsts: dict[str, list[float]]
    cpu: dict[str, float]
    rates: dict[str, list[float]]
    drains: dict[str, list[float]]
    grown: list[float]


def report(found: Found, *, as_json: bool) -> int:
    firsts, cpu, rates, drains, grown = found
    direct_first = statistics.median(firsts["direct"])
    direct_rate = statistics.median(rates["direct"])
    rows = {
        name: {
            "first_ms": round(statistics.median(firsts[name]), 3),
            "added_ms": round(statistics.median(firsts[name]) - direct_first, 3),
            "p95_ms": round(statistics.quantiles(firsts[name], n=20)[-1], 3),
            "cpu_ms": round(cpu[name], 2),
            "events_mb_s": round(statistics.median(rates[name]), 1),
            "of_direct": round(statistics.median(rates[name]) / direct_rate, 3),
            "drain_mb_s": round(statistics.median(drains[name]), 1),
        }
        for name in rates
    }
    goals = {
        "at most 2 ms more to the first byte": rows["weft"]["added_ms"] <= 2.0,
        "90 % of the direct throughput": rows["weft"]["of_direct"] >= 0.9,
        "memory is flat with 500 open streams": grown[-1] - grown[1] < 8.0,
    }
    if as_json:
        sys.stdout.write(json.dumps({"ways": rows, "memory_mb": grown, "goals": goals}, indent=2) + "\n")
    else:
        for name, row in rows.items():
            values = "  ".join(f"{key} {value:>7}" for key, value in row.items())
            sys.stdout.write(f"{name:8} {values}\n")
        sys.stdout.write("memory   " + " -> ".join(f"{value:.1f}" for value in grown) + " MB (500 open streams)\n")
        for goal, met in goals.items():
            sys.stdout.write(f"{'ok  ' if met else 'MISS'} {goal}\n")
    return 0 if all(goals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
