"""The catalogue: every sentence of the terminal has its Chinese, and no Chinese has lost its sentence."""

import ast
import string
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import weft.surfaces.terminal as room
from weft.permissions.modes import MEANING
from weft.schema.events import ServerInfo
from weft.surfaces.terminal import words
from weft.surfaces.terminal.asks.permission import TITLES, WHERE
from weft.surfaces.terminal.completion import NOTES
from weft.surfaces.terminal.screens.choices import THEMES, THINKING
from weft.surfaces.terminal.screens.commands import TABLE
from weft.surfaces.terminal.screens.help import KEYS
from weft.surfaces.terminal.screens.settings import OWN
from weft.surfaces.terminal.status import MODES
from weft.surfaces.terminal.transcript import TIPS
from weft.surfaces.terminal.words_zh import WORDS


def spoken() -> Iterator[str]:
    """The sentences in calls of `t`, and those that reach it from a table."""
    assert room.__file__ is not None
    for path in Path(room.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "t" and node.args:
                if isinstance(node.args[0], ast.Constant):
                    yield str(node.args[0].value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "title":
                yield from (str(each.value) for each in node.args if isinstance(each, ast.Constant))
    yield from TITLES.values()
    yield from (where for where in WHERE.values() if not where.startswith("."))
    yield from (detail for _, detail in NOTES)
    yield from (text for _, text in (*KEYS, *TIPS))
    yield from (description for _, _, description in TABLE.values())
    yield from (*MODES.values(), *MEANING.values(), *THEMES, *THEMES.values(), *THINKING)
    yield from (detail for _, detail in THINKING.values())
    yield from (setting.description for setting in OWN)
    yield from get_args(ServerInfo.__annotations__["state"])


def test_every_sentence_has_its_chinese() -> None:
    assert sorted(set(spoken()) - set(WORDS)) == []


def test_the_places_for_values_are_the_same() -> None:
    def places(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    assert [key for key, text in WORDS.items() if places(key) != places(text)] == []


def test_the_language_is_that_of_the_locale() -> None:
    assert words.language_of({"LANG": "zh_CN.UTF-8"}) == "zh"
    assert words.language_of({"LANG": "en_US.UTF-8"}) == "en"
    assert words.language_of({"WEFT_LANG": "zh", "LANG": "en_US"}) == "zh"
    assert words.language_of({}) == "en"


def test_words_are_said_in_the_language_chosen() -> None:
    words.use_language("zh")
    try:
        assert words.t("{n} waiting", n=2) == "2 条排队"
        assert words.t("no such key") == "no such key"
    finally:
        words.use_language("en")
    assert words.t("{n} waiting", n=2) == "2 waiting"
