"""Whether the world is still the same: false alarms, changes of columns and of labels, pictures and the command."""

import copy
import json
import pickle
import threading
import time

import numpy as np
import pytest

import suffice as sf
from suffice.cli import stream_commands
from suffice.cli.program import run
from suffice.errors import InvalidDataError, InvalidOptionError
from suffice.estimators.monitor import Path
from suffice.model.betting import Bets, Ranks, odds
from suffice.model.held_back import hold_back
from suffice.naive_bayes import GaussianNB


def table(n, seed, height=0.0, share=0.5, flipped=False):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.5
    kind = np.where(rng.random(n) < share, "a", "b")
    label = np.where(y ^ flipped, "yes", "no")
    return {"height": rng.normal(height + y, 1.0), "kind": kind, "other": rng.normal(size=n), "y": label}


@pytest.fixture(scope="module")
def clf():
    return sf.BayesClassifier(structure="naive").fit(table(1500, 0), "y")


# ---- bets


def test_every_bet_pays_one_on_average():
    u = (np.arange(100_000) + 0.5) / 100_000
    low, slope = 0.5 * u**8, 4 * u**7  # p = u⁸/2 and 1 − u⁸/2: payments are unbounded at both ends
    found = ((odds(low) + odds(1 - low)) * slope[:, None]).mean(axis=0)
    np.testing.assert_allclose(found, 1.0, rtol=1e-3)  # p-values below 1e-12 pay less than they might
    assert (odds(np.array([0.0, 1.0])) > 0).all()


def test_the_wealth_is_that_of_bets_that_begin_at_each_row():
    rng = np.random.default_rng(0)
    values, ties, bets = rng.normal(size=30), rng.random(30), Bets()
    ranks = [(sum(values[:i] < v) + u) / (i + 1) for i, (v, u) in enumerate(zip(values, ties, strict=True))]
    found = [bets.bet(v, u) for v, u in zip(values, ties, strict=True)]
    pays = odds(np.array(ranks))
    for n in range(1, 31):
        rows = np.arange(1, n + 1)
        grid = np.append(1.0, 1 - (np.floor(np.log(rows) / np.log(17 / 16)) + 1) / 400)
        waits = 0.5 / (1 + np.log1p(np.arange(n + 1))) + 0.5 * grid  # after each row
        begun = sum(pays[k - 1 : n].prod(axis=0).mean() * (waits[k - 1] - waits[k]) for k in range(1, n + 1))
        assert found[n - 1] == pytest.approx(waits[n] + begun)


def test_false_alarms_are_as_rare_as_asked_for():
    rng, alarms, runs = np.random.default_rng(1), 0, 150
    for _ in range(runs):
        bets = Bets()
        values = rng.integers(0, 3, 400) if rng.random() < 0.5 else rng.standard_cauchy(400)
        alarms += any(bets.bet(float(v), float(u)) >= 10 for v, u in zip(values, rng.random(400), strict=True))
    assert alarms / runs <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / runs)


# ---- monitors


def test_streams_without_a_change_raise_few_alarms(clf):
    alarms = 0
    for seed in range(30):
        monitor = sf.Monitor(clf, rate=0.1, random_state=seed)
        alarms += bool(monitor.update(table(300, 100 + seed), "y"))
    assert alarms <= 6  # 3 are expected at most


def test_the_column_that_moved_is_named_with_when_and_how_much(clf):
    monitor = sf.Monitor(clf)
    assert monitor.update(table(500, 1), "y") == []
    alarms = {alarm.what: alarm for alarm in monitor.update(table(300, 2, height=2.5), "y")}
    assert set(alarms) >= {"height", "log p(x)"}
    assert "kind" not in alarms
    assert "other" not in alarms
    found = alarms["height"]
    assert 500 <= found.row < 560
    assert abs(found.since - 500) < 15
    assert found.change < -0.5
    assert f"since row {found.since}" in str(found)
    assert monitor.update(table(10, 3, height=2.5), "y") == []  # it was said
    assert monitor.table().values[0][1] == str(found.row)


def test_labels_that_change_given_the_rows_are_found(clf):
    monitor = sf.Monitor(clf)
    monitor.update(table(500, 1), "y")
    alarms = monitor.update(table(400, 2, flipped=True), "y")
    assert [alarm.what for alarm in alarms] == ["log p(y | x)"]


def test_the_share_of_a_category_is_watched_through_its_density():
    skewed = table(2000, 0, share=0.9)
    monitor = sf.Monitor(sf.BayesClassifier(structure="naive", families={"kind": sf.Categorical()}).fit(skewed, "y"))
    monitor.update(table(600, 1, share=0.9))
    assert "kind" in {alarm.what for alarm in monitor.update(table(600, 2, share=0.5))}


def test_rows_that_came_before_are_compared_with_from_the_beginning(clf):
    monitor = sf.Monitor(clf, reference=table(800, 5), reference_y="y")
    alarms = monitor.update(table(150, 6, height=3.0), "y")
    assert "height" in {alarm.what for alarm in alarms}
    blind = sf.Monitor(clf, reference=None)
    assert blind.update(table(150, 6, height=3.0), "y") == []


