"""What the engines of many machines have in common, without any of them."""

import pandas as pd
import pytest

from engines.cases import CASES, arrow, assert_same, cut, numbers
from suffice.core.errors import InvalidDataError, MismatchError, MissingPackageError
from suffice.engines import Answer, Task, workers
from suffice.model import storage
from suffice.naive_bayes import GaussianNB

TASK = Task(GaussianNB()._family(), ("x0", "x1"), "y", None).to_bytes()


def test_parts_merged_in_groups_are_the_whole():
    parts = [workers.summarize(TASK, [arrow(part)]) for part in cut(numbers())]
    assert parts[2] is None  # the empty one
    whole = workers.summarize(TASK, [arrow(numbers())])
    merged = workers.total([workers.merge(parts[:4]), None, workers.merge(parts[4:])])
    assert merged is not None
    assert merged.weight.tolist() == storage.from_bytes(whole).weight.tolist()


def test_nothing_comes_of_no_parts():
    assert workers.merge([None, None]) is None
    assert workers.total([]) is None


def test_what_a_worker_refuses_the_driver_raises():
    good = workers.summarize(TASK, [arrow(numbers())])
    bad = workers.summarize(TASK, [arrow(numbers().assign(y=None))])
    with pytest.raises(InvalidDataError, match=r"counted from its first: .*label of row 0"):
        workers.total([good, workers.merge([good, bad])])
    with pytest.raises(MismatchError, match="other columns"):
        raise workers.Refusal.of(MismatchError("other columns")).again()


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(InvalidDataError, match="Two columns are named 'x'"):
        workers.from_pandas(pd.DataFrame([[1.0, 2.0, "a"]], columns=["x", "x", "y"]))


def test_labels_of_several_kinds_are_refused_when_they_meet():
    words = workers.summarize(TASK, [arrow(numbers())])
    digits = workers.summarize(TASK, [arrow(numbers().assign(y=1))])
    with pytest.raises(ValueError, match="label"):
        workers.total([words, digits])


def test_answers_are_appended_also_to_no_rows():
    case = CASES["GaussianNB"]
    local = case.local()
    answer = Answer(local._predictor(), "predict_log_proba").to_bytes()
    rows = arrow(case.table())
    told, none = (workers.append(answer, part) for part in (rows, rows.slice(0, 0)))
    assert told.column_names[-4:] == ["prediction", "log_probability a", "log_probability b", "log_probability rare"]
    assert none.num_rows == 0
    assert none.schema.types == told.schema.types
    assert_same(case, local, case.local())


def test_columns_of_several_kinds_are_refused():
    with pytest.raises(InvalidDataError, match="several kinds"):
        workers.from_pandas(pd.DataFrame({"x": [1, "one", None]}))


def test_only_a_missing_package_is_told_as_one():
    with pytest.raises(MissingPackageError, match="pip it"), workers.shipping("pip it"):
        raise RuntimeError("Traceback: ModuleNotFoundError: No module named 'suffice'")
    with pytest.raises(RuntimeError, match="other"), workers.shipping("pip it"):
        raise RuntimeError("something other")
