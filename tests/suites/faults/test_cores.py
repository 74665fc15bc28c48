"""The short form of `make fuzz`: mutations of good input raise nothing but what is documented."""

from random import Random

import pytest

from tests.fuzz.targets import TARGETS, Target, mutate


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_no_mutation_raises_anything_else(target: Target):
    chance = Random(target.name)
    for _ in range(200):
        data = mutate(chance.choice(target.seeds), chance)
        try:
            target.run(data)
        except target.allowed:
            continue