def test_rows_one_by_one_and_together_are_alike(clf):
    rows = table(60, 7)
    together, single = sf.Monitor(clf), sf.Monitor(clf)
    together.update(rows, "y")
    for i in range(60):
        single.update({name: values[i : i + 1] for name, values in rows.items()}, "y")
    for name in together.series:
        np.testing.assert_allclose(single.wealth(name), together.wealth(name), rtol=1e-9)
    assert single.reset().n_rows_ == 0


def test_numbers_are_watched_as_whole_rows():
    early, found, runs = 0, 0, 20
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(400, 2)), np.arange(400) % 2
        monitor = sf.Monitor(GaussianNB().fit(x, y), rate=0.05, random_state=seed)
        early += bool(monitor.update(rng.normal(size=(300, 2))))
        monitor.update(rng.normal(4, 1, size=(80, 2)))
        assert monitor.series == ["log p(x)", "log p(y | x)"]
        found += [alarm.what for alarm in monitor.alarms_] == ["log p(x)"]
    assert early <= 4  # one is expected at most; five or more have a probability of 0.3 %
    assert found == runs


def test_texts_are_watched_as_whole_rows():
    rng, runs, early = np.random.default_rng(0), 20, 0
    texts = [" ".join(rng.choice(["red", "blue", "green"], 4)) for _ in range(300)]
    clf = sf.TextClassifier().fit(texts, ["a", "b"] * 150)
    for seed in range(runs):
        watched = sf.Monitor(clf, rate=0.05, random_state=seed)
        shown = [texts[i] for i in np.random.default_rng(seed).integers(0, 300, 50)]
        early += bool(watched.update(shown, ["a", "b"] * 25))
        watched.update(texts[:2], ["new", None])
        assert watched.n_rows_ == 52
    assert early <= 4  # as above


def test_what_makes_no_sense_is_refused(clf):
    for rate in (0, 1, -1, "often"):
        with pytest.raises(InvalidOptionError, match="rate"):
            sf.Monitor(clf, rate=rate)
    with pytest.raises(InvalidOptionError, match="fitted classifier"):
        sf.Monitor("clf")
    monitor = sf.Monitor(clf)
    with pytest.raises(InvalidDataError, match="3 labels"):
        monitor.update(table(1, 0), ["a", "b", "c"])
    with pytest.raises(InvalidOptionError, match="no series"):
        monitor.wealth("weight")
    assert monitor.n_rows_ == 0


def test_a_monitor_is_drawn(clf):
    pytest.importorskip("matplotlib").use("agg")
    monitor = sf.Monitor(clf)
    with pytest.raises(InvalidDataError, match="not seen"):
        sf.plot.monitor(monitor)
    monitor.update(table(200, 1), "y")
    monitor.update(table(100, 2, height=3.0), "y")
    ax = sf.plot.monitor(monitor, most=2)
    assert len(ax.get_legend().get_texts()) == 2
    assert ax.get_yscale() == "log"


def test_a_page_tells_what_was_seen(clf, tmp_path):
    monitor = sf.Monitor(clf)
    with pytest.raises(InvalidDataError, match="not seen"):
        sf.report.write_monitor(monitor, tmp_path / "watch.html")
    monitor.update(table(200, 1), "y")
    assert "Nothing has changed" in sf.report.render_monitor(monitor)
    monitor.update(table(100, 2, height=3.0) | {"other": np.zeros(100)}, "y")
    sf.report.write_monitor(monitor, tmp_path / "watch.html", title="<shop>")
    page = (tmp_path / "watch.html").read_text()
    assert "&lt;shop&gt;" in page
    assert "<shop>" not in page
    for alarm in monitor.alarms_:
        assert f"since row {alarm.since}" in page
    assert page.count("<path") >= len(monitor.series)
    assert "nan" not in page


def test_memory_is_bounded_and_the_path_has_the_last_row():
    bets = Bets()
    for value, tie in np.random.default_rng(0).random((30_000, 2)) * [20.0, 1.0]:
        bets.bet(-20.0 - value, tie)
    assert len(bets.seen.cells) < 1000
    assert bets.seen.n == 30_000
    assert len(bets.recent) <= 10_000
    path = Path()
    for row in range(1, 20_001):
        path.add(row, [float(row)])
        assert path.rows[-1] == row
    assert len(path.rows) <= 4096
    assert [values[0] for values in path.values] == path.rows
    assert np.diff(path.rows).min() >= 1


def test_ranks_of_cells_are_ranks_of_the_rounded_numbers():
    rng = np.random.default_rng(2)
    values, ranks = rng.normal(size=300) * 10.0 ** rng.integers(-3, 4, 300), Ranks()
    for i, value in enumerate(values):
        cells = [Ranks.cell(each) for each in values[: i + 1]]
        assert ranks.add(value) == (sum(c < cells[-1] for c in cells), cells.count(cells[-1]) - 1)
    assert all(Ranks.cell(a) <= Ranks.cell(b) for a, b in zip(sorted(values)[:-1], sorted(values)[1:], strict=True))


