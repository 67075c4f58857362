"""Clusters of rows without labels: EM as in the books, for columns of any kind, wherever the rows are."""

import json
import logging
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from typer.testing import CliRunner

import suffice as sf
from suffice.cli.program import app
from suffice.core.errors import InvalidDataError, InvalidOptionError, LeftOutWarning, NotConvergedWarning
from suffice.model import clusters as module

RNG = np.random.default_rng(3)
Z = np.repeat([0, 1, 2], [150, 90, 60])
X = RNG.normal(size=(300, 2)) * [1.0, 0.6] + np.array([[0.0, 0.0], [4.0, 1.0], [0.0, 5.0]])[Z]
WORDS = np.array(["apple pear plum day", "bolt screw nail day", "cloud rain wind day"])
MIXED = pa.table(
    {
        "size": pa.array(X[:, 0], mask=RNG.random(300) < 0.2),
        "price": np.exp(RNG.normal(Z % 2, 0.8)),
        "gain": np.where(RNG.random(300) < 0.5, 0.0, RNG.exponential(1.0 + Z)),
        "colour": pa.array([str(k) if RNG.random() < 0.8 else "red" for k in Z], mask=RNG.random(300) < 0.1),
        "round": RNG.random(300) < 0.2 + 0.3 * Z,
        "note": [" ".join(RNG.choice(WORDS[k].split(), 8)) + " and so on, and on" for k in Z],
    }
)


class Oracle:
    """EM of independent Gaussians by maximum likelihood, in NumPy."""

    def __init__(self, share, mean, deviation):
        self.share, self.mean, self.deviation = share, mean, deviation

    @classmethod
    def of(cls, clf):
        parts = clf.model_.distribution.parts
        mean, variance = (np.concatenate([getattr(p, each) for p in parts], axis=1) for each in ("mean", "variance"))
        return cls(np.exp(clf.model_.log_prior), mean, np.sqrt(variance))

    def log_joint(self, x):
        return np.log(self.share) + norm.logpdf(x[:, None], self.mean, self.deviation).sum(axis=2)

    def log_density(self, x):
        return logsumexp(self.log_joint(x), axis=1)

    def step(self, x):
        joint = self.log_joint(x)
        p = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        n = p.sum(axis=0)
        mean = p.T @ x / n[:, None]
        variance = np.einsum("ik,ikj->kj", p, (x[:, None] - mean) ** 2) / n[:, None]
        return Oracle(n / len(x), mean, np.sqrt(variance))


PLAIN = {"x0": sf.Gaussian(prior=None), "x1": sf.Gaussian(prior=None)}


def test_one_pass_is_a_step_of_em_in_numpy():
    clf = sf.cluster(X, 3, families=PLAIN)
    rows = module.SomeRows(clf._learned.family.read(clf._check_X(X)), np.ones(len(X)))
    start = module.seeded(module.by_size(_one(clf)), rows, 3, np.random.default_rng(0))
    ours, oracle = start, Oracle.of(_with(clf, start))
    reached = []
    for _ in range(12):
        ours, oracle = module.climbed(ours, rows.divide, rows, steps=1)[0], oracle.step(X)
        now = Oracle.of(_with(clf, ours))
        for name in ("share", "mean", "deviation"):
            assert_allclose(getattr(now, name), getattr(oracle, name), rtol=1e-6)
        reached.append(oracle.log_density(X).mean())
    assert (np.diff(reached) > -1e-9).all()


def _one(clf):
    learned = clf._learned
    rows = learned.family.read(clf._check_X(X))
    return replace(learned, seen=learned.family.summarize(rows, np.zeros(len(X), dtype=int)))


def _with(clf, learned):
    other = pickle.loads(pickle.dumps(clf))
    other._learned = learned
    return other


def test_the_clusters_are_the_top_of_the_hill_and_no_begin_of_a_peer_is_higher():
    clf = sf.cluster(X, 3, families=PLAIN)
    oracle = Oracle.of(clf)
    assert_allclose(oracle.log_density(X), clf.score_samples(X), rtol=1e-9)
    assert oracle.step(X).log_density(X).mean() - oracle.log_density(X).mean() < 1e-4
    peer = GaussianMixture(3, covariance_type="diag", n_init=10, random_state=0, tol=1e-9, max_iter=1000).fit(X)
    assert clf.score_samples(X).mean() > peer.score(X) - 1e-3
    assert adjusted_rand_score(Z, clf.predict(X)) > 0.95


