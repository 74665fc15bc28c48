"""The code index: how files are cut, what is found, and that it follows the disk."""

import os
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

from weft.errors import ToolError
from weft.extend.editor_tools.index import grammars, indexer
from weft.extend.editor_tools.index.chunks import cut
from weft.extend.editor_tools.index.embeddings import KNOWN, installed
from weft.extend.editor_tools.index.search import Hit, definitions, find_symbols, search
from weft.extend.editor_tools.index.store import Store, open_readable
from weft.extend.editor_tools.index.vectors import by_meaning, embedder
from weft.extend.editor_tools.index.words import apart, names, question

WORDLLAMA = """
from pathlib import Path

class Vectors(list):
    def tolist(self):
        return list(self)

class WordLlama:
    @classmethod
    def load(cls, cache_dir, disable_download):
        assert disable_download and Path(cache_dir) == Path(__file__).parent
        return cls()

    def embed(self, texts):
        return Vectors([[float(text.count("cat")), 0.1] for text in texts])
"""
SOURCES = {
    "a.py": (
        b"import os\n\nclass Server:\n    def start(self):\n        pass\n\n    async def stop(self): ...\n\n"
        b"@cache\ndef helper(): ...\n",
        {("Server", "class", ""), ("start", "method", "Server"), ("stop", "method", "Server"),
         ("helper", "function", "")},
    ),
    "a.ts": (
        b"export interface Shape { area(): number }\nexport class Box {\n  open() {}\n}\nexport function go() {}\n"
        b"export const later = async () => {\n  await go();\n  return 1;\n};\nenum Kind { A }\n",
        {("Shape", "interface", ""), ("Box", "class", ""), ("open", "method", "Box"), ("go", "function", ""),
         ("later", "variable", ""), ("Kind", "enum", "")},
    ),
    "a.js": (
        b"class A {\n  run() {}\n}\nfunction f() {}\n",
        {("A", "class", ""), ("run", "method", "A"), ("f", "function", "")},
    ),
    "a.go": (
        b"package m\n\ntype Point struct { X int }\n\nfunc (p Point) Norm() int { return 1 }\n\nfunc Main() {}\n",
        {("Point", "type", ""), ("Norm", "method", ""), ("Main", "function", "")},
    ),
    "a.rs": (
        b"pub struct S;\nimpl S {\n    pub fn new() -> S { S }\n}\npub trait T { fn t(&self); }\nfn main() {}\n",
        {("S", "struct", ""), ("S", "impl", ""), ("new", "method", "S"), ("T", "trait", ""), ("main", "function", "")},
    ),
    "a.rb": (b"class Dog\n  def bark\n  end\nend\n", {("Dog", "class", ""), ("bark", "function", "")}),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_definitions_are_found_in_each_language(name: str) -> None:
    data, expected = SOURCES[name]
    made = cut(data, name)
    assert made is not None
    assert {(one.name, one.kind, one.container) for one in made.symbols} == expected


@pytest.mark.parametrize("name", SOURCES)
def test_every_line_is_in_exactly_one_piece(name: str) -> None:
    made = cut(SOURCES[name][0] * 30, name)
    assert made is not None
    lines = [line for chunk in made.chunks for line in range(chunk.start, chunk.end + 1)]
    assert lines == list(range(1, len(made.lines) + 1))


def test_without_a_grammar_patterns_find_the_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammars, "parser", lambda language: None)
    made = cut(SOURCES["a.py"][0], "a.py")
    assert made is not None
    assert [one.name for one in made.symbols] == ["Server", "start", "stop", "helper"]


@pytest.mark.parametrize("data", [b"\0binary", b"x" * 2_000_000, b"a" * 30_000])
def test_what_is_no_source_is_not_indexed(data: bytes) -> None:
    assert cut(data, "a.py") is None


def test_identifiers_are_taken_apart() -> None:
    assert apart("HTTPServer.getURLFor") == "HTTP Server.get URL For"
    assert question("How do I parse the HTTPHeader of a_request?") == ["parse", "http", "header", "request"]
    assert question("to be") == ["to", "be"]


def test_names_of_several_words_are_seen_in_a_question() -> None:
    asked = "Let `lru_cache` and HTTPServer.stop() take --base-uri"
    assert names(asked) == [["lru", "cache"], ["http", "server", "stop"], ["http", "server"], ["base", "uri"]]
    assert names("how are letters sent?") == []


def test_a_name_that_stands_as_a_whole_counts_more_than_its_words(tmp_path: Path) -> None:
    store = Store(tmp_path / "index.db")
    store.put("words.py", (0, 0), cut(b"# a cache\n\n# an lru\n", "words.py"))
    store.put("name.py", (0, 0), cut(b"z = wrap(lru_cache)\n# much else\n", "name.py"))
    for number in range(20):
        store.put(f"other{number}.py", (0, 0), cut(b"x = 1\n", "other.py"))
    store.finish()
    store.close()
    assert found(tmp_path / "index.db", "lru_cache")[0] == "name.py"


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[tuple[Path, Store, Path]]:
    root = tmp_path / "tree"
    (root / "web").mkdir(parents=True)
    (root / "web" / "cookies.py").write_text('def readSessionCookie(header):\n    """Parses the cookie header."""\n')
    (root / "mail.py").write_text('class Mailer:\n    def send(self):\n        """Delivers a letter to a person."""\n')
    (root / ".gitignore").write_text("built/\n")
    (root / "built").mkdir()
    (root / "built" / "x.py").write_text("def cookie(): ...\n")
    file = tmp_path / "index.db"
    store = Store(file)
    yield root, store, file
    store.close()


