"""Pieces of Markdown while it streams, and lines of a given width."""

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from weft.schema.display import DiffView
from weft.surfaces.terminal.paint.diffs import SIDE_BY_SIDE, paint_diff
from weft.surfaces.terminal.paint.lines import Line, clean, fit, width_of, wrap
from weft.surfaces.terminal.paint.markdown import paint_piece
from weft.surfaces.terminal.paint.palette import palette
from weft.surfaces.terminal.pieces import LONG, Piece, Pieces

LOOK = palette("dark")
PLAIN = Style()
markdown = st.lists(
    st.sampled_from(
        ["word ", "two words\n", "\n", "```py\n", "```\n", "- item\n", "1. x\n", "# head\n", "> q\n", "中文 "]
    ),
    max_size=40,
).map("".join)


def text(lines: list[Line]) -> list[str]:
    return ["".join(segment.text for segment in line) for line in lines]


@given(markdown, st.lists(st.integers(1, 7), min_size=1))
def test_any_chunking_gives_the_same_pieces(source: str, sizes: list[int]) -> None:
    whole, parts = Pieces(), Pieces()
    whole.feed(source)
    at = 0
    while at < len(source):
        size = sizes[at % len(sizes)]
        parts.feed(source[at : at + size])
        at += size
    whole.end()
    parts.end()
    assert parts.done == whole.done


@given(markdown, st.integers(8, 100))
def test_no_line_is_wider_than_the_screen(source: str, width: int) -> None:
    for piece in Pieces(source).done:
        for line in paint_piece(piece, width, LOOK):
            assert sum(segment.cell_length for segment in line) <= width


@given(markdown)
def test_what_is_done_never_changes(source: str) -> None:
    pieces = Pieces()
    seen: list[Piece] = []
    for letter in source:
        pieces.feed(letter)
        assert pieces.done[: len(seen)] == seen
        seen = list(pieces.done)


@given(st.text(max_size=200), st.integers(4, 40))
def test_wrapping_loses_no_word(source: str, width: int) -> None:
    cleaned = clean(source).replace("\n", " ")
    lines = wrap([(cleaned, PLAIN)], width)
    assert "".join("".join(text(lines)).split()) == "".join(cleaned.split())


def test_a_tail_stays_short_whatever_comes() -> None:
    for unit in ("word " * 50, "x" * 300, "```\n" + "code line\n" * 50, "- item\n" * 40):
        pieces = Pieces()
        for _ in range(200):
            pieces.feed(unit)
            tail = pieces.tail
            assert tail is None or len(tail.text) < 2 * LONG


def test_blocks_end_at_blank_lines_but_not_inside_code_or_lists() -> None:
    pieces = Pieces("a\n\n```py\nx\n\ny\n```\n\n- one\n\n- two\n\nb\n")
    assert [(piece.text, piece.code) for piece in pieces.done] == [
        ("a", False),
        ("x\n\ny", True),
        ("- one\n\n- two", False),
        ("b", False),
    ]


def test_the_source_comes_back_for_the_clipboard() -> None:
    source = "# T\n\nwords\n\n```py\nx = 1\n```\n\nend"
    assert Pieces(source).text() == source


def test_chinese_breaks_between_any_two_letters() -> None:
    assert text(wrap([("中文没有空格所以可以断开", PLAIN)], 8)) == ["中文没有", "空格所以", "可以断开"]


def test_escapes_and_overrides_of_a_terminal_are_taken_out() -> None:
    assert clean("a\x1b[31mred\x1b[0m\x1b]0;title\x07b\u202ec\x00") == "aredbc"
    assert clean("10%\r50%\r100%\n") == "100%\n"


def test_a_long_line_is_cut_with_an_ellipsis() -> None:
    assert fit("one two three", 7) == "one tw…"
    assert width_of(fit("中文中文中文", 7)) <= 7


def test_tables_lists_and_quotes_keep_their_shape() -> None:
    piece = Pieces("| a | b |\n|---|---|\n| 1 | two |\n").done[0]
    assert [line.rstrip() for line in text(paint_piece(piece, 40, LOOK))] == ["a  b", "─  ───", "1  two"]
    assert text(paint_piece(Piece("1. one\n2. two\n   - in\n"), 40, LOOK)) == ["1. one", "2. two", "   • in"]
    assert text(paint_piece(Piece("> said"), 40, LOOK)) == ["│ said"]


def test_a_diff_is_inline_or_side_by_side_by_width() -> None:
    view = DiffView("a.py", "one\ntwo\n", "one\n2\n")
    narrow = [line.rstrip() for line in text(paint_diff(view, 60, LOOK))]
    assert narrow == ["  1   one", "  2 - two", "  2 + 2"]
    wide = text(paint_diff(view, SIDE_BY_SIDE, LOOK))
    assert "- two" in wide[1] and "+ 2" in wide[1]


def test_a_change_that_the_person_refused_is_faint() -> None:
    view = DiffView("a.py", "1\n" * 3 + "x\n" + "1\n" * 20 + "y\n", "1\n" * 3 + "X\n" + "1\n" * 20 + "Y\n")
    lines = text(paint_diff(view, 60, LOOK, refused={1}, at=0))
    assert "▶ Change 1 of 2: accepted" in lines
    assert "  Change 2 of 2: rejected" in lines
