"""Tables as they come: numbers and dates in strings, names of rows, missing labels, rows and columns in odd forms."""

from __future__ import annotations

import warnings
from datetime import date, datetime, time, timedelta
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from suffice.core.frames import ColumnReading, as_frame, with_readings
from suffice.core.frames.written_values import (
    date_form,
    dates_written,
    durations_written,
    number_form,
    numbers_written,
    times_written,
)
from suffice.naive_bayes import GaussianNB


def rows_of(clf):
    return dict(zip(clf.schema_.rows, clf.schema_.values.tolist(), strict=True))


def messy(n=240, seed=0):
    """A table of strings as people write them, whose numbers separate two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    day = pd.Timestamp("2022-01-05") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    amount = np.round(rng.normal(5000 + 3000 * y, 1500).clip(1), 2)
    return pd.DataFrame(
        {
            "amount": [f"${each:,.2f}" for each in amount],
            "share": [f"{each:.1f}%" for each in rng.normal(50 + 10 * y, 10)],
            "comma": [f"{each:.2f}".replace(".", ",") for each in rng.normal(5 + y, 1)],
            "on": day.strftime("%Y-%m-%d"),
            "at": day + pd.to_timedelta(np.where(y, 9, 15) + rng.integers(0, 6, n), unit="h"),
            "wait": pd.to_timedelta(np.round(rng.exponential(100.0 * (1 + 4 * y))), unit="s"),
            "y": np.where(y, "pos", "neg"),
        }
    ), amount


# ---------------------------------------------------------------------------------------------- reading strings


@pytest.mark.parametrize(
    ("text", "sign", "value"),
    [
        ("1.23", ".", 1.23),
        (" -7 ", ".", -7.0),
        ("+1e3", ".", 1000.0),
        ("50.1%", ".", 0.501),
        ("5,20", ",", 5.2),
        ("1.234,5", ",", 1234.5),
        ("$5,000.00", ".", 5000.0),
        ("-$12", ".", -12.0),
        ("12 €", ".", 12.0),
        ("CHF 12.50", ".", 12.5),
        ("1'000", ".", 1000.0),
        ("1 000 000", ".", 1e6),
        ("−3.5", ".", -3.5),
        (".5", ".", 0.5),
        ("5.", ".", 5.0),
        ("5,20", ".", np.nan),
        ("1,2,3", ".", np.nan),
        ("12 apples", ".", np.nan),
        ("n/a", ".", np.nan),
        ("", ".", np.nan),
        ("$", ".", np.nan),
        ("12345678901234567890", ".", np.nan),
    ],
)
def test_a_number_reads_as_it_is_written(text, sign, value):
    for kind in (pa.string(), pa.large_string()):
        assert_array_equal(numbers_written(pa.array([text, None], kind), sign), [value, np.nan])


@pytest.mark.parametrize(
    ("text", "form", "value"),
    [
        ("2024-03-01", "%Y-%m-%d", datetime(2024, 3, 1)),
        ("2024-03-01T14:30:05Z", "%Y-%m-%d", datetime(2024, 3, 1, 14, 30, 5)),
        ("2024-03-01 14:30:05.25+02:00", "%Y-%m-%d", datetime(2024, 3, 1, 14, 30, 5)),
        ("01.03.2024 7:05", "%d.%m.%Y", datetime(2024, 3, 1, 7, 5)),
        ("3/1/2024 2:30 PM", "%m/%d/%Y", datetime(2024, 3, 1, 14, 30)),
        ("1 March 2024", "%d %b %Y", datetime(2024, 3, 1)),
        ("Mar 1, 2024", "%b %d, %Y", datetime(2024, 3, 1)),
        ("29/02/2024", "%d/%m/%Y", datetime(2024, 2, 29)),
        ("31/02/2024", "%d/%m/%Y", None),
        ("2024-13-01", "%Y-%m-%d", None),
        ("soon", "%Y-%m-%d", None),
    ],
)
def test_a_date_reads_as_it_is_written(text, form, value):
    assert dates_written(pa.array([text, None]), form).to_pylist() == [value, None]


def test_times_of_day_and_durations_read_as_numbers():
    assert_allclose(times_written(pa.array(["14:30", "2:30 pm", "00:00:36", "later"])), [14.5, 14.5, 0.01, np.nan])
    assert_allclose(
        durations_written(pa.array(["1 days 02:00:01.5", "0 days 00:01:00", "-1 days +23:59:00", "x"])),
        [86400 + 7201.5, 60, -60, np.nan],
    )


@pytest.mark.parametrize(
    ("texts", "sign"),
    [
        (["1", "2.5", "n/a", "?", ""], "."),
        (["1,5", "2,25", "3,125"], ","),
        (["1,500", "2,250"], "."),
        (["1"] * 19 + ["x"], "."),
        (["1"] * 18 + ["x"] * 2, None),
        (["02134", "10001"], None),
        (["n/a", "?"], None),
        (["a1", "a2"], None),
    ],
)
def test_numbers_are_recognized_where_nearly_all_values_read(texts, sign):
    assert number_form(pa.array(texts), np.ones(len(texts))) == sign


def test_the_order_of_day_and_month_is_the_one_that_reads_more():
    def form(*texts):
        return date_form(pa.array(texts), np.ones(len(texts)))

    assert form("3/4/2024", "5/6/2024") == "%m/%d/%Y"
    assert form("3/4/2024", "25/6/2024") == "%d/%m/%Y"
    assert form("3/25/2024", "5/6/2024") == "%m/%d/%Y"
    assert form("a/b/2024", "5/6/2024") is None


def test_parts_of_a_date_are_those_of_the_calendar():
    days = [datetime(2024, 3, 1, 14), datetime(1999, 12, 31), None]
    parts = ("year", "month", "weekday", "hour", "days")
    for column in (
        pa.array(days),
        pa.array(days, pa.timestamp("ns")),
        pa.array([day and day.isoformat() for day in days]),
        pa.array(days, pa.timestamp("us")).dictionary_encode(),
    ):
        found = with_readings(as_frame({"t": column}), [ColumnReading("t", f"t {part}", part) for part in parts])
        assert_array_equal(found.column("t year").to_pylist(), [2024, 1999, np.nan])
        assert_array_equal(found.column("t month").to_pylist(), [3, 12, np.nan])
        assert_array_equal(found.column("t weekday").to_pylist(), [days[0].weekday(), days[1].weekday(), np.nan])
        assert_array_equal(found.column("t hour").to_pylist(), [14, 0, np.nan])
        since = [(day - datetime(2000, 1, 1)) / timedelta(days=1) for day in days[:2]]
        assert_allclose(found.column("t days").to_pylist()[:2], since)


def test_the_hour_of_a_time_with_a_zone_is_the_hour_there():
    column = pa.array([datetime(2024, 7, 1, 12)], pa.timestamp("us", tz="Europe/Berlin"))
    found = with_readings(as_frame({"t": column}), [ColumnReading("t", "t hour", "hour")])
    assert found.column("t hour").to_pylist() == [14.0]


def test_a_reading_that_makes_no_sense_is_refused():
    with pytest.raises(sf.InvalidOptionError, match="form must be one of"):
        ColumnReading("a", "a", "number", "%Y")
    with pytest.raises(sf.InvalidOptionError, match="needs a name of its own"):
        ColumnReading("a", "a", "month")
    with pytest.raises(sf.InvalidDataError, match=r"'a' has the Arrow type int64, but the model has the month"):
        with_readings(as_frame({"a": [3]}), [ColumnReading("a", "a month", "month")])


# --------------------------------------------------------------------------------------------- columns of a table


def test_strings_that_hold_numbers_and_dates_are_learned_as_numbers():
    frame, amount = messy()
    clf = sf.BayesClassifier().fit(frame, "y")
    shown = rows_of(clf)
    assert shown["amount"][3] == "strings read as numbers"
    assert shown["comma"][3] == "strings read as numbers, with a decimal comma"
    assert shown["wait"][3] == "a duration in seconds"
    assert shown["on month"][3].startswith("the month, read from dates like %Y-%m-%d")
    assert shown["at hour"][1] == "yes"
    assert "at year" in shown
    assert "on hour" not in shown, "days have no hour"
    clean = pd.DataFrame(
        {
            "amount": amount,
            "share": [float(each[:-1]) / 100 for each in frame["share"]],
            "comma": [float(each.replace(",", ".")) for each in frame["comma"]],
            "wait": frame["wait"].dt.total_seconds(),
            "y": frame["y"],
        }
    )
    for part in ("on", "at"):
        day = pd.to_datetime(frame[part])
        clean[f"{part} year"], clean[f"{part} month"] = day.dt.year, day.dt.month
        clean[f"{part} weekday"] = day.dt.day_of_week
        clean[f"{part} days"] = (day - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1)
    clean["at hour"] = frame["at"].dt.hour
    order = ["amount", "share", "comma", *(f"on {p}" for p in ("year", "month", "weekday", "days"))]
    order += [*(f"at {p}" for p in ("year", "month", "weekday", "hour", "days")), "wait", "y"]
    same = sf.BayesClassifier().fit(clean[order], "y")
    assert_allclose(clf.predict_proba(frame), same.predict_proba(clean), rtol=1e-9)


def test_a_model_with_readings_is_saved_merged_forgotten_and_left_out_as_any(tmp_path):
    frame, _ = messy()
    clf = sf.BayesClassifier().fit(frame, "y")
    clf.save(tmp_path / "m.suffice")
    assert_array_equal(sf.load(tmp_path / "m.suffice").predict_proba(frame), clf.predict_proba(frame))
    one, two = frame.iloc[:120], frame.iloc[120:]
    halves = sf.BayesClassifier().fit(one, "y") + sf.BayesClassifier().fit(two, "y")
    assert_array_equal(halves.predict_proba(frame), clf.predict_proba(frame))
    grown = sf.BayesClassifier().fit(one, "y").partial_fit(two, "y")
    assert_array_equal(grown.predict_proba(frame), clf.predict_proba(frame))
    assert_array_equal(
        grown.forget(two, "y").predict_proba(frame), sf.BayesClassifier().fit(one, "y").predict_proba(frame)
    )
    assert clf.leave_one_out(frame, "y").shape == (240, 2)


def test_files_and_streams_read_columns_as_memory_does(tmp_path):
    frame, _ = messy()
    frame = frame.drop(columns="wait")
    frame.to_csv(tmp_path / "m.csv", index=False)
    table = pa.Table.from_pandas(frame)
    clf = sf.BayesClassifier().fit(frame, "y")
    for data in (tmp_path / "m.csv", iter(table.to_batches(50))):
        found = sf.BayesClassifier().fit(data, "y")
        assert_allclose(found.predict_proba(frame), clf.predict_proba(frame), rtol=1e-9)
    answers = clf.predict_proba(tmp_path / "m.csv").read_all()
    assert_allclose(answers["probability pos"], clf.predict_proba(frame)[:, 1], rtol=1e-9)


def test_rows_of_a_service_come_as_one_dict_with_dates_as_strings():
    frame, amount = messy()
    clf = sf.BayesClassifier().fit(frame, "y")
    row = frame.iloc[0].to_dict()
    row = row | {"at": row["at"].isoformat(), "amount": float(amount[0])}
    row.pop("y")
    assert_allclose(clf.predict_proba(row), clf.predict_proba(frame.iloc[:1]), rtol=1e-12)
    assert clf.predict([row]).tolist() == clf.predict(row).tolist()


def test_the_user_says_otherwise_by_the_name_of_a_family():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = {"zip": [str(10000 + each) for each in rng.integers(0, 9, 200) + 3 * y], "on": [None] * 200, "y": y}
    table["on"] = [f"2024-0{1 + each}-01" for each in rng.integers(0, 3, 200)]
    assert rows_of(sf.BayesClassifier().fit(table, "y"))["zip"][3] == "strings read as numbers"
    clf = sf.BayesClassifier({"zip": "categorical", "on month": "categorical", "on days": "none"}).fit(table, "y")
    shown = rows_of(clf)
    assert shown["zip"][0] == shown["on month"][0] == "Categorical"
    assert shown["on days"][1:] == ["left out", "", "left out as asked"]
    assert np.isfinite(clf.predict_proba({"zip": "10004", "on": "2024-02-01"})).all()
    number = sf.BayesClassifier({"zip": "gaussian", "on": sf.Gaussian()}).fit(table, "y")
    assert rows_of(number)["on"][3] == "days since 2000-01-01, read from dates like %Y-%m-%d"
    left = sf.BayesClassifier({"on": None}).fit(table, "y")
    assert list(rows_of(left))[:2] == ["zip", "on"]
    with pytest.raises(sf.InvalidDataError, match="no column 'on hours'"):
        sf.BayesClassifier({"on hours": "gaussian"}).fit(table, "y")


def test_entries_that_do_not_read_count_as_missing_and_are_counted():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    x = [f"{each:.3f}" for each in rng.normal(size=200) + y]
    x[3], x[5], x[7] = "n/a", "broken", "?"
    with pytest.warns(sf.LeftOutWarning, match="1 values of column 'x' that do not read"):
        clf = sf.BayesClassifier().fit({"x": x, "y": y}, "y")
    for gap in ("n/a", "???", None):
        assert_array_equal(clf.predict_proba({"x": [gap]}), clf.predict_proba({"x": [np.nan]}))


def test_sampled_rows_can_be_predicted_and_missing_numbers_are_filled():
    frame, _ = messy()
    clf = sf.BayesClassifier().fit(frame, "y")
    drawn, labels = clf.sample(50, random_state=0)
    assert "at hour" in drawn
    assert (clf.predict(drawn) == labels).mean() > 0.8
    gaps = frame.assign(amount=[None, *frame["amount"][1:]])
    assert 1000 < clf.impute(gaps)["amount"].iloc[0] < 20000
    assert clf.impute(gaps)["on"].tolist() == frame["on"].tolist()


def test_sql_refuses_columns_that_a_database_does_not_read():
    frame, _ = messy()
    with pytest.raises(sf.NoFormulaError, match=r"'amount' is strings read as numbers; .*Convert these columns"):
        sf.BayesClassifier().fit(frame, "y").to_sql()


def test_a_part_of_a_date_never_replaces_a_column_of_that_name():
    table = {"on": [date(2020 + i % 3, 1 + i % 12, 1) for i in range(90)], "on month": ["a", "b"] * 45}
    clf = sf.BayesClassifier().fit(table, [0, 1] * 45)
    assert rows_of(clf)["on month"][:2] == ["categorical", "yes"]


def test_times_of_day_are_hours():
    table = {
        "t": [time(8 + i % 2 * 6, i % 60) for i in range(80)],
        "s": [f"{8 + i % 2 * 6}:{i % 60:02d}" for i in range(80)],
    }
    shown = rows_of(sf.BayesClassifier().fit(table, [0, 1] * 40))
    assert shown["t"] == shown["s"]
    assert shown["t"][1] == "yes"
    assert shown["t"][3] == "a time of day in hours"


def test_codes_of_few_integers_are_judged_as_categories_too():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    code = np.where(rng.random(600) < 0.8, np.where(y, 2, rng.choice([1, 3], 600)), rng.integers(1, 4, 600))
    clf = sf.BayesClassifier(found_columns=False).fit({"code": code, "y": y}, "y")
    assert rows_of(clf)["code"][0] in ("values", "bins")
    named = sf.BayesClassifier().fit({"code": [f"c{each}" for each in code], "y": y}, "y")
    assert abs(clf.score({"code": code}, y) - named.score({"code": [f"c{each}" for each in code]}, y)) < 1e-12


# ------------------------------------------------------------------------------------- columns that name rows


def unnamed_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return {"x": rng.normal(size=n) + y, "y": y}, rng


@pytest.mark.parametrize(
    "name",
    [
        lambda rng: str(UUID(bytes=rng.bytes(16))),
        lambda rng: rng.bytes(32).hex(),
        lambda rng: f"https://example.com/{rng.bytes(8).hex()}?page={rng.integers(9)}",
        lambda rng: f"user{rng.integers(10**9)}",
    ],
    ids=["uuid", "hash", "address", "short"],
)
def test_names_of_rows_are_left_out(name):
    table, rng = unnamed_rows()
    plain = sf.BayesClassifier().fit(table, "y")
    with pytest.warns(sf.LeftOutWarning, match=r"column 'id' \(400 of 400 values differ: it names the rows\)"):
        clf = sf.BayesClassifier().fit(table | {"id": [name(rng) for _ in range(400)]}, "y")
    assert rows_of(clf)["id"][1] == "left out"
    assert_array_equal(clf.predict_proba(table), plain.predict_proba(table))


@pytest.mark.parametrize(("length", "family"), [(30, ""), (31, "text")])
def test_distinct_strings_of_several_words_are_texts_from_31_characters_on(length, family):
    table, _ = unnamed_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.LeftOutWarning)
        clf = sf.BayesClassifier().fit(table | {"note": [f"note {i:0{length - 5}d}" for i in range(400)]}, "y")
    assert rows_of(clf)["note"][0] == family


def notes_of(labels, rng):
    """Texts whose words differ by the label."""
    words = np.array([f"word{i}" for i in range(30)])
    return [" ".join(rng.choice(words[10 * each : 10 * each + 20], 8)) for each in labels]


def test_words_of_a_text_have_a_smoothing_of_their_own():
    table, rng = unnamed_rows()
    notes = notes_of(table["y"], rng)
    auto, one = (
        sf.BayesClassifier(smoothing=smoothing, structure="naive", calibrate=False).fit({"note": notes}, table["y"])
        for smoothing in ("auto", 1.0)
    )
    assert_array_equal(auto.predict_proba({"note": notes}), one.predict_proba({"note": notes}))


def test_a_text_of_a_table_says_what_a_text_classifier_says():
    table, rng = unnamed_rows()
    notes = notes_of(table["y"], rng)
    clf = sf.BayesClassifier(structure="naive").fit({"note": notes}, table["y"])
    assert rows_of(clf)["note"][:2] == ["text", "yes"]
    texts = sf.TextClassifier(ngrams=(1, 1), keep=2000).fit(notes, table["y"])
    evidence, expected = (each._learned.model.relative_log_conditional for each in (clf, texts))
    assert_allclose(evidence(as_frame({"note": notes})), expected(notes), rtol=1e-9, atol=1e-9)
    # Scores of classes are no densities; that of the table is one, of the same words.
    assert_allclose(clf.score_samples({"note": notes}), texts.score_samples(notes), rtol=1e-9)
    assert 1 <= clf.outliers({"note": notes}, rate=0.01).sum() <= 8


@pytest.mark.parametrize("rows", [1, 12, 49])
def test_few_sentences_are_texts_and_few_short_strings_are_not(rows):
    rng = np.random.default_rng(0)
    y = np.arange(max(rows, 2)) % 2
    table = {
        "note": notes_of(y, rng),
        "name": [f"name {i}" for i in y],
        "way": ["a road that is the same for all"] * len(y),
    }
    clf = sf.BayesClassifier(structure="naive").fit(table, y)
    families = [family for family, *_ in rows_of(clf).values()]
    assert families == ["text", "categorical", "categorical"]


def test_texts_that_tell_nothing_do_not_vote():
    table, rng = unnamed_rows()
    words = [f"w{i}" for i in range(100)]
    noise = [" ".join(rng.choice(words, 12)) for _ in range(400)]
    telling = [" ".join([*rng.choice(words, 12), "good" if each else "bad"]) for each in table["y"]]
    clf = sf.BayesClassifier(structure="naive").fit(table | {"noise": noise, "note": telling}, "y")
    shown = rows_of(clf)
    assert shown["noise"][:2] == ["text", "no"]
    assert shown["note"][:2] == ["text", "yes"]
    rest = sf.BayesClassifier(structure="naive").fit(table | {"note": telling}, "y")
    assert_allclose(
        clf.predict_proba(table | {"noise": noise, "note": telling}),
        rest.predict_proba(table | {"note": telling}),
        rtol=1e-9,
    )
    loo = clf.leave_one_out(table | {"noise": noise, "note": telling}, "y")
    assert (loo.argmax(axis=1) == table["y"]).mean() > 0.95
    drawn, _ = clf.sample(3, random_state=0)
    assert all(isinstance(each, str) for each in drawn["noise"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.MissingColumnWarning)
        assert np.isfinite(clf.score_samples({"noise": noise[:3]})).all()


def test_long_informative_texts_vote_although_their_evidence_is_too_sure():
    rng = np.random.default_rng(0)
    n, words = 300, np.array([f"w{i}" for i in range(60)])
    y = rng.integers(0, 2, n)
    # Words come in runs of forty: naive Bayes counts each as independent evidence.
    topic = np.where(rng.random(n) < 0.75, y, 1 - y)
    texts = [" ".join(np.repeat(rng.choice(words[30 * t : 30 * t + 30], 2), 40)) for t in topic]
    texts = [f"{text} n{i}" for i, text in enumerate(texts)]
    assert rows_of(sf.BayesClassifier().fit({"note": texts, "y": y}, "y"))["note"][:2] == ["text", "yes"]


def test_a_column_of_one_value_does_not_vote():
    rng = np.random.default_rng(0)
    y = (rng.random(500) < 0.1).astype(int)
    table = {"s": ["k"] * 500, "n": np.ones(500), "i": [1] * 500, "b": [True] * 500, "x": rng.normal(size=500) + y}
    shown = rows_of(sf.BayesClassifier().fit(table, y))
    assert [shown[name][1] for name in "snib"] == ["no"] * 4


# ------------------------------------------------------------------------------------------------- labels and rows


def test_a_column_may_be_named_by_a_number():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 2)))
    frame[2] = np.where(frame[0] > 0, "a", "b")
    clf = sf.BayesClassifier().fit(frame, 2)
    assert clf.score(frame, 2) > 0.9
    assert clf.leave_one_out(frame, 2).shape == (100, 2)
    assert GaussianNB().fit(frame, 2).score(frame, 2) > 0.9


def test_a_text_classifier_takes_the_column_of_texts_of_a_table():
    frame = pd.DataFrame({"label": ["ham", "spam"] * 10, "text": ["see you", "cheap pills"] * 10, "n": range(20)})
    with pytest.warns(sf.LeftOutWarning, match=r"column 'n' \(it is not the column of texts\)"):
        clf = sf.TextClassifier().fit(frame, "label")
    assert clf.predict(frame.head(2)).tolist() == ["ham", "spam"]
    assert clf.score(frame, "label") == 1.0
    assert sf.TextClassifier().fit(frame[["text", "label"]], "label").predict(["cheap"]).tolist() == ["spam"]
    with pytest.raises(sf.InvalidDataError, match="Expected one column of texts"):
        sf.TextClassifier().fit(frame.assign(other="x"), "label")


def test_a_model_with_names_takes_an_array_by_position_with_a_warning():
    frame, _ = messy()
    clf = sf.BayesClassifier().fit(frame, "y")
    rows = frame.drop(columns="y").head(5)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = clf.predict_proba(rows.to_numpy(dtype=object))
    assert_allclose(found, clf.predict_proba(rows), rtol=1e-12)
    clf.feature_names_in_ = None  # as shap leaves it
    assert_allclose(clf.predict_proba(rows.to_numpy(dtype=object)), found, rtol=1e-12)
    clf = sf.BayesClassifier().fit(frame, "y")
    narrow = rows.to_numpy(dtype=object)[:, :2]
    with pytest.raises(ValueError, match="X has 2 features"), pytest.warns(UserWarning, match="names"):
        clf.predict_proba(narrow)


def test_a_missing_label_says_how_many_where_and_what_to_do():
    table = {"a": [1.0, 2.0, 3.0, 4.0], "y": ["u", None, None, "v"]}
    said = r"label of row 1 is missing, the first of 2 among 4 rows. Pass missing_labels='drop'"
    with pytest.raises(sf.MissingLabelError, match=said):
        sf.BayesClassifier().fit(table, "y")
    with pytest.raises(sf.MissingLabelError, match=said):
        sf.BayesClassifier().fit({"a": table["a"]}, table["y"])
    with pytest.raises(sf.MissingLabelError, match=said):
        GaussianNB().fit(np.array(table["a"])[:, None], [0, np.nan, np.nan, 1])


@pytest.mark.parametrize("named", [True, False])
def test_rows_without_a_label_are_dropped_where_that_is_asked(named):
    frame, _ = messy()
    labels = frame["y"].where(np.arange(len(frame)) % 7 > 0)
    weight = np.arange(len(frame)) % 3 + 1.0
    some = labels.notna()
    expected = sf.BayesClassifier().fit(frame[some], "y", weight[some])
    X, y = (frame.assign(y=labels), "y") if named else (frame.drop(columns="y"), labels)
    with pytest.warns(sf.LeftOutWarning, match="35 rows without a label"):
        clf = sf.BayesClassifier().fit(X, y, weight, missing_labels="drop")
    assert_array_equal(clf.class_count_, expected.class_count_)
    assert_array_equal(clf.predict_proba(frame), expected.predict_proba(frame))
    with pytest.warns(sf.LeftOutWarning, match="35 rows without a label"):
        sf.BayesClassifier().partial_fit(X, y, missing_labels="drop")
    with pytest.raises(sf.InvalidOptionError, match="missing_labels must be 'error' or 'drop'"):
        sf.BayesClassifier().fit(X, y, missing_labels="ignore")


def test_files_texts_and_arrays_drop_rows_without_a_label(tmp_path):
    frame, _ = messy()
    frame = frame.drop(columns="wait").assign(y=frame["y"].where(np.arange(len(frame)) % 7 > 0))
    frame.to_csv(tmp_path / "m.csv", index=False)
    with pytest.warns(sf.LeftOutWarning):
        expected = sf.BayesClassifier().fit(frame, "y", missing_labels="drop")
    found = sf.BayesClassifier().fit(tmp_path / "m.csv", "y", missing_labels="drop")
    assert_allclose(found.predict_proba(frame), expected.predict_proba(frame), rtol=1e-9)
    with pytest.warns(sf.LeftOutWarning):
        texts = sf.TextClassifier().fit(["a dog", "a cat", "one cat"], ["u", None, "v"], missing_labels="drop")
    assert texts.class_count_.tolist() == [1, 1]
    with pytest.warns(sf.LeftOutWarning):
        assert GaussianNB().fit([[1.0], [2.0], [4.0]], [0, np.nan, 1], missing_labels="drop").theta_.tolist() == [
            [1],
            [4],
        ]


def test_an_error_in_a_file_names_the_row_although_rows_before_it_were_dropped(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, np.inf], "y": [None, "u", "v"]})
    frame.to_parquet(tmp_path / "m.parquet")
    with pytest.raises(sf.InfiniteValueError, match="row 2"):
        sf.BayesClassifier({"a": "gaussian"}).fit(tmp_path / "m.parquet", "y", missing_labels="drop")


def test_a_target_that_looks_like_a_quantity_is_warned_of():
    rng = np.random.default_rng(0)
    weights = rng.integers(709, 4990, 189)
    with pytest.warns(sf.QuantityWarning, match=r"distinct numbers in 189 rows: it looks like a quantity"):
        sf.BayesClassifier().fit({"x": rng.normal(size=189)}, weights)
    sf.BayesClassifier(calibrate=False).fit({"x": rng.normal(size=200)}, np.arange(200) % 100)  # numbers of classes


def test_a_column_that_comes_later_is_warned_of():
    frame, _ = messy()
    clf = sf.BayesClassifier().fit(frame.iloc[:100], "y")
    with pytest.warns(sf.LeftOutWarning, match=r"column 'new' \(it was not in the table that was learned first\)"):
        clf.partial_fit(frame.iloc[100:].assign(new=1), "y")


def test_one_warning_says_all_that_was_left_out_and_can_be_silenced():
    frame, _ = messy()
    frame = frame.assign(id=[f"u{i}" for i in range(240)], row=range(240), empty=None)
    with pytest.warns(sf.LeftOutWarning) as said:
        sf.BayesClassifier().fit(frame, "y")
    assert len(said) == 1
    assert all(f"column '{name}'" in str(said[0].message) for name in ("id", "row", "empty"))
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.LeftOutWarning)
        sf.BayesClassifier().fit(frame, "y")
    sf.BayesClassifier({"id": None, "row": None, "empty": None}).fit(frame, "y")