def found(file: Path, text: str) -> list[str]:
    db = open_readable(file)
    assert db is not None
    try:
        return [hit.path for hit in search(db, text)]
    finally:
        db.close()


def test_a_question_finds_the_file_that_answers_it(
    tree: tuple[Path, Store, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root, store, file = tree
    assert indexer.build(root, store) == 2, "what is ignored is left out"
    assert found(file, "where are cookies parsed?") == ["web/cookies.py"]
    assert found(file, "letters delivered to people") == ["mail.py"]
    assert found(file, "nothing like it: zebra") == []
    assert '{"done":0,"total":2}' in capsys.readouterr().out


def test_the_index_follows_the_disk(tree: tuple[Path, Store, Path]) -> None:
    root, store, file = tree
    indexer.build(root, store)
    (root / "mail.py").write_text("def paint():\n    '''Colours the wall.'''\n")
    os.utime(root / "mail.py", ns=(5, 5))
    (root / "new.py").write_text("def sing():\n    '''A melody.'''\n")
    (root / "web" / "cookies.py").unlink()
    (root / "built" / "y.py").write_text("def melody(): ...\n")
    changed = ["mail.py", "new.py", "web/cookies.py", "built/y.py", "unknown.bin"]
    assert indexer.update(root, changed, store) == 3
    assert found(file, "colour of walls") == ["mail.py"]
    assert found(file, "melody") == ["new.py"]
    assert found(file, "cookie") == [] and found(file, "letter") == []
    assert indexer.update(root, changed, store) == 0


def test_a_second_build_looks_only_at_what_changed(
    tree: tuple[Path, Store, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, store, _ = tree
    indexer.build(root, store)
    monkeypatch.setattr(indexer, "cut", lambda data, path: pytest.fail(path))
    assert indexer.build(root, store) == 2


def test_symbols_are_found_by_name_part_and_letters(tree: tuple[Path, Store, Path]) -> None:
    root, store, file = tree
    indexer.build(root, store)
    db = open_readable(file)
    assert db is not None
    for query in ("readSessionCookie", "readsession", "Cookie", "rsc"):
        assert find_symbols(db, query)[0].name == "readSessionCookie", query
    assert find_symbols(db, "Mailer.send")[0].container == "Mailer"
    assert find_symbols(db, "100%") == [] == find_symbols(db, " ")
    assert [hit.path for hit in definitions(db, "send")] == ["mail.py"] and definitions(db, "SEND") == []
    db.close()


def by_length(texts: list[str]) -> list[list[float]]:
    """An embedding of one idea: how much a text is about cats."""
    return [[float("cat" in text or "kitten" in text), 1.0] for text in texts]


@pytest.fixture
def no_model() -> Iterator[None]:
    """Which model is installed is asked anew, before and after."""
    installed.cache_clear()
    yield
    installed.cache_clear()
    for name in KNOWN:
        sys.modules.pop(name, None)


async def test_an_installed_model_is_found_by_itself_and_loaded_from_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_model: None
) -> None:
    (tmp_path / "wordllama").mkdir()
    (tmp_path / "wordllama" / "__init__.py").write_text(WORDLLAMA)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    invalidate_caches()
    embed = embedder({})
    assert embed is not None
    hits = [Hit("a.py", 1, 2, 1.0), Hit("b.py", 1, 2, 0.99)]
    assert [hit.path for hit in await by_meaning(embed, "a cat", hits, ["def dog", "def cat"])] == ["b.py", "a.py"]


def test_a_model_that_cannot_be_loaded_leaves_the_search_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_model: None, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "wordllama").mkdir()
    (tmp_path / "wordllama" / "__init__.py").write_text("raise RuntimeError('no weights')\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    invalidate_caches()
    assert embedder({}) is None
    assert "cannot be loaded" in caplog.text


async def test_with_an_embedding_model_meaning_counts_too() -> None:
    hits = [Hit("dog.py", 1, 2, 10.0), Hit("kitten.py", 1, 2, 9.9)]
    embed = embedder({"embeddings": f"{__name__}:by_length"})
    assert embed is not None and embedder({"embeddings": "off"}) is None
    found = await by_meaning(embed, "a cat", hits, ["def dog", "def kitten"])
    assert [hit.path for hit in found] == ["kitten.py", "dog.py"]
    assert await by_meaning(embed, "a cat", [], []) == []
    with pytest.raises(ToolError, match="cannot be used"):
        embedder({"embeddings": "nowhere_at_all:f"})


def test_a_file_of_another_format_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "index.db"
    file.write_bytes(b"not a database at all" * 100)
    assert open_readable(file) is None
    Store(file).close()
    db = open_readable(file)
    assert db is not None
    db.close()
