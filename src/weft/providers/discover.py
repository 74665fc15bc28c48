"""Model servers on this machine, found by asking where they usually listen."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

import anyio
import msgspec

from weft.errors import TransportError
from weft.protocols.openai_chat import Constraint
from weft.schema.content import Json
from weft.transports.http import HttpClient, HttpLimits

LIMIT: Final = 1.0
"""Seconds for all of it. Nothing listening answers at once."""
_MAX_ASKED: Final = 12
_MAX_BODY: Final = 4 * 1024 * 1024


class LocalModel(msgspec.Struct, frozen=True, kw_only=True):
    """What the server says of a model; 0 and None where it says nothing."""

    id: str
    context_window: int = 0
    tools: bool | None = None
    images: bool | None = None
    loaded: bool | None = None
    parameters: int = 0
    """How many weights it has."""


class LocalServer(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    url: str
    """Its origin, without `/v1`."""
    models: tuple[LocalModel, ...] = ()
    constraint: Constraint = "json_schema"
    """How its answers are made to fit a schema."""


class Place(msgspec.Struct, frozen=True):
    name: str
    url: str


PLACES: Final = (
    Place("ollama", "http://127.0.0.1:11434"),
    Place("lmstudio", "http://127.0.0.1:1234"),
    Place("llamacpp", "http://127.0.0.1:8080"),
    Place("vllm", "http://127.0.0.1:8000"),
    Place("gpt4all", "http://127.0.0.1:4891"),
)


def places(env: Mapping[str, str]) -> tuple[Place, ...]:
    """Where to look. `OLLAMA_HOST` moves Ollama's."""
    host = env.get("OLLAMA_HOST", "").strip().rstrip("/")
    if not host:
        return PLACES
    host = host.replace("0.0.0.0", "127.0.0.1")
    url = host if "://" in host else f"http://{host}"
    if url.count(":") < 2:
        url += ":11434"
    return (Place("ollama", url), *PLACES[1:])


async def discover(
    env: Mapping[str, str] | None = None, *, where: Sequence[Place] | None = None, limit: float = LIMIT
) -> tuple[LocalServer, ...]:
    """The servers that answer with a list of models, in the order of `PLACES`. Never raises."""
    asked = tuple(where) if where is not None else places(env or {})
    found: dict[str, LocalServer] = {}

    async def ask(place: Place) -> None:
        server = await _ask(client, place)
        if server is not None:
            found[place.url] = server

    async with HttpClient(limits=HttpLimits(connect=limit, first_byte=limit, idle=limit)) as client:
        with anyio.move_on_after(limit):
            async with anyio.create_task_group() as tasks:
                for place in asked:
                    tasks.start_soon(ask, place)
    return tuple(found[place.url] for place in asked if place.url in found)


async def _ask(client: HttpClient, place: Place) -> LocalServer | None:
    rows = _rows(await _get(client, f"{place.url}/v1/models"))
    if rows is None:
        return None
    models = [_model(row) for row in rows if isinstance(row.get("id"), str)]
    constraint: Constraint = "json_schema"
    if place.name == "ollama":
        models = await _ask_ollama(client, place, models)
    elif place.name == "lmstudio":
        more = _rows(await _get(client, f"{place.url}/api/v0/models")) or []
        models = [_with_lmstudio(model, more) for model in models]
    elif place.name == "vllm":
        constraint = _vllm_constraint(await _get(client, f"{place.url}/version"))
    elif place.name == "llamacpp":
        constraint = "grammar"
        window = _llamacpp_window(await _get(client, f"{place.url}/props"))
        models = [msgspec.structs.replace(model, context_window=window or model.context_window) for model in models]
    # Embedding models cannot talk.
    talking = tuple(model for model in models if "embed" not in model.id.lower())
    return LocalServer(name=place.name, url=place.url, models=talking, constraint=constraint)


