"""One suite for every `Editor`: headless and the page here, Neovim with the real peers."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from weft.errors import WorkspaceError
from weft.ide.editors.headless.decide import decider
from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.editors.page import DiffClosed, DiffShown, FileShown, PageEditor, PageEvent
from weft.ide.port import Diff, EditorEvent, SelectionMoved
from weft.protocols.ide.catalogue import OpenFile
from weft.protocols.ide.values import Accepted, Decision, Position, Rejected

TEXT = "def add(a, b):\n    return a + b\n"
Make = Callable[[Path], HeadlessEditor]


def headless(folder: Path) -> HeadlessEditor:
    return HeadlessEditor([folder], servers=(), kernel=False)


def page(folder: Path) -> PageEditor:
    return PageEditor([folder], lambda event: None, servers=(), kernel=False)


@pytest.fixture(params=[headless, page])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    (tmp_path / "calc.py").write_text(TEXT)
    return request.param


async def test_a_file_opens_in_front_and_behind(make: Make, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("b\n")
    async with make(tmp_path) as editor:
        document = await editor.open_file(OpenFile(file_path=str(tmp_path / "calc.py")))
        assert (document.language, document.line_count, document.dirty) == ("python", 3, False)
        await editor.open_file(OpenFile(file_path="b.txt", make_frontmost=False))
        assert [(tab.label, tab.active) for tab in await editor.tabs()] == [("calc.py", True), ("b.txt", False)]


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (OpenFile(file_path="calc.py", start_text="return", end_text="b"), "return a + b"),
        (OpenFile(file_path="calc.py", start_text="return"), "return"),
        (OpenFile(file_path="calc.py", start_text="ret", select_to_end_of_line=True), "return a + b"),
        (OpenFile(file_path="calc.py", start_text="ret", end_text="nowhere"), "ret"),
        (OpenFile(file_path="calc.py", start_line=2, end_line=2), "    return a + b"),
        (OpenFile(file_path="calc.py", start_text="nowhere"), ""),
        (OpenFile(file_path="calc.py"), ""),
    ],
)
async def test_openfile_marks_what_it_was_asked_to(make: Make, tmp_path: Path, request_: OpenFile, text: str) -> None:
    async with make(tmp_path) as editor:
        await editor.open_file(request_)
        selection = await editor.selection()
        assert selection is not None and selection.text == text


async def test_a_missing_file_is_a_sentence(make: Make, tmp_path: Path) -> None:
    async with make(tmp_path) as editor:
        with pytest.raises(WorkspaceError, match=r"File not found: .*nowhere\.py"):
            await editor.open_file(OpenFile(file_path="nowhere.py"))
        with pytest.raises(WorkspaceError, match="is not a file"):
            await editor.open_file(OpenFile(file_path="."))


async def test_selections_are_told_and_the_latest_marked_one_is_kept(make: Make, tmp_path: Path) -> None:
    heard: list[EditorEvent] = []
    async with make(tmp_path) as editor:
        stop = editor.listen(heard.append)
        assert await editor.selection() is None and await editor.latest_selection() is None
        editor.select("calc.py", Position(0, 7), Position(0, 4))
        editor.select("calc.py", Position(1, 0), Position(1, 0))
        stop()
        editor.select("calc.py", Position(0, 0), Position(0, 3))
        moves = [event.selection for event in heard if isinstance(event, SelectionMoved)]
        assert [move.text for move in moves if move] == ["add", ""]
        latest = await editor.latest_selection()
        assert latest is not None and latest.text == "def"


async def test_unsaved_text_is_dirty_until_saved_and_never_thrown_away(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "calc.py"
    async with make(tmp_path) as editor:
        assert await editor.document(str(path)) is None and await editor.save(str(path)) is None
        editor.edit(str(path), "new\n")
        document = await editor.document(str(path))
        assert document is not None and document.dirty and path.read_text() == TEXT
        assert not await editor.close_tab("calc.py")
        assert await editor.save(str(path)) is True and path.read_text() == "new\n"
        assert await editor.close_tab("calc.py") and await editor.document(str(path)) is None


async def test_a_save_never_overwrites_what_somebody_else_wrote(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "calc.py"
    async with make(tmp_path) as editor:
        editor.edit(str(path), "mine\n")
        path.write_text("theirs, longer\n")
        assert await editor.save(str(path)) is False and path.read_text() == "theirs, longer\n"


async def test_a_clean_document_follows_its_file(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "calc.py"
    async with make(tmp_path) as editor:
        await editor.open_file(OpenFile(file_path="calc.py"))
        path.write_text("one\ntwo\nthree\nfour\n")
        (tab,) = await editor.tabs()
        assert tab.document.line_count == 5 and not tab.document.dirty
        path.unlink()
        assert await editor.tabs() == () and await editor.selection() is None


DIFF = Diff(
    id="d", path="/p", before="a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", after="A\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n", title="t"
)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (lambda editor: editor.accept("d"), Accepted(DIFF.after)),
        (lambda editor: editor.accept("d", text="mine"), Accepted("mine")),
        (lambda editor: editor.accept("d", chosen=[1]), Accepted("a\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n")),
        (lambda editor: editor.accept("d", chosen=[]), Rejected()),
        (lambda editor: editor.reject("d"), Rejected()),
    ],
)
async def test_the_page_decides_whole_changed_or_by_hunk(tmp_path: Path, answer, outcome: Decision) -> None:
    with anyio.fail_after(30):
        events: list[PageEvent] = []
        answers: list[Decision] = []
        async with PageEditor([tmp_path], events.append, servers=(), kernel=False) as editor:

            async def show() -> None:
                answers.append(await editor.show_diff(DIFF))

            async with anyio.create_task_group() as group:
                group.start_soon(show)
                while not editor.shown:
                    await anyio.sleep(0.001)
                assert len(editor.shown[0].hunks) == 2
                assert answer(editor) is True and editor.reject("d") is False
            assert answers == [outcome] and editor.shown == ()
            assert [type(event) for event in events] == [DiffShown, DiffClosed]


async def test_a_withdrawn_diff_leaves_the_page_and_a_shown_file_comes_to_it(tmp_path: Path) -> None:
    (tmp_path / "calc.py").write_text(TEXT)
    events: list[PageEvent] = []
    async with PageEditor([tmp_path], events.append, servers=(), kernel=False) as editor:
        with anyio.move_on_after(0.01):
            await editor.show_diff(DIFF)
        assert events[-1] == DiffClosed("d") and editor.accept("d") is False
        await editor.open_file(OpenFile(file_path="calc.py", start_text="add"))
        assert isinstance(events[-1], FileShown) and events[-1].text == TEXT
        assert events[-1].selection is not None and events[-1].selection.text == "add"


@pytest.mark.parametrize(("who", "outcome"), [("accept", Accepted(DIFF.after)), ("reject", Rejected())])
async def test_a_policy_decides_where_nobody_looks(tmp_path: Path, who, outcome: Decision) -> None:
    async with HeadlessEditor([tmp_path], decide=decider(who), servers=(), kernel=False) as editor:
        assert await editor.show_diff(DIFF) == outcome
