"""One scripted model for every agent in a bench: no latency, four wire formats, on 127.0.0.1.

A prompt with `STEPS n` makes it call the agent's shell tool n times (`echo step 1`, `echo step 2`, …), each after the
result of the one before; then it says `Done.` Requests without tools (titles, summaries) get a short text. It answers
Anthropic messages, OpenAI chat and responses, and Gemini. mini-swe-agent ends when its own closing command is run, so
the script runs it where the prompt names it.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHELL = (
    *("Bash", "bash", "run_shell_command", "exec_command", "shell", "shell_command", "local_shell", "Shell"),
    *("terminal", "execute_command", "run_command"),
)
CLOSING = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
USAGE = {"input_tokens": 10, "output_tokens": 5}


class Seen:
    """What a request of any dialect says: its user texts, its tools' schemas, and how many results it holds."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.tools: dict[str, dict[str, Any]] = {}
        self.results = 0

    def call(self) -> tuple[str, dict[str, Any]] | None:
        """The next tool call of the script, if there is one to make."""
        wanted = max((int(n) for text in self.texts for n in re.findall(r"STEPS (\d+)", text)), default=0)
        name = next((n for n in SHELL if n in self.tools), None)
        if name is not None and self.results >= wanted and any(CLOSING in text for text in self.texts):
            return name, self._arguments(self.tools[name], f"echo {CLOSING}")
        if name is None or self.results >= wanted:
            return None
        return name, self._arguments(self.tools[name], f"echo step {self.results + 1}")

    def _arguments(self, schema: dict[str, Any], command: str) -> dict[str, Any]:
        properties: dict[str, Any] = schema.get("properties", {})
        filled: dict[str, Any] = {}
        for key, kind in properties.items():
            if key in ("command", "cmd"):
                filled[key] = ["bash", "-c", command] if kind.get("type") == "array" else command
            elif key in schema.get("required", ()):
                plain = {"string": "step", "boolean": False, "number": 60000, "integer": 60000, "array": []}
                filled[key] = kind["enum"][0] if "enum" in kind else plain.get(str(kind.get("type")), "step")
        return filled