async def _get(client: HttpClient, url: str, body: bytes = b"") -> object:
    try:
        headers = {"content-type": "application/json"} if body else {}
        async with await client.send("POST" if body else "GET", url, headers, body) as response:
            data = await response.read(_MAX_BODY)
            return cast(object, msgspec.json.decode(data)) if response.status == 200 else None
    except (TransportError, msgspec.DecodeError, UnicodeError):
        return None


def _rows(value: object) -> list[Json] | None:
    data = cast(Json, value).get("data") if isinstance(value, dict) else None
    if not isinstance(data, list):
        return None
    return [cast(Json, row) for row in cast(list[object], data) if isinstance(row, dict)]


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _model(row: Json) -> LocalModel:
    """vLLM says `max_model_len`, llama.cpp `meta.n_ctx`, OpenRouter and others `context_length`."""
    meta = row.get("meta")
    inner = cast(Json, meta) if isinstance(meta, dict) else {}
    places = (row.get("max_model_len"), row.get("context_length"), inner.get("n_ctx"), inner.get("n_ctx_train"))
    return LocalModel(
        id=str(row["id"]),
        context_window=next((n for v in places if (n := _number(v))), 0),
        parameters=_number(inner.get("n_params")),
    )


async def _ask_ollama(client: HttpClient, place: Place, models: list[LocalModel]) -> list[LocalModel]:
    more: dict[str, Json] = {}

    async def show(model: LocalModel) -> None:
        value = await _get(client, f"{place.url}/api/show", msgspec.json.encode({"model": model.id}))
        if isinstance(value, dict):
            more[model.id] = cast(Json, value)

    async with anyio.create_task_group() as tasks:
        for model in models[:_MAX_ASKED]:
            tasks.start_soon(show, model)
    return [_with_ollama(model, more[model.id]) if model.id in more else model for model in models]


def _with_ollama(model: LocalModel, shown: Json) -> LocalModel:
    info, abilities = shown.get("model_info"), shown.get("capabilities")
    window = 0
    if isinstance(info, dict):
        window = next((_number(v) for k, v in cast(Json, info).items() if k.endswith(".context_length")), 0)
    details = shown.get("details")
    size = _parameters(cast(Json, details).get("parameter_size")) if isinstance(details, dict) else 0
    model = msgspec.structs.replace(model, context_window=window, parameters=size or model.parameters)
    if not isinstance(abilities, list):
        return model
    return msgspec.structs.replace(model, tools="tools" in abilities, images="vision" in abilities)


def _parameters(size: object) -> int:
    """`1.5B` and `134.52M` as Ollama writes them."""
    found = re.fullmatch(r"([\d.]+)([MB])", size) if isinstance(size, str) else None
    return int(float(found[1]) * (1e9 if found[2] == "B" else 1e6)) if found else 0


def _vllm_constraint(answer: object) -> Constraint:
    """Guided decoding got its new name in 0.12, and the old one went with it."""
    version = cast(Json, answer).get("version") if isinstance(answer, dict) else None
    found = re.match(r"(\d+)\.(\d+)", version) if isinstance(version, str) else None
    if found is None:
        return "json_schema"
    return "structured_outputs" if (int(found[1]), int(found[2])) >= (0, 12) else "guided_json"


def _with_lmstudio(model: LocalModel, rows: list[Json]) -> LocalModel:
    row = next((row for row in rows if row.get("id") == model.id), None)
    if row is None:
        return model
    abilities = row.get("capabilities")
    window = _number(row.get("loaded_context_length")) or _number(row.get("max_context_length"))
    return msgspec.structs.replace(
        model,
        context_window=window,
        images=row.get("type") == "vlm",
        tools="tool_use" in abilities if isinstance(abilities, list) else None,
        loaded=row.get("state") == "loaded",
    )


def _llamacpp_window(props: object) -> int:
    settings = cast(Json, props).get("default_generation_settings") if isinstance(props, dict) else None
    return _number(cast(Json, settings).get("n_ctx")) if isinstance(settings, dict) else 0
