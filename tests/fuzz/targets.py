"""Every parser and protocol core that reads what others wrote: how it is fed, and the only errors it may raise."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from weft.errors import RemoteProtocolError, WeftError
from weft.permissions import rules, shell
from weft.protocols import (
    anthropic_server,
    frontmatter,
    http_body,
    http_head,
    jsonl,
    jsonrpc,
    lsp,
    msgpack_rpc,
    openai_server,
    payloads,
    session_lines,
    sse,
)
from weft.protocols.acp import frames
from weft.protocols.anthropic_messages import MessagesDecoder
from weft.protocols.ide import lock, uris
from weft.protocols.ide.guest import Guest
from weft.protocols.ide.host import Host
from weft.protocols.openai_stream import ChatDecoder
from weft.protocols.partial_json import PartialJson
from weft.sessions import files
from weft.sessions.resume import rebuild
from weft.surfaces import markdown
from weft.tools import patch

__all__ = ["TARGETS", "Target", "mutate"]


class Target(NamedTuple):
    """`run` takes any bytes and raises nothing but `allowed`. `seeds` are where mutations start."""

    name: str
    run: Callable[[bytes], object]
    allowed: tuple[type[Exception], ...] = (RemoteProtocolError,)
    seeds: tuple[bytes, ...] = ()


def in_pieces(make: Callable[[], Any], data: bytes) -> None:
    """Fed in pieces whose sizes the bytes themselves decide; then finished, where it can be."""
    core = make()
    at = 0
    while at < len(data):
        size = data[at] % 40 + 1
        core.feed(data[at : at + size])
        at += size
    finish = getattr(core, "finish", None)
    if finish is not None:
        finish()


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def partial(data: bytes) -> None:
    core = PartialJson()
    for at in range(0, len(data), 7):
        core.feed(text(data[at : at + 7]))
        core.value()
    core.finish()


def peer(data: bytes) -> None:
    """A conversation: each line is one message."""
    core = jsonrpc.Peer()
    core.request("a")
    for line in data.split(b"\n"):
        core.receive_bytes(line)


def host(data: bytes) -> None:
    core = Host(lambda: ())
    for line in data.split(b"\n"):
        core.receive(line)


def guest(data: bytes) -> None:
    core = Guest(cwd="/", folder="/", pid=1)
    core.initialize()
    for line in data.split(b"\n"):
        core.receive(line)


def stream(data: bytes) -> None:
    markdown.render(text(data))
    core = markdown.MarkdownStream()
    for at in range(0, len(data), 11):
        core.feed(text(data[at : at + 11]))
    core.end()


def log(data: bytes) -> None:
    records, _ = files.decode(data)
    rebuild("00000000-0000-4000-8000-000000000000", records)


RPC = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
CALL = b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"openDiff","arguments":{"tab_name":"a"}}}\n'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}\n'
EVENTS = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
    b'"model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use",'
    b'"id":"t","name":"Read","input":{}}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",'
    b'"partial_json":"{\\"a\\":1"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
)
CHAT = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\ndata: [DONE]\n\n'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\nabc"
RECORD = (
    b'{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z",'
    b'"message":{"role":"user","content":"hi"}}\n'
)
BODY = json.dumps({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}).encode()
PATCH = b"*** Begin Patch\n*** Update File: a\n@@ x\n-a\n+b\n*** End Patch\n"
UNIFIED = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"

DO = b'{"line":"do","command":{"command":"Prompt","content":[{"type":"text","text":"x"},{"type":"odd"}]}}'
TOLD = b'{"line":"told","event":{"event":"PromptAdded","id":"p","content":[{"type":"text","text":"x"},{"type":"odd"}]}}'

TARGETS = (
    Target("jsonl", lambda d: in_pieces(jsonl.JsonLines, d), seeds=(RPC + ANSWER,)),
    Target("sse", lambda d: in_pieces(sse.SseDecoder, d), seeds=(EVENTS,)),
    Target("host line", session_lines.decode_host_line, seeds=(DO, b'{"line":"answered","id":1,"value":{}}')),
    Target("session line", session_lines.decode_session_line, seeds=(TOLD, b'{"line":"withdrawn","id":1}')),
    Target("jsonrpc", peer, seeds=(RPC + ANSWER + CALL,)),
    Target("partial_json", partial, (RemoteProtocolError, ValueError), (b'{"a": [1, "\\u00e9", {"b": nul',)),
    Target("payloads", lambda d: in_pieces(payloads.PayloadDecoder, d), seeds=(b'data: {"bytes":"e30="}\n\n',)),
    Target("http head", lambda d: http_head.HeadDecoder(max_size=4096).feed(d), seeds=(HEAD,)),
    Target("chunked body", lambda d: in_pieces(http_body.ChunkedBody, d), seeds=(b"5\r\nhello\r\n0\r\n\r\n",)),
    Target("lsp", lambda d: in_pieces(lsp.Framing, d), seeds=(b"Content-Length: 2\r\n\r\n{}",)),
    Target("msgpack", lambda d: in_pieces(msgpack_rpc.MsgpackPeer, d), seeds=(b"\x94\x00\x01\xa1a\x90",)),
    Target("anthropic stream", lambda d: in_pieces(MessagesDecoder, d), (), (EVENTS,)),
    Target("chat stream", lambda d: in_pieces(ChatDecoder, d), (), (CHAT,)),
    Target("anthropic request", lambda d: anthropic_server.decode_request(d), seeds=(BODY,)),
    Target("chat request", lambda d: openai_server.decode_request(d), seeds=(BODY,)),
    Target("acp frame", lambda d: frames.decode(d), seeds=(RPC, ANSWER)),
    Target("ide host", host, seeds=(RPC + CALL,)),
    Target("ide guest", guest, seeds=(ANSWER + CALL,)),
    Target("ide lock", lambda d: lock.decode_lock("1234.lock", d), (), (b'{"pid":1,"workspaceFolders":["/a"]}',)),
    Target("uri", lambda d: uris.to_path(text(d)), (), (b"file:///a%20b",)),
    Target("front matter", lambda d: frontmatter.split(text(d)), (), (b"---\nname: x\ntools: [a, b]\n---\nbody",)),
    Target("session log", log, (), (RECORD * 3,)),
    Target("rule", lambda d: rules.parse(text(d)), (WeftError,), (b"Bash(git log:*)", b"Read(~/.ssh/**)")),
    Target("rules", lambda d: rules.split(text(d)), (WeftError,), (b"Bash(a,b),Read Edit(x)",)),
    Target("shell line", lambda d: shell.analyse(text(d)), (), (b"git log --grep=$(x) | sh; cat <<E\nx\nE\n",)),
    Target("patch", lambda d: patch.parse_patch(text(d)), (WeftError,), (PATCH, UNIFIED)),
    Target("markdown", stream, (), (b"# a\n\n```py\nx = 1\n```\n\n- [a](javascript:x)\n",)),
)

_TOKENS = (
    *(b'"', b"{", b"}", b"[", b"]", b"\\", b"\n", b"\r\n", b"\0", b"\xff", b"null", b"1e999", b"-0", b"\\ud800"),
    *(b'"id":', b'"method":', b'"result":', b'"error":', b'"params":', b'"type":', b"data:", b"event:", b":", b"$("),
    *(b"```", b"---\n", b"<<E", b"'", b"%00", b"\xe2\x80\xa8", b"\xf0\x9f\x92\xa9", b"9" * 30, b"[" * 200),
)


def mutate(seed: bytes, chance: Random) -> bytes:
    """The seed with a few pieces cut, doubled, swapped or replaced."""
    data = bytearray(seed)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            data[at:at] = chance.choice(_TOKENS)
        elif kind == 1:
            del data[at : at + chance.randrange(1, 12)]
        elif kind == 2:
            data[at:at] = data[at : at + chance.randrange(1, 60)]
        elif kind == 3 and at < len(data):
            data[at] = chance.randrange(256)
        else:
            data[at : at + 3] = chance.randbytes(chance.randrange(6))
    return bytes(data)
