"""The fakes as processes of their own: what people who build on Weft use from any language."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from weft.providers.resolve import resolve
from weft.schema.content import Text
from weft.schema.messages import Message, Request
from weft.schema.stream import Retry, StreamDone, StreamFailed


@pytest.mark.parametrize("module", ["fake_anthropic", "fake_openai"])
async def test_a_script_file_is_played_over_the_real_wire(module: str, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}}
    script.write_text(
        json.dumps(
            [
                {"status": 529, "error": "overloaded", "headers": {"retry-after": "0"}},
                {"text": "Hello", "blocks": [use], "piece": 2, "usage": {"input_tokens": 3, "output_tokens": 4}},
                {"status": 400, "error": "invalid_request", "message": "no"},
            ]
        )
    )
    command = [sys.executable, "-m", f"weft.testing.{module}", "--script", str(script)]
    with anyio.fail_after(60):
        async with await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=None) as server:
            try:
                assert server.stdout is not None
                url = (await server.stdout.receive()).decode().strip()
                wanted, env = (
                    ("sonnet", {"ANTHROPIC_BASE_URL": url})
                    if module == "fake_anthropic"
                    else ("m", {"OPENAI_BASE_URL": url})
                )
                found = await resolve(wanted, env=env)
                request = Request(found.model, (Message("user", (Text("hi"),)),))
                first = [event async for event in found.provider.stream(request)]
                second = [event async for event in found.provider.stream(request)]
                await found.provider.aclose()
            finally:
                server.terminate()
    assert isinstance(first[0], Retry) and first[0].delay == 0.0
    done, failed = first[-1], second[-1]
    assert isinstance(done, StreamDone)
    assert done.reply.text == "Hello" and done.reply.tool_uses[0].input == {"path": "a"}
    assert done.reply.usage.input_tokens == 3
    assert isinstance(failed, StreamFailed) and failed.message == "no"
