"""When clauses: what is written is what is read, and nothing else can happen."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from weft.extend.when import And, Compare, Key, Node, Not, Or, WhenError, evaluate, holds, parse

names = st.from_regex(r"[a-z][a-zA-Z0-9.]{0,8}", fullmatch=True).filter(
    lambda n: n not in ("in", "not", "true", "false")
)
literals = st.text(alphabet="abc XYZ019'\"\\()&|!=<>-", max_size=8)
keys = st.dictionaries(names, st.one_of(st.booleans(), st.integers(-5, 5), literals, st.none()))


def nodes() -> st.SearchStrategy[Node]:
    leaf: st.SearchStrategy[Any] = st.one_of(
        st.builds(Key, names), st.builds(Compare, names, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), literals)
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
        ),
        max_leaves=8,
    )


def write(node: Node) -> str:
    match node:
        case Key(name=name):
            return name
        case Compare(name=name, op=op, value=value):
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"{name} {op} '{escaped}'"
        case Not(of=inner):
            return f"!({write(inner)})"
        case And(parts=parts):
            return " && ".join(f"({write(part)})" for part in parts)
        case Or(parts=parts):
            return " || ".join(f"({write(part)})" for part in parts)
    raise AssertionError(node)


@given(nodes(), keys)
def test_a_written_clause_reads_as_the_same_clause(node: Node, values: dict[str, object]) -> None:
    assert parse(write(node)) == node
    assert holds(write(node), values) is evaluate(node, values)


@given(nodes(), nodes(), nodes(), keys)
def test_and_binds_tighter_than_or(a: Node, b: Node, c: Node, values: dict[str, object]) -> None:
    text = f"({write(a)}) || ({write(b)}) && ({write(c)})"
    assert holds(text, values) is (evaluate(a, values) or (evaluate(b, values) and evaluate(c, values)))


@given(st.text(max_size=60), keys)
def test_any_text_is_a_truth_value_or_a_when_error(text: str, values: dict[str, object]) -> None:
    try:
        assert isinstance(holds(text, values), bool)
    except WhenError as error:
        assert "when clause" in str(error)
