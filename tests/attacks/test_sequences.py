"""Short sequences of every estimator and family, always the same ones."""

from collections import Counter

import pytest

from attacks import sequences

CASES = {case.name: case for case in sequences.accepted()}


def test_every_estimator_and_family_is_attacked():
    attacked = {name.partition("(")[0] for name in CASES} | {name.partition(" of ")[0] for name in CASES}
    assert {cls.__name__ for cls in sequences.exported()} <= attacked
    assert {f"family {name}" for name in sequences.families.family_names()} <= attacked


@pytest.mark.parametrize("name", CASES)
def test_a_sequence_of_learning_and_forgetting_equals_one_fit(name):
    tally = Counter()
    sequences.run(CASES[name], tally, sequences=3, steps=12, seed=None)
    assert tally["answered"]
