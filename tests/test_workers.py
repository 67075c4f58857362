"""What runs beside the rows on other machines, without a session of one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice import errors
from suffice.core import registry
from suffice.engines import Task, workers
from suffice.engines.summarizing import own_families
from suffice.model import storage


@pytest.mark.parametrize("kind", [errors.NotPartError, errors.InvalidOptionError, errors.MismatchError])
def test_an_error_of_a_worker_is_raised_again_by_its_name_with_its_words(kind):
    again = workers.Refusal.of(kind("what was found")).again()
    assert type(again) is kind
    assert str(again) == "what was found"


def test_an_error_about_rows_says_that_they_are_counted_in_a_part():
    again = workers.Refusal.of(errors.InvalidDataError("Row 3 is bad")).again()
    assert type(again) is errors.InvalidDataError
    assert str(again) == "In a part of the rows, counted from its first: Row 3 is bad"


def test_an_error_that_the_driver_does_not_know_keeps_its_words():
    again = workers.Refusal("SomethingElse", "what was found").again()
    assert type(again) is errors.InvalidDataError
    assert str(again) == "what was found"


def test_parts_of_workers_are_summed_and_the_first_error_among_them_is_passed_on():
    task = Task(sf.Gaussian(), ("x",), "y", None)
    tables = [{"x": np.arange(4.0) + i, "y": ["a", "b"] * 2} for i in range(3)]
    parts = [storage.to_bytes(task.summarize(table)) for table in tables]
    assert workers.merge([]) is workers.merge([None, None]) is None
    assert workers.merge([None, parts[0]]) == parts[0]
    whole = task.summarize(tables[0]) + task.summarize(tables[1]) + task.summarize(tables[2])
    assert workers.merge([parts[0], None, parts[1], parts[2]]) == storage.to_bytes(whole)
    refusal = storage.to_bytes(workers.Refusal("InvalidDataError", "no"))
    assert workers.merge([parts[0], refusal, parts[1]]) == refusal
    other = storage.to_bytes(task.summarize({"x": [1.0, 2.0], "y": [1, 2]}))
    assert storage.from_bytes(workers.merge([parts[0], other])).kind == "MismatchError"


def test_families_that_arrive_are_known_by_their_names(monkeypatch):
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))

    class Arriving(sf.Gaussian):
        """A family of a script."""

    registry._CLASSES.pop("Arriving")
    assert registry.find("Arriving") is None
    workers.arrived([Arriving])
    assert registry.find("Arriving") is Arriving


def test_objects_on_which_arrow_ends_the_process_are_refused_in_frames_of_workers():
    good = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})
    assert workers.from_pandas(good).column_names == ["a", "b"]
    mixed = pd.Series([np.int64(1), np.datetime64("2024-01-01")], dtype=object)
    with pytest.raises(errors.InvalidDataError, match="'a'"):
        workers.from_pandas(pd.DataFrame({"a": mixed}))


def test_a_task_knows_the_columns_that_its_family_found():
    x = np.exp(np.random.default_rng(0).normal(size=400))
    y = np.arange(400) % 2
    table = {"x": x, "z": x * np.exp(np.random.default_rng(1).normal(scale=0.2, size=400) + y)}
    clf = sf.BayesClassifier(structure="pairs").fit(table, y)
    family = replace(clf._learned.family, found=clf.calibration_.found)
    task = Task(family, ("x", "z"), "y", None)
    assert task.blocks == family.blocks
    assert [block.title for block in task.found] == ["x / z"]
    plain = Task(sf.Gaussian(), ("x", "z"), "y", None)
    assert plain.found == ()
    assert [block.names for block in plain.blocks] == [("x", "z")]


def test_what_is_counted_apart_is_put_together_as_one_pass_gives_it():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = {"a": rng.integers(0, 200, 200), "b": (y ^ (rng.random(200) < 0.3)).astype(str), "y": y}
    clf = sf.BayesClassifier(structure="pairs", keep=60).fit(table, "y")
    task = Task(clf._learned.family, ("a", "b"), "y", None)
    whole = task.summarize(table)
    a, b, kept, pairs = whole.statistic.parts
    assert task.assembled(whole.labels, whole.weight, (a, b), kept, pairs) == whole
    plain = Task(sf.Categorical(), ("b",), "y", None)
    found = plain.summarize(table)
    assert plain.assembled(found.labels, found.weight, (found.statistic,), None) == found


def test_families_of_a_script_are_those_that_travel_with_a_task(monkeypatch):
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))

    class Travelling(sf.Gaussian):
        """A family of a script."""

    assert own_families(sf.Gaussian()) == ()
    assert own_families(Travelling()) == (Travelling,)
    clf = sf.BayesClassifier({"a": Travelling(), "b": sf.Gaussian()}).fit({"a": [1.0, 2.0], "b": [1.0, 3.0]}, [0, 1])
    assert own_families(clf._learned.family) == (Travelling,)


def test_a_task_refuses_rows_without_a_label_unless_they_are_to_be_dropped():
    rows = {"a": [1.0, 2.0, 3.0], "y": ["p", None, "q"]}
    with pytest.raises(errors.InvalidDataError, match="label"):
        Task(sf.Gaussian(), ("a",), "y", None).summarize(rows)
    dropped = Task(sf.Gaussian(), ("a",), "y", None, drop_unlabelled=True).summarize(rows)
    assert dropped.weight.tolist() == [1.0, 1.0]
