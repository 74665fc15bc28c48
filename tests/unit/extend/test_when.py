"""The operators of when clauses, one by one."""

import pytest

from weft.extend.when import WhenError, holds, parse

KEYS: dict[str, object] = {
    "debugState": "running",
    "resourceLangId": "python",
    "workspaceFolderCount": 2,
    "config.editor.tabSize": 4,
    "isLinux": True,
    "isMac": False,
    "resourceFilename": "test_Thing.py",
    "langs": ["python", "go"],
    "table": {"python": 1},
    "spaced": "a b",
    "empty": "",
}


@pytest.mark.parametrize(
    ("clause", "value"),
    [
        ("", True),
        ("isLinux", True),
        ("!isLinux", False),
        ("!!isLinux", True),
        ("unknown", False),
        ("true", True),
        ("false || isLinux", True),
        ("debugState == 'running'", True),
        ("debugState == running", True),
        ("debugState === running", True),
        ("debugState==running", True),
        ("debugState != running", False),
        ("debugState !== idle", True),
        ("unknown == ''", False),
        ("unknown != x", True),
        ("isLinux == true", True),
        ("isMac == false", True),
        ("unknown == false", True),
        ("workspaceFolderCount > 1", True),
        ("workspaceFolderCount >= 2 && workspaceFolderCount <= 2", True),
        ("workspaceFolderCount < 2", False),
        ("workspaceFolderCount == 2", True),
        ("config.editor.tabSize == 4", True),
        ("resourceLangId > 1", False),
        ("resourceFilename =~ /^test_.*\\.py$/", True),
        ("resourceFilename =~ /THING/i", True),
        ("resourceFilename =~ /THING/", False),
        ("!(resourceFilename =~ /a\\/b/)", True),
        ("workspaceFolderCount =~ /2/", False),
        ("resourceLangId in langs", True),
        ("resourceLangId not in langs", False),
        ("resourceLangId in table", True),
        ("debugState in langs", False),
        ("debugState not in unknown", True),
        ("spaced == 'a b'", True),
        ("isMac && isLinux || isLinux", True),
        ("isMac && (isLinux || isLinux)", False),
        ("!isMac && !empty", True),
        ("foo-bar.baz == x", False),
    ],
)
def test_a_clause_has_the_value_that_vs_code_gives_it(clause: str, value: bool) -> None:
    assert holds(clause, KEYS) is value


@pytest.mark.parametrize(
    "clause",
    [
        "(",
        "a &&",
        "a ||",
        "a == ",
        "a =~ b",
        "a =~ /(/",
        "a =~ /x/q",
        "a b",
        "a not b",
        ")",
        "== b",
        "a in",
        "'x'",
        "!",
    ],
)
def test_what_is_no_clause_is_said_to_be_none(clause: str) -> None:
    with pytest.raises(WhenError, match="when clause"):
        parse(clause)


def test_a_clause_cannot_be_endless() -> None:
    with pytest.raises(WhenError):
        parse("a && " * 1000 + "a")
    with pytest.raises(WhenError, match="deep"):
        parse("!" * 100 + "a")
