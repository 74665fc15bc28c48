from hypothesis import given
from hypothesis import strategies as st

from weft.schema.display import DiffView
from weft.surfaces.diffs import apply_hunks, can_choose, chosen_input, to_hunks
from weft.surfaces.web.views import diff_data

texts = st.lists(st.sampled_from(["a", "b", "c", "def f():", ""]), max_size=40).map(lambda lines: "\n".join(lines))


@given(texts, texts)
def test_all_hunks_give_the_new_file_and_none_the_old_one(before: str, after: str) -> None:
    view = DiffView("x", before, after)
    hunks = to_hunks(view)
    assert apply_hunks(view, range(len(hunks))) == after
    assert apply_hunks(view, ()) == before


@given(texts.filter(bool), texts, st.data())
def test_an_edit_made_of_chosen_hunks_does_just_those(before: str, after: str, data: st.DataObject) -> None:
    view = DiffView("x", before, after)
    count = len(to_hunks(view))
    chosen = data.draw(st.sets(st.integers(0, max(0, count - 1))))
    wanted = apply_hunks(view, chosen)
    edit = chosen_input("Edit", {"file_path": "x", "old_string": "q", "new_string": "r"}, view, chosen)
    if edit is None:
        assert wanted == before
        return
    old, new = str(edit["old_string"]), str(edit["new_string"])
    assert before.count(old) == 1
    assert before.replace(old, new) == wanted


def test_only_known_tools_with_several_hunks_offer_a_choice() -> None:
    before = "".join(f"{n}\n" for n in range(50))
    after = before.replace("3\n", "three\n", 1).replace("40\n", "forty\n")
    view = DiffView("x", before, after)
    assert can_choose("Write", {}, (view,))
    assert can_choose("Edit", {}, (view,))
    assert not can_choose("apply_patch", {}, (view,))
    assert not can_choose("Write", {}, (DiffView("x", "a\n", "b\n"),))


def test_a_diff_for_the_page_is_escaped_and_names_hidden_characters() -> None:
    data = diff_data(DiffView("a\u202e.txt", "<b>\n", "<i>\u200b\n"))
    assert data["path"] == "a⟨U+202E⟩.txt"
    assert data["hunks"] == [
        [
            {"kind": "old", "old": 1, "new": None, "html": "&lt;b&gt;"},
            {"kind": "new", "old": None, "new": 1, "html": "&lt;i&gt;⟨U+200B⟩"},
        ]
    ]
