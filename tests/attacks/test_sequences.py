"""Short sequences of every estimator and family, always the same ones."""

from collections import Counter

import pytest

import shipped
from attacks import sequences

CASES = {case.name: case for case in sequences.accepted()}
# What takes any number is attacked by two kinds of numbers here, and by all kinds in `make attack`.
SOME = [
    name
    for name in CASES
    if not name.endswith((" of positive", " of counts")) or f"{name.rpartition(' of ')[0]} of real" not in CASES
]


def test_every_estimator_and_family_is_attacked():
    attacked = {name.partition("(")[0] for name in CASES} | {name.partition(" of ")[0] for name in CASES}
    assert {cls.__name__ for cls in [*sequences.exported(), *sequences.around()]} <= attacked
    assert {cls.__name__ for cls in sequences.around()} >= {"Fading", "Window"}  # and that of river, if it is installed
    assert {f"family {name}" for name in shipped.family_names()} <= attacked


@pytest.mark.parametrize("name", SOME)
def test_a_sequence_of_learning_and_forgetting_equals_one_fit(name):
    tally = Counter()
    for some in (2, 4, 8):  # discriminant analysis refuses a single row of a class, by chance all of two sequences
        sequences.run(CASES[name], tally, sequences=some, steps=12, seed=None)
        if tally["answered"]:
            return
    raise AssertionError("every step was refused")
