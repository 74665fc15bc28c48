"""What runners say, as they said it: recorded from jest 30.5 and Go 1.19."""

from pathlib import Path

import pytest

from weft.extend.editor_tools.runners import parse

RECORDED = Path(__file__).with_name("recorded")


def test_jest_names_what_failed_and_the_suite_that_did_not_start() -> None:
    found = parse("jest", (RECORDED / "jest-30.5.txt").read_text("utf-8"))
    assert [failure.name for failure in found.failures] == ["sum.test.js sum is wrong here", "broken.test.js"]
    assert "Expected: 4" in found.failures[0].message and "sum.test.js:4" in found.failures[0].message
    assert "Cannot find module './missing'" in found.failures[1].message
    assert found.summary == "1 passed"


def test_jest_is_understood_whatever_it_says_before_the_report() -> None:
    text = (RECORDED / "jest-30.5.txt").read_text("utf-8")
    report, _, noise = text.partition("\n")
    assert parse("jest", f"{noise}\n{report}\n") == parse("jest", text)


def test_go_names_the_innermost_test_that_failed_and_what_does_not_compile() -> None:
    found = parse("go", (RECORDED / "go-1.19.txt").read_text("utf-8"))
    assert [failure.name for failure in found.failures] == [
        "example.org/calc TestTable/twos",
        "example.org/calc/broken",
    ]
    assert "calc_test.go:19: Sum(2, 2) = 4, want 5" in found.failures[0].message
    assert found.failures[1].message == "broken/broken.go:3:26: undefined: missing"
    assert found.summary == "2 passed"


def test_a_panic_of_go_is_a_failure_with_its_trace() -> None:
    (failure,) = parse("go", (RECORDED / "go-1.19-panic.txt").read_text("utf-8")).failures
    assert failure.name == "example.org/calc/panics TestPanics"
    assert "assignment to entry in nil map" in failure.message and "p_test.go:7" in failure.message


def test_go_since_1_24_says_in_events_what_does_not_compile() -> None:
    lines = (
        '{"ImportPath":"m/b [m/b.test]","Action":"build-output","Output":"# m/b [m/b.test]\\n"}',
        '{"ImportPath":"m/b [m/b.test]","Action":"build-output","Output":"b/b.go:3:26: undefined: missing\\n"}',
        '{"ImportPath":"m/b [m/b.test]","Action":"build-fail"}',
        '{"Action":"start","Package":"m/b"}',
        '{"Action":"output","Package":"m/b","Output":"FAIL\\tm/b [build failed]\\n"}',
        '{"Action":"fail","Package":"m/b","Elapsed":0,"FailedBuild":"m/b [m/b.test]"}',
    )
    (failure,) = parse("go", "\n".join(lines)).failures
    assert failure.name == "m/b" and "undefined: missing" in failure.message


@pytest.mark.parametrize("runner", ["pytest", "jest", "go"])
def test_what_is_no_report_has_no_failures(runner: str) -> None:
    assert parse(runner, "command not found\n{broken").failures == ()
