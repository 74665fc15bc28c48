"""Any difference can be applied, hunk by hunk, and by git."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.tools import diff

lines = st.sampled_from(["a", "b", "c", "", "\\ No newline", "-x", "+y", " z", "\r", "\u2028", "@@ -1 +1 @@"])
texts = st.builds(
    lambda parts, end: "\n".join(parts) + end, st.lists(lines, max_size=30), st.sampled_from(["", "\n", "\n\n"])
)


@given(texts, texts)
def test_applying_the_difference_gives_the_other_text(before: str, after: str) -> None:
    for context in (0, 1, 3):
        found = diff.hunks(before, after, context=context)
        assert diff.apply_hunks(before, found) == after
        assert bool(found) == (before != after)


@given(texts, texts)
def test_all_hunks_give_the_new_text_and_none_the_old(before: str, after: str) -> None:
    every = range(len(diff.hunks(before, after)))
    assert diff.accept(before, after, every) == after
    assert diff.accept(before, after, ()) == before


@given(texts, texts, st.data())
def test_accepting_some_hunks_leaves_exactly_the_others_to_do(before: str, after: str, data: st.DataObject) -> None:
    found = diff.hunks(before, after, context=0)
    chosen = data.draw(st.sets(st.sampled_from(range(len(found)))) if found else st.just(set[int]()))
    middle = diff.apply_hunks(before, [hunk for index, hunk in enumerate(found) if index in chosen])
    added, removed = diff.counts(before, after)
    assert (middle == before) == (not chosen)
    if len(chosen) == len(found):
        assert middle == after
    assert (added == removed == 0) == (before == after)


@settings(max_examples=25, deadline=None)
@given(texts.filter(lambda text: "\r" not in text), texts.filter(lambda text: "\r" not in text))
def test_git_applies_our_patches(before: str, after: str) -> None:
    patch = diff.unified(before, after, "file")
    if not patch:
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(before.encode())
        command = ["git", "apply", "--unidiff-zero", "--allow-empty", "-"]
        subprocess.run(command, input=patch.encode(), cwd=folder, check=True, capture_output=True)
        left = path.read_bytes().decode() if path.exists() else ""
    assert left == after
