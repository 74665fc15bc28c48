"""Markdown and code to HTML that is safe to put into a page, whole or while it is being written.

The source is untrusted. Raw HTML in it is text. Images become links, so that nothing is fetched by looking at it.
What comes out is sanitised once more, by another hand (nh3), with a short list of tags.
"""

import html
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

_TAGS: Final = """a blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong sub sup
table tbody td th thead tr ul"""
TAGS: Final = frozenset(_TAGS.split())
ATTRIBUTES: Final = {
    "a": {"href", "title", "class"},
    "code": {"class", "data-language"},
    "div": {"class"},
    "ol": {"start"},
    "pre": {"class"},
    "span": {"class"},
    "td": {"class"},
    "th": {"class"},
}
SCHEMES: Final = {"http", "https", "mailto"}
MOST_COLOURED: Final = 60_000
"""Characters of one piece of code that are given syntax colour; longer ones stay plain, in linear time."""
GROWTH: Final = 4_000
"""An open piece longer than this is rendered again only after it grew by a quarter."""
_FENCE: Final = re.compile(r"\n*(?P<marker>`{3,}|~{3,})[ \t]*(?P<language>[^\s`]*)[^\n`]*\n")


@cache
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(tags=set(TAGS), attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="noopener noreferrer")


def clean(dirty: str) -> str:
    return _cleaner().clean(dirty)


@cache
def _lexer(language: str) -> object | None:
    lexers, missing = import_module("pygments.lexers"), import_module("pygments.util").ClassNotFound
    try:
        if "." in language:
            return lexers.get_lexer_for_filename(language, stripnl=False, ensurenl=False)
        return lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except missing:
        return None


@cache
def _formatter() -> object:
    return import_module("pygments.formatters.html").HtmlFormatter(nowrap=True, classprefix="hl-")


def highlight(code: str, language: str) -> str:
    """Code as spans with classes; escaped text for a language we do not know. `language` may be a file's name."""
    lexer = _lexer(language) if language and len(code) <= MOST_COLOURED else None
    if lexer is None:
        return html.escape(code)
    return str(import_module("pygments").highlight(code, lexer, _formatter()))


def _fence(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[at]
    language = (token.info or "").strip().split(" ")[0]
    return code_block(token.content, language)


def code_block(code: str, language: str) -> str:
    label = html.escape(language, quote=True)
    return f'<pre class="code"><code data-language="{label}">{highlight(code, language)}</code></pre>\n'


def _image(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[at]
    target = html.escape(str(token.attrs.get("src", "")), quote=True)
    return f'<a class="picture-link" href="{target}">{html.escape(token.content or target)}</a>'


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "breaks": False})
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("image", _image)
    return parser


def render(source: str) -> str:
    """All of it at once."""
    return clean(_parser().render(source))


class MarkdownStream:
    """Markdown while it is being written: finished blocks once, the open one again as it grows.

    A top-level block is finished when a whole line after it begins another. Each character is rendered a bounded
    number of times, so the cost is linear in the length of the text; code gets its colours when its fence closes.
    """

    def __init__(self) -> None:
        self._open = ""
        self._targets: dict[str, Any] = {}
        self._rendered = 0
        self._fence: _OpenFence | None = None

    def feed(self, text: str) -> tuple[list[str], str | None]:
        """The blocks that this text finished, and the open one; None when `text` may simply be added to it."""
        self._open += text
        if self._fence is not None and not self._fence.closed_by(text):
            return [], None
        grown = len(self._open) - self._rendered
        if self._fence is None and len(self._open) > GROWTH and grown * 4 < len(self._open):
            return [], None
        finished, tail = self._finish() if "\n" in text or self._fence is not None else ([], None)
        self._rendered = len(self._open)
        self._fence = _open_fence(self._open)
        if self._fence is not None:
            return finished, self._fence.html
        return finished, self._show(self._open) if tail is None else tail

    def hold(self, text: str) -> None:
        """Text of which nothing is shown before the end."""
        self._open += text

    def end(self) -> list[str]:
        """What is left, as it is."""
        rest, last = self._finish(at_end=True)
        if self._open.strip():
            rest.append(self._show(self._open) if last is None else last)
        self._open = ""
        return rest

    def _finish(self, *, at_end: bool = False) -> tuple[list[str], str | None]:
        """Blocks before the last one that whole lines begin; and that one, when nothing but it is left. At the end
        the last line is whole as it is."""
        whole = len(self._open) if at_end else self._open.rfind("\n") + 1
        env = self._env()
        tokens = _parser().parse(self._open[:whole], env)
        starts = [at for at, token in enumerate(tokens) if token.level == 0 and token.map and token.nesting >= 0]
        if not starts:
            return [], None
        pieces = [*pairwise([0, *starts[1:]]), (starts[-1] if len(starts) > 1 else 0, len(tokens))]
        shown = [clean(self._draw(tokens[first:after], env)) for first, after in pieces]
        if len(starts) > 1:
            lines = self._open[:whole].splitlines(keepends=True)
            last = tokens[starts[-1]].map
            assert last is not None
            self._open = self._open[sum(len(line) for line in lines[: last[0]]) :]
            whole = len(self._open) if at_end else self._open.rfind("\n") + 1
            self._targets = dict(env.get("references", {}))
        return shown[:-1], shown[-1] if whole == len(self._open) else None

    def _env(self) -> dict[str, Any]:
        """Link targets that are known so far; a copy, because what is not finished may still be another."""
        return {"references": dict(self._targets)}

    def _draw(self, tokens: list[Token], env: dict[str, Any]) -> str:
        return _parser().renderer.render(tokens, _parser().options, env)

    def _show(self, source: str) -> str:
        return clean(_parser().render(source, self._env()))


class _OpenFence:
    """Code whose closing line has not come. It is shown plain, and what follows is added to it."""

    def __init__(self, marker: str, language: str, code: str) -> None:
        self._close = re.compile(rf" {{0,3}}{re.escape(marker[0])}{{{len(marker)},}}[ \t]*\r?\n")
        self._line = code[code.rfind("\n") + 1 :]
        self.html = clean(
            f'<pre class="code"><code data-language="{html.escape(language)}">{html.escape(code)}</code></pre>'
        )

    def closed_by(self, text: str) -> bool:
        lines = (self._line + text).splitlines(keepends=True)
        if any(self._close.fullmatch(line) for line in lines):
            return True
        self._line = lines[-1] if lines and not lines[-1].endswith("\n") else ""
        return False


def _open_fence(source: str) -> _OpenFence | None:
    found = _FENCE.match(source)
    if found is None:
        return None
    fence = _OpenFence(found["marker"], found["language"], "")
    code = source[found.end() :]
    if fence.closed_by(code):
        return None
    return _OpenFence(found["marker"], found["language"], code)
