"""Vectors, where an embedding model is installed: what BM25 found is put in order by meaning too.

`plugins.editor-tools.embeddings` in the settings names a function, `module:function`, that takes a list of texts and
returns a list of vectors; `off` uses none. Without the setting, a known model that is installed is used.
"""

import logging
import math
from collections.abc import Sequence
from importlib import import_module
from typing import Final, cast

import anyio.to_thread
import msgspec

from weft.errors import ToolError
from weft.extend.api import Json
from weft.extend.editor_tools.index.embeddings import KNOWN, Embed, installed
from weft.extend.editor_tools.index.search import Hit

log = logging.getLogger(__name__)

SHARE: Final = 0.15
"""How much meaning counts beside words. More made the labelled questions worse, with the models that were tried."""


def embedder(settings: Json) -> Embed | None:
    """What turns texts into vectors. May load a model: not for the event loop.

    Raises:
        ToolError: the function that the settings name cannot be used.
    """
    named = settings.get("embeddings")
    if named == "off":
        return None
    if not isinstance(named, str) or not named:
        try:
            return installed()
        except Exception:  # the boundary to other people's packages: a search goes on without them
            log.warning("an embedding model (%s) is installed and cannot be loaded", ", ".join(KNOWN), exc_info=True)
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
    found = sum(a * b for a, b in zip(one, other, strict=True)) / size if size else 0.0
    return found if math.isfinite(found) else 0.0
