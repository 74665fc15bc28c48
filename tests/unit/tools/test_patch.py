"""ApplyPatch: both forms, all or nothing, and the same as git."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ToolError, WorkspaceError
from weft.testing.tool_context import fake_tool_context
from weft.testing.workspace import MemoryWorkspace
from weft.tools.apply_patch import ApplyPatch
from weft.tools.diff import unified
from weft.tools.patch import apply_change, parse_patch
from weft.tools.text import TextFile

MARKED = """*** Begin Patch
*** Update File: app.py
@@ def second():
     x = 1
-    return x
+    return x + 1
*** Add File: docs/new.md
+# New
+text
*** Delete File: old.txt
*** Update File: name.txt
*** Move to: moved.txt
@@
-a
+b
*** End Patch
"""
FILES = {
    "app.py": "def first():\n    x = 1\n    return x\n\n\ndef second():\n    x = 1\n    return x\n",
    "old.txt": "gone\n",
    "name.txt": "a\n",
}


async def patched(workspace: MemoryWorkspace, patch: str) -> str:
    tool = ApplyPatch()
    return str((await tool.run(tool.decode({"patch": patch}), fake_tool_context(workspace))).content)


async def test_several_files_change_in_one_patch() -> None:
    workspace = MemoryWorkspace(FILES)
    said = await patched(workspace, MARKED)
    assert workspace.files == {
        "/work/app.py": FILES["app.py"]
        .replace("second():\n    x = 1\n    return x", "second():\n    x = 1\n    return x + 1")
        .encode(),
        "/work/docs/new.md": b"# New\ntext\n",
        "/work/moved.txt": b"b\n",
    }
    assert "Deleted /work/old.txt" in said and "Added /work/docs/new.md" in said
    assert ApplyPatch().paths(ApplyPatch().decode({"input": MARKED})) == (
        "app.py",
        "docs/new.md",
        "old.txt",
        "name.txt",
        "moved.txt",
    )


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (MARKED.replace("return x\n+", "return y\n+"), "does not fit app.py"),
        (MARKED.replace("old.txt", "absent.txt"), "absent.txt does not exist"),
        (MARKED.replace("docs/new.md", "name.txt"), "exists already"),
        (MARKED.replace("def second", "def third"), "there is no line 'def third"),
        ("nothing", "no change in the patch"),
        ("--- a/x\n+++ b/x\n@@ -1,5 +1 @@\n-a\n+b\n", "shorter than its head"),
        ("*** Begin Patch\n*** Add File: x\nbare\n*** End Patch", "has no mark"),
    ],
)
async def test_a_patch_that_does_not_fit_changes_nothing(patch: str, said: str) -> None:
    workspace = MemoryWorkspace(FILES)
    before = dict(workspace.files)
    with pytest.raises(ToolError, match=said):
        await patched(workspace, patch)
    assert workspace.files == before


async def test_a_write_that_fails_half_way_is_taken_back() -> None:
    class Full(MemoryWorkspace):
        async def write(self, path: Path, data: bytes) -> None:
            if path.name == "moved.txt":
                raise WorkspaceError("the disk is full")
            await super().write(path, data)

    workspace = Full(FILES)
    before = dict(workspace.files)
    with pytest.raises(ToolError, match=r"the disk is full\. Nothing was changed"):
        await patched(workspace, MARKED)
    assert workspace.files == before


async def test_lines_that_moved_are_found_and_line_endings_kept() -> None:
    workspace = MemoryWorkspace({"a": "new\r\nnew\r\none\r\ntwo\r\nthree"})
    await patched(
        workspace, "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n"
    )
    assert workspace.files["/work/a"] == b"new\r\nnew\r\none\r\n2\r\nthree"


lines = st.lists(st.sampled_from(["a", "b", "c", "", "-- x", "++ y", "@@ z"]), max_size=14)
texts = st.builds(lambda parts, end: "\n".join(parts) + end, lines, st.sampled_from(["", "\n"])).filter(
    lambda text: text not in ("", "\n")
)


@given(texts, texts)
def test_our_own_differences_apply(before: str, after: str) -> None:
    patch = unified(before, after, "f")
    if patch:
        (change,) = parse_patch(patch)
        assert apply_change(TextFile(before), change) == after


@settings(max_examples=25, deadline=None)
@given(before=texts, after=texts)
def test_git_s_differences_apply(tmp_path_factory: pytest.TempPathFactory, before: str, after: str) -> None:
    folder = tmp_path_factory.mktemp("patch")
    (folder / "a").write_bytes(before.encode())
    (folder / "b").write_bytes(after.encode())
    found = subprocess.run(["git", "diff", "--no-index", "a", "b"], cwd=folder, capture_output=True, check=False)
    if found.stdout:
        (change,) = parse_patch(found.stdout.decode())
        assert apply_change(TextFile(before), change) == after
