"""Some sequences of the algebra of every statistic; `make attack ARGS=algebra` tries many more."""

from inspect import isabstract

import numpy as np
import pytest

from attacks.algebra import Target, sequence, targets
from suffice.core import registry
from suffice.core.statistics import Statistic, Totals

TARGETS = {target.name: target for target in targets()}


def test_every_registered_statistic_is_attacked():
    ours = {
        cls
        for cls in (registry.find(name, Statistic) for name in registry.names(Statistic))
        if not isabstract(cls) and cls.__module__.startswith("suffice.")
    }
    assert {target.statistic for target in TARGETS.values()} == ours
    assert len(ours) >= 9


@pytest.mark.parametrize("name", TARGETS)
def test_adding_taking_away_scaling_and_storing_give_the_summary_of_the_rows_held(name):
    for seed in range(5):
        sequence(TARGETS[name], np.random.default_rng(seed))


def test_the_attack_sees_an_algebra_that_is_wrong(monkeypatch):
    monkeypatch.setattr(Totals, "__sub__", lambda self, _: self)
    target = Target("Totals", Totals, TARGETS["Totals"].rows)
    with pytest.raises(AssertionError):
        sequence(target, np.random.default_rng(0), steps=100)
