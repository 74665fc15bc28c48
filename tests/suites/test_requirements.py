"""Every promised case has a proof, every proof is a test that exists, and the published table has them all."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS, Requirement

TESTS = Path(__file__).resolve().parents[1]


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.id)
def test_it_is_proved_by_tests_that_exist(requirement: Requirement):
    assert requirement.proofs
    for proof in requirement.proofs:
        file, name = proof.split("::")
        assert (TESTS / file).is_file(), proof
        assert name.startswith("test_") and name in names_in(file), proof


def test_no_case_of_the_references_is_missing():
    wanted = {f"S{n:02}" for n in range(1, 63)} | {f"T{n:02}" for n in range(1, 33)}
    ids = [requirement.id for requirement in REQUIREMENTS]
    assert len(ids) == len(set(ids))
    assert wanted <= set(ids)


def test_the_published_table_has_every_case():
    text = (TESTS.parent / "docs" / "security.md").read_text()
    for requirement in REQUIREMENTS:
        assert f"| {requirement.id} | {requirement.tried} |" in text, "run: python scripts/security.py"
