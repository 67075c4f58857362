"""The nomogram: each column a scale of log-odds, which add up to what the model says."""

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

import suffice as sf
from suffice.cli.demo_data import penguins
from suffice.core.errors import InvalidOptionError, NoDistributionError
from suffice.discriminant_analysis import LinearDiscriminantAnalysis
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, PoissonNB
from suffice.views.nomogram_scales import LIMIT, Nomogram, Scale, Tick, _intervals, placed

WEATHER = np.array([["sun", "hot"], ["sun", "hot"], ["rain", "mild"], ["rain", "hot"], ["sun", "mild"]], dtype=object)
PLAYED = ["no", "no", "yes", "yes", "yes"]


def by_title(found):
    return {scale.title: {tick.name: tick.at for tick in scale.ticks} for scale in found.scales}


def test_categories_stand_at_the_log_ratio_of_their_smoothed_shares():
    found = Nomogram.of(CategoricalNB().fit(WEATHER, PLAYED), names=["sky", "air"])
    assert (found.label, found.against) == ("yes", "no")
    assert found.prior == pytest.approx(np.log(3 / 2))
    scales = by_title(found)
    assert scales["sky"]["sun"] == pytest.approx(np.log((2 / 5) / (3 / 4)))  # (1 + 1)/(3 + 2) against (2 + 1)/(2 + 2)
    assert scales["air"]["mild"] == pytest.approx(np.log((3 / 5) / (1 / 4)))
    assert str(found.remainder) == ""


def test_values_that_are_read_off_add_up_to_the_log_odds_of_the_model():
    clf = CategoricalNB().fit(WEATHER, PLAYED)
    found = Nomogram.of(clf, names=["sky", "air"])
    scales = by_title(found)
    for row in WEATHER:
        p = clf.predict_proba(row[None])[0]
        total = found.prior + scales["sky"][row[0]] + scales["air"][row[1]]
        assert total == pytest.approx(np.log(p[1] / p[0]))
        assert found.probability(total) == pytest.approx(p[1])


def test_round_numbers_stand_at_the_difference_of_log_densities_and_a_scale_that_turns_has_two_parts():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    x = np.stack([rng.normal(y, 1.0), rng.normal(0.0, np.where(y == 1, 1.0, 3.0))], axis=1)
    clf = GaussianNB().fit(x, y)
    scales = {scale.title: scale for scale in Nomogram.of(clf).scales}
    assert [len(scales["x0"].runs), len(scales["x1"].runs)] == [1, 2]
    rising, falling = ([tick.at for tick in run] for run in scales["x1"].runs)
    assert rising == sorted(rising)
    assert falling == sorted(falling, reverse=True)
    for j, scale in enumerate((scales["x0"], scales["x1"])):
        for tick in scale.ticks:
            at = float(tick.name.replace("−", "-"))
            each = [norm.logpdf(at, clf.theta_[c, j], np.sqrt(clf.var_[c, j])) for c in (0, 1)]
            assert tick.at == pytest.approx(each[1] - each[0], abs=2e-3)


def test_counts_and_booleans_have_scales_too():
    y = np.arange(60) % 2
    counts = np.random.default_rng(1).poisson(1.0 + 2.0 * y[:, None], (60, 2)).astype(float)
    clf = PoissonNB().fit(counts, y)
    (scale, _) = Nomogram.of(clf).scales
    assert all(float(tick.name).is_integer() for tick in scale.ticks)
    flags = BernoulliNB().fit((counts > 1).astype(float), y)
    assert {tick.name for tick in Nomogram.of(flags).scales[0].ticks} == {"false", "true"}


@pytest.fixture(scope="module")
def birds():
    return penguins(), sf.BayesClassifier().fit(penguins(), "species")


def test_scales_are_tempered_and_what_has_none_is_said(birds):
    data, clf = birds
    found = Nomogram.of(clf, "Chinstrap", "Adelie")
    rows = {name: values[300:301] for name, values in data.items() if name != "species"}
    said = clf.evidence(rows, "Chinstrap", "Adelie")
    island = by_title(found)["island"][data["island"][300]]
    assert island == pytest.approx(said["island"][0])  # of a complete row
    assert [scale.reach for scale in found.scales] == sorted((scale.reach for scale in found.scales), reverse=True)
    text = str(found.remainder)
    assert "pairs of columns" in text
    assert "bill_length_mm − bill_depth_mm" in text
    assert "of 220 rows of training" in text  # Adelie and Chinstrap
    assert 0.9 < found.remainder.agreeing <= 1.0


def test_log_odds_beyond_the_limit_are_cut_off(birds):
    found = Nomogram.of(birds[1], "Adelie", "Gentoo")
    bill = next(scale for scale in found.scales if scale.title == "bill_depth_mm")
    assert bill.most > LIMIT
    assert bill.span == (-LIMIT, LIMIT)
    assert len([tick for tick in bill.ticks if abs(tick.at) <= LIMIT]) >= 4
    assert found.total_span == (-LIMIT, LIMIT)


