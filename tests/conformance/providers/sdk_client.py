"""Runs inside the official SDKs' own environment: asks a server, prints what the SDK understood as JSON."""

import json
import sys

PROMPT = [{"role": "user", "content": "go"}]


def ask_anthropic(url: str) -> dict[str, object]:
    import anthropic
    import httpx2

    client = anthropic.Anthropic(api_key="sk-fake", base_url=url, max_retries=0)
    tools = [{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}]
    events: list[str] = []
    with client.messages.stream(model="claude-sonnet-4-5", max_tokens=1000, messages=PROMPT, tools=tools) as stream:
        for event in stream:
            events.append(event.type)
        streamed = stream.get_final_message()
    whole = client.messages.create(model="claude-sonnet-4-5", max_tokens=1000, messages=PROMPT)
    errors: list[list[object]] = []
    for _ in range(3):
        try:
            client.messages.create(model="claude-sonnet-4-5", max_tokens=1000, messages=PROMPT)
        except anthropic.APIStatusError as error:
            errors.append([type(error).__name__, error.status_code, str(error.body["error"]["type"])])
    cut = ""
    try:
        with client.messages.stream(model="claude-sonnet-4-5", max_tokens=1000, messages=PROMPT) as stream:
            stream.get_final_message()
    except httpx2.TransportError as error:
        cut = type(error).__name__
    return {
        "streamed": json.loads(streamed.model_dump_json(exclude_none=True)),
        "whole": json.loads(whole.model_dump_json(exclude_none=True)),
        "events": sorted(set(events)),
        "errors": errors,
        "cut": cut,
    }


def ask_openai(url: str) -> dict[str, object]:
    import openai

    client = openai.OpenAI(api_key="sk-fake", base_url=url + "/v1", max_retries=0)
    text, reasoning, arguments, finish, usage = "", "", {}, None, None
    stream = client.chat.completions.create(
        model="m", messages=PROMPT, stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or ():
                name, so_far = arguments.get(call.index, (call.function.name, ""))
                arguments[call.index] = (name, so_far + (call.function.arguments or ""))
    whole = client.chat.completions.create(model="m", messages=PROMPT)
    errors: list[list[object]] = []
    for _ in range(2):
        try:
            client.chat.completions.create(model="m", messages=PROMPT)
        except openai.APIStatusError as error:
            errors.append([type(error).__name__, error.status_code])
    return {
        "text": text,
        "reasoning": reasoning,
        "calls": list(arguments.values()),
        "finish": finish,
        "usage": [usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens],
        "whole": whole.choices[0].message.content,
        "models": [model.id for model in client.models.list()],
        "errors": errors,
    }


json.dump({"anthropic": ask_anthropic, "openai": ask_openai}[sys.argv[1]](sys.argv[2]), sys.stdout)
