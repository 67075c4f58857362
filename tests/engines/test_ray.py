"""Ray Data, on a real local instance: learning and answering where the rows lie."""

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("ray.data", reason="Ray is not installed: pip install 'suffice[ray]'")

import pyarrow as pa
import ray
import ray.data

from engines.cases import (
    CASES,
    arrow,
    assert_answers,
    assert_clustered,
    assert_learns_without_labels,
    assert_refused_by_name,
    assert_same,
    cut,
    numbers,
    without_the_package,
)
from suffice.core.errors import InvalidDataError
from suffice.naive_bayes import GaussianNB

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Ray and what it calls have warnings of their own
    pytest.mark.usefixtures("instance"),
]


@pytest.fixture(scope="module")
def instance():
    """An instance of two processors."""
    os.environ["RAY_DEDUP_LOGS"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def in_parts(table, seed=None):
    """A dataset whose blocks are those of `cut`."""
    schema = arrow(table).schema
    return ray.data.from_arrow([pa.Table.from_pandas(p, schema, preserve_index=False) for p in cut(table, seed)])


@pytest.mark.parametrize("name", CASES)
def test_the_fit_and_the_answers_are_those_of_the_rows_in_memory(name):
    case = CASES[name]
    local, data = case.local(), in_parts(case.table(), seed=5)
    fitted = case.make().fit(data, "y")
    assert_same(case, fitted, local)
    told = fitted.predict_proba(data)
    assert isinstance(told, ray.data.Dataset)
    tables = [table for table in ray.get(told.to_arrow_refs()) if table.num_rows]
    assert_answers(case, local, pa.concat_tables(tables).to_pandas())


def test_clusters_are_those_of_a_file(tmp_path, monkeypatch):
    assert_clustered(in_parts, tmp_path, monkeypatch)


@pytest.mark.filterwarnings("ignore")  # some rows do not help, which is told
def test_rows_without_labels_teach_what_those_of_a_file_do(tmp_path):
    assert_learns_without_labels(in_parts, tmp_path)


def test_parts_learned_one_after_the_other_give_the_whole():
    case = CASES["GaussianNB"]
    first, second = in_parts(case.table().assign(w=1.0)).split_at_indices([170])
    fitted = case.make().partial_fit(first, "y", sample_weight="w")
    assert_same(case, fitted.partial_fit(second, "y", sample_weight="w"), case.local())


def test_a_worker_that_dies_changes_nothing(tmp_path):
    case = CASES["GaussianNB"]
    died = tmp_path / "died"

    def die_once(block):
        import os

        if "rare" in block["y"].to_pylist() and not died.exists():
            died.touch()
            os._exit(1)
        return block

    data = in_parts(case.table())
    fitted = case.make().fit(data, "y")
    fitted.partial_fit(data.map_batches(die_once, batch_format="pyarrow", batch_size=None), "y")
    assert died.exists()
    assert_same(case, fitted, case.local_twice())


def test_predictions_are_appended_lazily(tmp_path):
    case = CASES["CategoricalNB"]
    ran = tmp_path / "ran"

    def watched(block):
        if block["colour"].to_pylist().count("colour 22"):  # in the last block alone; the first tells the names
            ran.touch()
        return block

    data = in_parts(case.table())
    fitted = case.make().fit(data, "y")
    told = fitted.predict(data.map_batches(watched, batch_format="pyarrow", batch_size=None))
    assert not ran.exists()
    assert told.columns() == [*data.columns(), "prediction"]
    assert told.schema().types[-1] == pa.int64()


def test_mistakes_are_told_by_name():
    data = in_parts(numbers())
    with pytest.raises(InvalidDataError, match=r"no column 'yy'.*Did you mean 'y'"):
        GaussianNB().fit(data, "yy")
    fitted = GaussianNB().fit(data, "y")
    with pytest.raises(InvalidDataError, match="no column 'x1'"):
        fitted.predict(data.drop_columns(["x1"]))
    with pytest.raises(InvalidDataError, match="column 'prediction' already"):
        fitted.predict(data.rename_columns({"y": "prediction"}))


def test_what_cannot_be_learned_is_refused_by_name():
    assert_refused_by_name(in_parts)


def test_workers_without_the_package_say_how_to_ship_it(tmp_path):
    environment = without_the_package(tmp_path)  # of a whole instance, so that it needs a process of its own
    script = f"""
        import ray
        from suffice.core.errors import MissingPackageError
        from suffice.naive_bayes import GaussianNB
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, runtime_env={{"env_vars": {environment}}})
        try:
            GaussianNB().fit(ray.data.from_items([{{"x": 1.0, "y": 0}}, {{"x": 2.0, "y": 1}}]), "y")
        except MissingPackageError as error:
            print("told:", error)
    """
    told = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120)
    assert 'runtime_env={"pip": ["suffice"]}' in told.stdout, told.stderr