def test_bins_become_few_intervals_that_cover_the_column():
    rng = np.random.default_rng(2)
    y = np.arange(400) % 2
    x = {"x": rng.normal(y, 1.0), "noise": rng.normal(size=400)}
    clf = sf.BayesClassifier({"x": sf.Binned(edges=[-1, 0, 0.5, 1, 2]), "noise": sf.Gaussian()}).fit(x, y)
    (scale, *_) = Nomogram.of(clf).scales
    names = [tick.name for tick in scale.ticks]
    assert names[0].startswith("< ")
    assert names[-1].startswith("> ")
    assert [tick.at for tick in scale.ticks] == sorted(tick.at for tick in scale.ticks)


def test_the_line_of_probabilities_inverts_the_sum(birds):
    y = np.arange(80) % 2
    two = sf.BayesClassifier().fit({"x": np.random.default_rng(4).normal(2.0 * y), "y": y}, "y")
    found = Nomogram.of(two)
    assert found.mixed > 0
    for p, at in found.probability_ticks():
        assert found.probability(at) == pytest.approx(p)
    assert not Nomogram.of(birds[1]).mixed  # of three classes, p is that of one of two


def test_names_do_not_overlap_and_ends_come_first():
    ticks = tuple(Tick(f"name {i}", float(i)) for i in range(9))
    found = placed(Scale("x", "categories", (ticks,), 0.0, 8.0), width=0.25, gap=0.1)
    sides = {tick.name: side for tick, side in found}
    assert sides["name 0"] == sides["name 8"] == 1
    for side in (1, -1):
        at = sorted(tick.at for tick, own in found if own == side)
        assert all(b - a >= 6 * 0.25 for a, b in pairwise(at))


def test_what_has_no_scales_is_refused_by_name():
    x = np.random.default_rng(3).normal(size=(30, 2)) + (np.arange(30) % 2)[:, None]
    with pytest.raises(NoDistributionError, match="speak together"):
        Nomogram.of(LinearDiscriminantAnalysis().fit(x, np.arange(30) % 2))
    with pytest.raises(NoDistributionError, match="top_words"):
        Nomogram.of(sf.TextClassifier().fit(["a dog", "a cat"] * 3, [0, 1] * 3))
    with pytest.raises(InvalidOptionError, match="found dict"):
        Nomogram.of({})
    with pytest.raises(InvalidOptionError, match="only one"):
        Nomogram.of(GaussianNB().fit(x, np.zeros(30)))


def test_the_picture_names_every_scale(birds):
    plot = pytest.importorskip("suffice.plot")
    matplotlib = pytest.importorskip("matplotlib")
    display = plot.NomogramDisplay.from_estimator(birds[1], label="Adelie", against="Chinstrap", most=3)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["prior", *(scale.title for scale in display.scales), "sum", "p(Adelie)"]
    assert len(display.scales) == 3
    assert plot.nomogram(birds[1], most=2) is not None
    with pytest.raises(InvalidOptionError, match="most must be"):
        plot.NomogramDisplay.from_estimator(birds[1], most=0)
    matplotlib.pyplot.close("all")


def test_the_report_shows_it(birds):
    from suffice import report

    html = report.render(birds[1])
    assert 'id="nomogram"' in html
    assert "Nomogram: what each value adds to the log-odds of Adelie against Gentoo" in html


def test_a_terminal_shows_it(birds, tmp_path, capsys, monkeypatch):
    from suffice.cli.program import run

    monkeypatch.chdir(tmp_path)
    birds[1].save("birds.suffice")
    assert run(["nomogram", "birds.suffice", "--top", "2", "--label", "Adelie", "--against", "Chinstrap"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("What a value adds to the log-odds of Adelie against Chinstrap\n")
    assert max(map(len, said.splitlines())) <= 80
    assert "bill_length_mm" in said
    assert "p(Adelie)" in said
    assert run(["nomogram", "birds.suffice", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scales"][0]["runs"][0][0].keys() == {"name", "at"}
    assert run(["nomogram", "birds.suffice", "-o", "birds.svg"]) == 0
    assert "<svg" in (tmp_path / "birds.svg").read_text()
    capsys.readouterr()
    assert run(["nomogram", "birds.suffice", "-o", "birds.txt"]) == 2
    assert "a picture ends in .png, .svg, .pdf" in capsys.readouterr().err
    assert run(["nomogram", "birds.suffice", "--label", "Adelie", "--against", "Adelie"]) == 2


def test_bins_whose_points_differ_without_bounds_are_merged():
    ticks = list(_intervals([0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0], np.array([0.0, 1e200, -1e200]), 0.1))
    assert [tick.at for tick in ticks] == [0.0, 1e200, -1e200]