def test_the_number_is_found_by_rows_that_are_left_out():
    clf = sf.cluster(X, most=6)
    assert len(clf.classes_) == 3
    tried = clf.clustering_
    best = np.argmax(tried.values[:, 1].astype(float))
    assert tried.rows[best] == "3"
    one = tried.rows.index("1")
    apart = [GaussianMixture(1, covariance_type="diag").fit(X[i != np.arange(300) % 3]) for i in range(3)]
    expected = np.mean([apart[i % 3].score_samples(X[i : i + 1])[0] for i in range(300)])
    assert float(tried.values[one, 1]) == pytest.approx(expected, abs=0.1)


def test_columns_of_all_kinds_with_gaps_and_texts_are_clustered_together():
    clf = sf.cluster(MIXED, 3)
    assert adjusted_rand_score(Z, clf.predict(MIXED)) > 0.95
    kinds = dict(zip(clf.schema_.rows, clf.schema_.values[:, 0], strict=True))
    assert kinds == {
        "size": "Gaussian",
        "price": "LogNormal",
        "gain": "Binned",
        "colour": "Categorical",
        "round": "Bernoulli",
        "note": "Text",
    }
    assert clf.classes_.tolist() == [0, 1, 2]
    assert (np.diff(clf.class_count_) <= 0).all()
    assert clf.class_count_.sum() == pytest.approx(300)


def test_the_result_is_a_classifier_like_any_other(tmp_path):
    clf = sf.cluster(MIXED, 3)
    clf.save(tmp_path / "c.suffice")
    loaded = sf.load(tmp_path / "c.suffice")
    assert_array_equal(loaded.predict_proba(MIXED), clf.predict_proba(MIXED))
    drawn, labels = clf.sample(20, random_state=0)
    assert drawn.column_names == MIXED.column_names
    assert set(labels) <= {0, 1, 2}
    evidence = clf.evidence(MIXED.slice(0, 3)).to_pandas()
    parts = evidence.drop(columns=["label", "against", "log_odds"]).sum(axis=1)
    assert_allclose(parts, evidence["log_odds"], rtol=1e-9)
    assert not clf.impute(MIXED)["size"].null_count
    both = clf + loaded
    assert_allclose(both.class_count_, 2 * clf.class_count_)
    assert type(sf.cluster(MIXED.to_pandas(), 2).sample(2)[0]) is pd.DataFrame


def test_lists_of_texts_are_clustered_by_their_words():
    texts = MIXED["note"].to_pylist()
    clf = sf.cluster(texts, 3)
    assert isinstance(clf, sf.TextClassifier)
    assert adjusted_rand_score(Z, clf.predict(texts)) > 0.9
    assert clf.predict(["screw nail bolt"]) != clf.predict(["apple plum"])
    with pytest.raises(InvalidOptionError, match="these rows are texts"):
        sf.cluster(texts, 3, families={"a": None})


def test_the_same_seed_gives_the_same_bits_and_weights_are_repeated_rows():
    a, b = (sf.cluster(X, 3, random_state=5).predict_proba(X) for _ in range(2))
    assert_array_equal(a, b)
    weight = 1.0 + (np.arange(300) % 2)
    heavy = sf.cluster(X, 3, families=PLAIN, sample_weight=weight)
    twice = sf.cluster(np.repeat(X, weight.astype(int), axis=0), 3, families=PLAIN)
    assert_allclose(heavy.predict_proba(X), twice.predict_proba(X), atol=2e-3)
    table = pa.table({"x0": X[:, 0], "x1": X[:, 1], "w": weight})
    named = sf.cluster(table, 3, families=PLAIN, sample_weight="w")
    assert_array_equal(named.predict_proba(table), heavy.predict_proba(X))


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_a_covariance_finds_what_independent_columns_do_not(covariance):
    rng = np.random.default_rng(0)
    z, long, flat = np.repeat([0, 1], 200), rng.normal(0, 3, 400), rng.normal(0, 0.3, 400)
    if covariance == "full":  # two lines that cross
        rows = np.stack([long, np.where(z, -long, long) + flat + 4 * z], axis=1)
    else:  # two lines side by side
        rows = np.stack([long, long + flat + 2 * z], axis=1)
    together = sf.cluster(rows, 2, covariance=covariance)
    apart = sf.cluster(rows, 2, covariance="diagonal")
    found = adjusted_rand_score(z, together.predict(rows))
    assert found > 0.7
    assert adjusted_rand_score(z, apart.predict(rows)) < 0.5
    peer = GaussianMixture(2, covariance_type=covariance, n_init=5, random_state=0).fit(rows)
    assert together.score_samples(rows).mean() > peer.score(rows) - 0.1  # whose covariance has no prior
    assert adjusted_rand_score(z, sf.cluster(rows, 2).predict(rows)) == pytest.approx(found, abs=0.05)  # it is chosen


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3])
def test_a_covariance_is_tried_where_most_rows_have_no_gap(share):
    rng = np.random.default_rng(0)
    z, long, flat = np.repeat([0, 1], 200), rng.normal(0, 3, 400), rng.normal(0, 0.3, 400)
    rows = np.stack([long, long + flat + 2 * z], axis=1)  # two lines side by side
    gaps = rng.random(400) < share
    rows[gaps, rng.integers(0, 2, gaps.sum())] = np.nan
    clf = sf.cluster(rows, 2)
    assert {"diagonal", "tied", "full"} == set(clf.clustering_.values[:, 0])
    assert adjusted_rand_score(z[~gaps], clf.predict(rows)[~gaps]) > 0.9
    assert clf.class_count_.sum() == pytest.approx(400)
    rows[rng.random(400) < 0.6, 0] = np.nan  # too many are left to tell, unless it is asked for
    assert len(sf.cluster(rows, 2).clustering_.rows) == 0
    asked = sf.cluster(rows, 2, covariance="tied")
    assert np.isfinite(asked.predict_proba(rows)).all()


