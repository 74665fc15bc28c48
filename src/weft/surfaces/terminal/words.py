"""The words of the terminal in the person's language. English is the key; what has no translation stays English."""

from collections.abc import Mapping

_catalogue: Mapping[str, str] = {}


def language_of(env: Mapping[str, str]) -> str:
    """`WEFT_LANG`, else the locale: `zh` for Chinese, otherwise `en`."""
    for name in ("WEFT_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if env.get(name):
            return "zh" if env[name].lower().startswith("zh") else "en"
    return "en"


def use_language(language: str) -> None:
    global _catalogue
    if language == "zh":
        from weft.surfaces.terminal.words_zh import WORDS

        _catalogue = WORDS
    else:
        _catalogue = {}


def t(text: str, /, **values: object) -> str:
    found = _catalogue.get(text, text)
    return found.format(**values) if values else found