def flat(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(flat(part) for part in content)
    if isinstance(content, dict):
        return next((flat(content[key]) for key in ("text", "content", "output") if key in content), "")
    return content if isinstance(content, str) else ""


def event(name: str, value: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()


def data(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def read_messages(body: dict[str, Any]) -> Seen:
    seen = Seen()
    for message in body.get("messages", ()):
        blocks = message["content"] if isinstance(message["content"], list) else [message["content"]]
        seen.results += sum(1 for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result")
        if message["role"] == "user":
            seen.texts.append(flat(message["content"]))
    seen.tools = {t["name"]: t.get("input_schema", {}) for t in body.get("tools") or () if "name" in t}
    return seen


def write_messages(body: dict[str, Any], seen: Seen) -> bytes:
    call = seen.call()
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "stop_sequence": None}
    block: dict[str, Any] = {"type": "text", "text": "Done."}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{seen.results}", "name": call[0], "input": call[1]}
    stop = "tool_use" if call else "end_turn"
    if not body.get("stream"):
        return json.dumps({**reply, "content": [block], "stop_reason": stop, "usage": USAGE}).encode()
    text = json.dumps(call[1]) if call else "Done."
    delta = {"type": "input_json_delta", "partial_json": text} if call else {"type": "text_delta", "text": text}
    start = {**block, "input": {}} if call else {"type": "text", "text": ""}
    frames: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": {**reply, "content": [], "stop_reason": None, "usage": USAGE}}),
        ("content_block_start", {"index": 0, "content_block": start}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": USAGE}),
        ("message_stop", {}),
    ]
    return b"".join(event(name, {"type": name, **value}) for name, value in frames)


def read_chat(body: dict[str, Any]) -> Seen:
    seen = Seen()
    for message in body.get("messages", ()):
        seen.results += message["role"] == "tool"
        if message["role"] == "user":
            seen.texts.append(flat(message.get("content")))
    for tool in body.get("tools") or ():
        seen.tools[tool["function"]["name"]] = tool["function"].get("parameters", {})
    return seen


def write_chat(body: dict[str, Any], seen: Seen) -> bytes:
    call = seen.call()
    said: dict[str, Any] = {"role": "assistant", "content": "Done."}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        used = {"index": 0, "id": f"call_{seen.results}", "type": "function", "function": function}
        said = {"role": "assistant", "content": None, "tool_calls": [used]}
    reason = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    head = {"id": "chatcmpl-1", "created": 1, "model": body.get("model")}
    if not body.get("stream"):
        choice = {"index": 0, "message": said, "finish_reason": reason}
        return json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    head["object"] = "chat.completion.chunk"
    first = {**head, "choices": [{"index": 0, "delta": said, "finish_reason": None}]}
    last = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
    return data(first) + data(last) + b"data: [DONE]\n\n"


def read_responses(body: dict[str, Any]) -> Seen:
    seen = Seen()
    items = body.get("input", ())
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        seen.results += str(item.get("type", "")).endswith("_output")
        if item.get("role") == "user":
            seen.texts.append(flat(item.get("content")))
    seen.tools = {t["name"]: t.get("parameters", {}) for t in body.get("tools") or () if t.get("name")}
    return seen


def write_responses(body: dict[str, Any], seen: Seen) -> bytes:
    call = seen.call()
    text = {"type": "output_text", "text": "Done.", "annotations": []}
    item: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    item["content"] = [text]
    if call:
        item = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": f"call_{seen.results}"}
        item |= {"name": call[0], "arguments": json.dumps(call[1])}
    tokens = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    done = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body.get("model")}
    done |= {"output": [item], "usage": {**USAGE, "total_tokens": 15, **tokens}, "tools": [], "tool_choice": "auto"}
    if not body.get("stream"):
        return json.dumps(done).encode()
    empty = {"arguments": ""} if call else {"content": []}
    frames: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": {**done, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress", **empty}}),
    ]
    if not call:
        place = {"output_index": 0, "content_index": 0, "item_id": "msg_1"}
        frames.append(("response.content_part.added", {**place, "part": {**text, "text": ""}}))
        frames.append(("response.output_text.delta", {**place, "delta": "Done."}))
    frames.append(("response.output_item.done", {"output_index": 0, "item": item}))
    frames.append(("response.completed", {"response": done}))
    return b"".join(event(name, {"type": name, "sequence_number": n, **v}) for n, (name, v) in enumerate(frames))


def read_gemini(body: dict[str, Any]) -> Seen:
    seen = Seen()
    for content in body.get("contents", ()):
        for part in content.get("parts", ()):
            seen.results += "functionResponse" in part
            seen.texts.append(part.get("text", ""))
    for tool in body.get("tools") or ():
        for one in tool.get("functionDeclarations", ()):
            seen.tools[one["name"]] = one.get("parametersJsonSchema") or one.get("parameters", {})
    return seen


def write_gemini(body: dict[str, Any], seen: Seen) -> bytes:
    call = seen.call()
    part: dict[str, Any] = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "Done."}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Model"

    def do_GET(self) -> None:
        self._send(b'{"data": [{"id": "fake-model", "object": "model"}], "models": []}', "application/json")

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        streaming = bool(body.get("stream"))
        if path.endswith("/messages"):
            answer = write_messages(body, self._noted(read_messages(body)))
        elif path.endswith("/chat/completions"):
            answer = write_chat(body, self._noted(read_chat(body)))
        elif path.endswith("/responses"):
            answer = write_responses(body, self._noted(read_responses(body)))
        elif "enerateContent" in path:
            answer = write_gemini(body, self._noted(read_gemini(body)))
            streaming = "streamGenerateContent" in path
            answer = b"data: " + answer + b"\n\n" if streaming else answer
        else:
            answer, streaming = b'{"input_tokens": 10, "totalTokens": 10}', False
        self._send(answer, "text/event-stream" if streaming else "application/json")

    def _noted(self, seen: Seen) -> Seen:
        if any("STEPS" in text for text in seen.texts):
            self.server.asked.append(time.monotonic())
        return seen

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def _send(self, answer: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the bench prints tables."""


class Model(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[float] = []
        """When each request of the measured prompt came, by the monotonic clock."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def model() -> Iterator[Model]:
    with Model() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(5)


if __name__ == "__main__":
    with model() as server:
        print(server.url, flush=True)
        threading.Event().wait()
