"""Dask, on a real local cluster: learning and answering where the rows lie."""

import itertools

import pytest

pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install 'suffice[dask]'")
pytest.importorskip("distributed", reason="Dask has no cluster here: pip install 'suffice[dask]'")

import dask
import dask.dataframe as dd
import distributed

from engines.cases import (
    CASES,
    assert_answers,
    assert_clustered,
    assert_learns_without_labels,
    assert_refused_by_name,
    assert_same,
    cut,
    numbers,
)
from suffice.core.errors import InvalidDataError, MissingPackageError
from suffice.naive_bayes import GaussianNB

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Dask and what it calls have warnings of their own
    pytest.mark.usefixtures("client"),
]

fresh = itertools.count()


@pytest.fixture(scope="module")
def client():
    """Two workers in processes of their own."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


def in_parts(table, seed=None):
    """A data frame whose partitions are those of `cut`."""
    parts = [dask.delayed(part, name=f"part-{next(fresh)}") for part in cut(table, seed)]
    return dd.from_delayed(parts, meta=table.iloc[:0], verify_meta=False)


def failing(part):  # noqa: ARG001
    raise RuntimeError("a job ran")


@pytest.mark.parametrize("name", CASES)
def test_the_fit_and_the_answers_are_those_of_the_rows_in_memory(name):
    case = CASES[name]
    local, frame = case.local(), in_parts(case.table(), seed=5)
    fitted = case.make().fit(frame, "y")
    assert_same(case, fitted, local)
    told = fitted.predict_proba(frame)
    assert isinstance(told, dd.DataFrame)
    computed = told.compute()
    assert dict(computed.dtypes) == dict(told.dtypes)
    assert_answers(case, local, computed)


def test_the_same_without_a_cluster():
    case = CASES["BayesClassifier"]
    frame = in_parts(case.table())
    with dask.config.set(scheduler="threads"):
        fitted = case.make().fit(frame, "y")
    assert_same(case, fitted, case.local())


def test_clusters_are_those_of_a_file(tmp_path, monkeypatch):
    assert_clustered(in_parts, tmp_path, monkeypatch)


@pytest.mark.filterwarnings("ignore")  # some rows do not help, which is told
def test_rows_without_labels_teach_what_those_of_a_file_do(tmp_path):
    assert_learns_without_labels(in_parts, tmp_path)


def test_parts_learned_one_after_the_other_give_the_whole():
    case = CASES["GaussianNB"]
    frame = in_parts(case.table().assign(w=1.0))
    fitted = case.make().partial_fit(frame.partitions[:5], "y", sample_weight="w")
    assert_same(case, fitted.partial_fit(frame.partitions[5:], "y", sample_weight="w"), case.local())


def test_a_worker_that_dies_changes_nothing(tmp_path):
    case = CASES["GaussianNB"]
    died = tmp_path / "died"

    def die_once(part):
        import os

        if len(part) and not died.exists():
            died.touch()
            os._exit(1)
        return part

    table = case.table()
    frame = in_parts(table).map_partitions(die_once, meta=table.iloc[:0])
    fitted = case.make().fit(in_parts(table), "y")
    fitted.partial_fit(frame, "y")
    assert died.exists()
    assert_same(case, fitted, case.local_twice())


def test_predictions_are_appended_lazily():
    case = CASES["CategoricalNB"]
    frame = in_parts(case.table())
    fitted = case.make().fit(frame, "y")
    told = fitted.predict(frame.map_partitions(failing, meta=frame._meta))
    assert list(told.columns) == [*frame.columns, "prediction"]
    assert told["prediction"].dtype == "int64"


def test_mistakes_are_told_before_any_job_runs():
    sound = in_parts(numbers())
    frame = sound.map_partitions(failing, meta=sound._meta)
    with pytest.raises(InvalidDataError, match=r"no column 'yy'.*Did you mean 'y'"):
        GaussianNB().fit(frame, "yy")
    fitted = GaussianNB().fit(sound, "y")
    with pytest.raises(InvalidDataError, match="no column 'x1'"):
        fitted.predict(frame.drop(columns="x1"))
    with pytest.raises(InvalidDataError, match="column 'prediction' already"):
        fitted.predict(frame.assign(prediction=1))


def test_what_cannot_be_learned_is_refused_by_name():
    assert_refused_by_name(in_parts)


def test_workers_without_the_package_say_how_to_ship_it(client):
    def lose_the_package():
        import sys

        class Missing:
            def find_spec(self, name, *_):
                if name.split(".")[0] == "suffice":
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        for name in [name for name in sys.modules if name.split(".")[0] == "suffice"]:
            del sys.modules[name]
        sys.meta_path.insert(0, Missing())

    frame = in_parts(numbers())
    client.run(lose_the_package)
    try:
        with pytest.raises(MissingPackageError, match="PipInstall"):
            GaussianNB().fit(frame, "y")
    finally:
        client.restart()