@pytest.mark.parametrize("structure", ["auto", "naive"])
def test_kept_rows_do_not_raise_false_alarms(structure):
    alarms, runs = 0, 25
    for seed in range(runs):
        model = sf.BayesClassifier(structure=structure).fit(table(260, 2000 + seed), "y")
        monitor = sf.Monitor(model, rate=0.1, random_state=seed)
        assert monitor.n_reference_ == 65
        alarms += bool(monitor.update(table(200, 3000 + seed), "y"))
    assert alarms <= 7  # 2.5 are expected at most; eight or more have a probability of 0.2 %


def test_rows_that_are_different_from_the_first_one_on_are_found_by_kept_rows(clf):
    found = sf.Monitor(clf).update(table(100, 6, height=2.0), "y")
    assert found[0].what in ("height", "log p(x)")
    assert found[0].row < 40
    held = hold_back(clf._learned)
    rest = sf.BayesClassifier(structure="naive").fit(table(1500, 0), "y")
    assert held.learned.seen.weight.sum() + len(held.labels) == rest._learned.seen.weight.sum()
    with pytest.raises(InvalidOptionError, match="reference must be"):
        sf.Monitor(clf, reference="all")
    weighted = sf.BayesClassifier(structure="naive").fit(table(400, 0), "y", sample_weight=np.full(400, 2.0))
    assert sf.Monitor(weighted).n_reference_ == 0


# ---- the command


def write(path, *tables, mode="w"):
    with path.open(mode) as out:
        for each in tables:
            for i in range(len(each["y"])):
                row = {name: values[i] for name, values in each.items()}
                out.write(json.dumps({k: float(v) if isinstance(v, float) else str(v) for k, v in row.items()}) + "\n")


def test_files_are_watched(clf, tmp_path, capsys):
    clf.save(tmp_path / "m.suffice")
    write(tmp_path / "same.jsonl", table(300, 1))
    write(tmp_path / "moved.jsonl", table(300, 1), table(150, 2, height=3.0))
    model = str(tmp_path / "m.suffice")
    assert run(["watch", model, str(tmp_path / "same.jsonl"), "-t", "y"]) == 0
    assert "after 300 rows" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert run(["watch", model, str(tmp_path / "moved.jsonl"), "-t", "y", "--json", "--page", str(page)]) == 1
    assert "height is less probable" in page.read_text()
    alarms = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "height" in {alarm["what"] for alarm in alarms}


def test_files_are_compared_with_rows_of_another_file(clf, tmp_path, capsys):
    clf.save(tmp_path / "m.suffice")
    model, moved, before = str(tmp_path / "m.suffice"), tmp_path / "moved.jsonl", tmp_path / "before.jsonl"
    write(moved, table(300, 1, height=3.0))
    write(before, table(300, 2, height=3.0))
    assert run(["watch", model, str(moved)]) == 1
    for more in ([], ["-t", "y"]):
        assert run(["watch", model, str(moved), "--reference", str(before), *more]) == 0
    unlabelled = tmp_path / "unlabelled.jsonl"
    write(unlabelled, table(300, 2, height=3.0))
    unlabelled.write_text(unlabelled.read_text().replace('"y"', '"label"'))
    capsys.readouterr()
    assert run(["watch", model, str(moved), "--reference", str(unlabelled), "-t", "y"]) == 0
    assert run(["watch", model, str(moved), "--reference", str(before), "--no-kept"]) == 2
    assert "--reference" in capsys.readouterr().err


def test_a_file_that_grows_is_followed(clf, tmp_path, capsys, monkeypatch):
    clf.save(tmp_path / "m.suffice")
    path = tmp_path / "grows.jsonl"
    write(path, table(150, 1))
    monkeypatch.setattr(stream_commands, "PAUSE", 0.01)
    growing, seen = stream_commands._growing, []

    def until_all(lines):
        for line in growing(lines):
            seen.append(line)
            yield line
            if len(seen) == 250:
                raise KeyboardInterrupt

    monkeypatch.setattr(stream_commands, "_growing", until_all)

    def grow():
        while len(seen) < 150:
            time.sleep(0.01)
        write(path, table(100, 2, height=4.0), mode="a")

    thread = threading.Thread(target=grow)
    thread.start()
    code = run(["watch", str(tmp_path / "m.suffice"), str(path), "--follow", "-t", "y"])
    thread.join()
    assert code == 1
    assert "height is less probable" in capsys.readouterr().out
    assert run(["watch", str(tmp_path / "m.suffice"), "-", "--follow"]) == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_of_a_monitor_watch_apart(copied):
    rows = {"a": np.arange(40.0) % 7}
    monitor = sf.Monitor(sf.BayesClassifier(structure="naive").fit(rows, np.arange(40) % 2))
    monitor.update(rows)
    made, before = copied(monitor), monitor.wealth("a")
    made.update(rows)
    assert (monitor.n_rows_, made.n_rows_) == (40, 80)
    np.testing.assert_array_equal(monitor.wealth("a"), before)
    monitor.update(rows)
    np.testing.assert_array_equal(monitor.wealth("a"), made.wealth("a"))