def test_species_of_penguins_are_found_though_two_have_no_measures():
    from suffice.cli.demo_data import penguins

    columns = penguins()
    species = columns.pop("species")
    assert adjusted_rand_score(species, sf.cluster(columns, 3).predict(columns)) > 0.95


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_are_clustered_in_passes_as_memory_is(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.estimators.clustering.SAMPLE", 120)
    if kind == "parquet":
        pq.write_table(MIXED, tmp_path / "rows.parquet", row_group_size=70)
    else:
        MIXED.to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    there = sf.cluster(str(tmp_path / f"rows.{kind}"), 3)
    assert adjusted_rand_score(Z, there.predict(MIXED)) > 0.95
    here = sf.cluster(MIXED, 3)
    agree = max(
        np.abs(there.predict_proba(MIXED)[:, list(order)] - here.predict_proba(MIXED)).mean() < 0.01
        for order in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)]
    )
    assert agree


def test_what_makes_no_sense_is_refused_by_name():
    with pytest.raises(InvalidDataError, match="5 clusters were asked for, of 3 rows"):
        sf.cluster(X[:3], 5)
    for bad in (0, -1, 2.5, True, "3"):
        with pytest.raises(InvalidOptionError, match="n_clusters must be an integer of at least 1"):
            sf.cluster(X, bad)
    with pytest.raises(InvalidOptionError, match="covariance must be"):
        sf.cluster(X, 2, covariance="round")
    with pytest.raises(InvalidOptionError, match="families must be 'auto'"):
        sf.cluster(X, 2, families="gaussian")
    with pytest.raises(InvalidOptionError, match="A stream can be read once"):
        sf.cluster(pa.RecordBatchReader.from_batches(MIXED.schema, MIXED.to_batches()), 2)
    with pytest.raises(InvalidDataError, match="No column is left"):
        sf.cluster({"a": [1.0] * 60}, 2)
    with pytest.raises(InvalidDataError, match="total weight"):
        sf.cluster(X, 2, sample_weight=np.zeros(300))
    with pytest.warns(LeftOutWarning, match="'same' \\(it holds one value\\)"):
        sf.cluster({"x": X[:, 0], "same": np.zeros(300)}, 2)


def test_rows_that_are_all_the_same_or_few_make_no_error():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        same = sf.cluster({"x": [1.0, 2.0] * 20}, 3)
        assert np.isfinite(same.predict_proba({"x": [1.0, 2.0]})).all()
        assert len(sf.cluster(X[:4], 4).classes_) <= 4
        assert len(sf.cluster(X[:2]).classes_) <= 2


def test_progress_is_logged(caplog):
    with caplog.at_level(logging.INFO, "suffice.model.clusters"):
        sf.cluster(X[::3], most=2)
    assert any("2 clusters: log p(x) of rows left out" in line for line in caplog.messages)


def test_the_command_makes_a_model_that_predicts(tmp_path):
    file, model = tmp_path / "rows.csv", tmp_path / "c.suffice"
    MIXED.to_pandas().to_csv(file, index=False)
    done = CliRunner().invoke(app, ["cluster", str(file), "-k", "3", "--drop", "gain", "-o", str(model), "--json"])
    assert done.exit_code == 0, done.output
    assert {each["label"] for each in json.loads(done.stdout)["classes"]} == {0, 1, 2}
    assert adjusted_rand_score(Z, sf.load(model).predict(MIXED)) > 0.95
    shown = CliRunner().invoke(app, ["cluster", str(file), "--most", "2", "-o", str(model), "--families", "size=none"])
    assert shown.exit_code == 0, shown.output
    assert "Tried" in shown.output
