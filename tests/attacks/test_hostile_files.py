"""A small, fixed choice of hostile files; `make attack ARGS=hostile_files` tries many more."""

import os
from dataclasses import is_dataclass
from inspect import isabstract

import pytest

from attacks import hostile_files
from attacks.hostile_files import Outcome, assembled, held, loaded, outcome_of, specimens, taken_apart
from suffice.core import registry
from suffice.families import Family
from suffice.model import packing, storage
from suffice.model.learned import Learned

EACH = 2  # mutants of every specimen


def test_every_registered_class_is_attacked():
    attacked = {name for each in specimens().values() for name in held(taken_apart(each.data)[0])}
    ours = {
        name: registry.find(name) for name in registry.names() if registry.find(name).__module__.startswith("suffice.")
    }
    whole = {name for name, cls in ours.items() if is_dataclass(cls) and not isabstract(cls) and cls is not Family}
    assert whole <= attacked


def test_a_file_that_was_only_taken_apart_is_read_as_before():
    for each in specimens().values():
        back = loaded(assembled(*taken_apart(each.data)))
        assert storage.to_bytes(back) == each.data


@pytest.mark.parametrize("name", specimens())
def test_hostile_files_are_refused_by_name_or_answer(name):
    outcomes = [outcome_of(specimens()[name], number) for number in range(EACH)]
    assert [each for each in outcomes if each.kind not in ("refused", "answered")] == []


def test_the_attack_sees_what_goes_wrong(monkeypatch):
    """Without the checks of fields, the same files fail in other ways."""
    monkeypatch.setattr(packing, "check_stored", lambda *_: None)
    monkeypatch.setattr(Learned, "check_agreement", lambda _: None)
    outcomes = [outcome_of(specimens()["GaussianNB-0"], number) for number in range(40)]
    assert {each.kind for each in outcomes} - {"refused", "answered"}


def test_the_long_run_counts_and_survives_a_crash(monkeypatch):
    def crash(specimen, number):
        if number == 1:
            os._exit(3)
        return Outcome(specimen.name, number, "answered")

    monkeypatch.setattr(hostile_files, "outcome_of", crash)
    found = list(hostile_files.run([("Dirichlet 13", number) for number in range(3)]))
    assert [each.kind for each in found] == ["answered", "crash", "answered"]
