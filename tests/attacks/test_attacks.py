"""Every attack for a moment, with seed 0; `make attack` gives them more time."""

import pytest

from attacks.found import ATTACKS

SECONDS = 2.0


@pytest.mark.parametrize("name", ATTACKS)
def test_every_hostile_case_is_answered_or_refused_by_a_named_error(name):
    tally = ATTACKS[name](SECONDS, 0)
    assert tally["tried"] > 0, "an attack that tries nothing finds nothing"
    assert tally["failed"] == 0, "the cases are printed above"
    assert tally["tried"] == tally["refused"] + tally["answered"]
