"""Vectors, where the person has an embedding model: what BM25 found is put in order by meaning too.

`plugins.editor-tools.embeddings` in the settings names a function, `module:function`, that takes a list of texts and
returns a list of vectors. Without it nothing here is used.
"""

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final, TypeAlias, cast

import anyio.to_thread
import msgspec

from weft.errors import ToolError
from weft.extend.api import Json
from weft.extend.editor_tools.index.search import Hit

Embed: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]
SHARE: Final = 0.5
"""How much meaning counts beside words."""


def embedder(settings: Json) -> Embed | None:
    """
    Raises:
        ToolError: the function that the settings name cannot be used.
    """
    named = settings.get("embeddings")
    if not isinstance(named, str) or not named:
        return None
    module, _, function = named.partition(":")
    try:
        return cast("Embed", getattr(import_module(module), function))
    except (ImportError, AttributeError, ValueError) as error:
        raise ToolError(f"plugins.editor-tools.embeddings = {named!r} cannot be used: {error}") from error


async def by_meaning(embed: Embed, query: str, hits: Sequence[Hit], texts: Sequence[str]) -> list[Hit]:
    """The same hits, the best first by words and meaning together."""
    if not hits:
        return []
    asked, *found = await anyio.to_thread.run_sync(embed, [query, *texts])
    top = max(hit.score for hit in hits) or 1.0
    scored = [
        msgspec.structs.replace(hit, score=(1 - SHARE) * hit.score / top + SHARE * _cosine(asked, vector))
        for hit, vector in zip(hits, found, strict=True)
    ]
    return sorted(scored, key=lambda hit: -hit.score)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    size = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / size if size else 0.0
