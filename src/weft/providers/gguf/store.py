"""The GGUF files of this machine: those that were added, and those in the caches of other programs.

Nothing of a cache is copied or changed. An added file stays where it is; a download lands in `~/.weft/models`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, cast

import msgspec

from weft.errors import UsageError
from weft.paths import user_home
from weft.schema.content import Json

Origin = Literal["added", "ollama", "lmstudio", "huggingface"]
MAGIC: Final = b"GGUF"
_SPLIT: Final = re.compile(r"-(\d{5})-of-\d{5}$")
_MOST: Final = 5000
"""Files looked at in a cache, so that a huge one does not hold up a start."""


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be run. `sha256` is empty where nobody counted it."""

    name: str
    path: str
    origin: Origin = "added"
    sha256: str = ""
    size: int = 0


class Store:
    """`home` is Weft's own; `env` says where the others are."""

    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        self.folder = home / "models"
        self.run_folder = home / "run"
        self._index = self.folder / "models.json"
        self._env = env

    def added(self) -> dict[str, Weights]:
        try:
            found = msgspec.json.decode(self._index.read_bytes(), type=list[Weights])
        except (OSError, msgspec.MsgspecError, UnicodeError):
            return {}
        return {one.name: one for one in found}

    def all(self) -> dict[str, Weights]:
        """Those that were added first; of two with the same name the first is meant."""
        found = {name: one for name, one in self.added().items() if Path(one.path).is_file()}
        for one in (*self._ollama(), *self._lmstudio(), *self._huggingface()):
            if not any(Path(one.path).samefile(other.path) for other in found.values()):
                found.setdefault(one.name, one)
        return found

    def get(self, name: str) -> Weights:
        """
        Raises:
            UsageError: there is none; the hint names those that are there.
        """
        models = self.all()
        if name in models:
            return models[name]
        path = Path(name).expanduser()
        if name.endswith(".gguf") and path.is_file():
            return Weights(name=path.stem, path=str(path.resolve()), size=path.stat().st_size)
        known = ", ".join(models) or "none yet; weft model add brings one"
        raise UsageError(f"there is no local model {name!r}", hint=f"There are: {known}.")

    def add(self, weights: Weights) -> None:
        self._write({**self.added(), weights.name: weights})

    def forget(self, name: str) -> Weights | None:
        """Takes it off the list. A file that was downloaded is deleted; one that only was named stays."""
        models = self.added()
        gone = models.pop(name, None)
        if gone is not None:
            self._write(models)
            path = Path(gone.path)
            if path.parent == self.folder:
                path.unlink(missing_ok=True)
        return gone

    def _write(self, models: Mapping[str, Weights]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self._index.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(list(models.values())), indent=2))
        fresh.replace(self._index)

    # --- the caches of others ------------------------------------------------------------------------------------

    def _ollama(self) -> Iterator[Weights]:
        """`manifests/<registry>/<owner>/<model>/<tag>` names the blob that has the weights."""
        root = Path(self._env.get("OLLAMA_MODELS") or user_home(self._env) / ".ollama" / "models")
        for manifest in _files(root / "manifests", "*"):
            digest = _weights_layer(manifest)
            blob = root / "blobs" / digest.replace(":", "-")
            if digest and is_gguf(blob):
                name = f"{manifest.parent.name}-{manifest.name}"
                yield _weights(name, blob, "ollama", digest.removeprefix("sha256:"))

    def _lmstudio(self) -> Iterator[Weights]:
        home = user_home(self._env)
        for root in (home / ".lmstudio" / "models", home / ".cache" / "lm-studio" / "models"):
            for path in _files(root, "*.gguf"):
                if _first_of_many(path) and is_gguf(path):
                    yield _weights(path.stem, path, "lmstudio")

    def _huggingface(self) -> Iterator[Weights]:
        given = self._env.get("HF_HUB_CACHE")
        home = self._env.get("HF_HOME") or str(user_home(self._env) / ".cache" / "huggingface")
        for path in _files(Path(given) if given else Path(home) / "hub", "models--*/snapshots/**/*.gguf", deep=False):
            if _first_of_many(path) and is_gguf(path):
                yield _weights(path.stem, path, "huggingface")


def is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError:
        return False


def _files(root: Path, pattern: str, *, deep: bool = True) -> Iterator[Path]:
    if not root.is_dir():
        return
    for count, path in enumerate(root.rglob(pattern) if deep else root.glob(pattern)):
        if count > _MOST:
            return
        if path.is_file() and "mmproj" not in path.name:
            yield path


def _first_of_many(path: Path) -> bool:
    """Of a model in several files llama.cpp is given the first."""
    found = _SPLIT.search(path.stem)
    return found is None or found[1] == "00001"


def _weights(name: str, path: Path, origin: Origin, sha256: str = "") -> Weights:
    return Weights(name=name, path=str(path), origin=origin, sha256=sha256, size=path.stat().st_size)


def _weights_layer(manifest: Path) -> str:
    try:
        value = cast(object, msgspec.json.decode(manifest.read_bytes()))
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return ""
    layers = cast(Json, value).get("layers") if isinstance(value, dict) else None
    for layer in cast(list[object], layers) if isinstance(layers, list) else []:
        one = cast(Json, layer) if isinstance(layer, dict) else {}
        if one.get("mediaType") == "application/vnd.ollama.image.model":
            digest = str(one.get("digest", ""))
            return digest if re.fullmatch(r"sha256[:-][0-9a-f]{64}", digest) else ""
    return ""
