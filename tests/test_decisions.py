"""What estimation decided is stored with a model: the same answers come at once, and other statistics decide anew."""

import copy
import io
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import suffice as sf
from attacks.hostile_files import assembled, taken_apart
from suffice import BayesClassifier, TextClassifier
from suffice.families import Family
from suffice.families.automatic_text import AutomaticText
from suffice.families.choose import Automatic, Chosen
from suffice.families.text import Text
from suffice.model.calibration import Calibration
from suffice.model.learned import Learned

RNG = np.random.default_rng(5)
N = 120
Y = np.array(["no", "maybe", "yes"])[np.arange(N) % 3]
AT = np.arange(N) % 3
TABLE = {
    "normal": RNG.normal(AT),
    "skewed": np.exp(RNG.normal(AT)),
    "few": RNG.poisson(1 + 2 * AT).astype(float),
    "noise": RNG.normal(size=N),
    "name": [["red", "green", "blue"][k] for k in (AT + (RNG.random(N) < 0.4)) % 3],
    "truth": (RNG.random(N) < 0.2 + 0.3 * AT).tolist(),
}
WORDS = [["good", "great", "film"], ["fair", "plot", "film"], ["bad", "awful", "play"]]
TEXTS = [" ".join(RNG.choice([*WORDS[k], "the", "film", "play", "a", "of"], 8)) for k in AT]
MODELS = {
    "table": (BayesClassifier(keep=60), TABLE),
    "table, smoothing chosen": (BayesClassifier(smoothing="auto", missing="informative", calibrate="classes"), TABLE),
    "table with text": (BayesClassifier({"text": "text", "noise": None}), TABLE | {"text": TEXTS}),
    "table with tuned text": (BayesClassifier({"text": Text(event="auto", ngrams=(1, 2))}), TABLE | {"text": TEXTS}),
    "table with found text": (BayesClassifier(), TABLE | {"text": TEXTS}),
    "table with text of 0.2": (BayesClassifier({"text": AutomaticText(0.5)}), TABLE | {"text": TEXTS}),
    "text": (TextClassifier(), TEXTS),
    "text of three sizes": (TextClassifier(ngrams=(1, 3), calibrate="classes"), TEXTS),
    "text of one event model": (TextClassifier(event="multinomial"), TEXTS),
    "text, smoothing given": (TextClassifier(smoothing=0.3), TEXTS),
}
each = pytest.mark.parametrize("name", MODELS)


def fitted(name):
    estimator, rows = MODELS[name]
    return copy.deepcopy(estimator).fit(rows, Y), rows


def saved(model) -> bytes:
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def loaded(data: bytes):
    return sf.load(io.BytesIO(data))


def test_what_was_decided_is_taken_over_only_for_the_same_classes():
    rows = {"x": TABLE["normal"]}
    before, same, fewer = (
        BayesClassifier(calibrate=False).fit({"x": rows["x"][some]}, Y[some])
        for some in (slice(0, 90), slice(0, N), AT < 2)
    )
    before.predict(rows)
    assert same._learned.takes_choices(before._learned)
    assert same._learned.decided is before._learned.decided
    assert not fewer._learned.takes_choices(before._learned)
    assert fewer._learned.decided is not before._learned.decided


@pytest.fixture
def undecided(monkeypatch):
    """Make every search fail."""

    def refuse(*_, **__):
        raise AssertionError("this was to be known")

    monkeypatch.setattr("suffice.families.text.tuned", refuse)
    monkeypatch.setattr(Chosen, "rows", refuse, raising=False)
    monkeypatch.setattr(Automatic, "rows", refuse)
    monkeypatch.setattr(Calibration, "fit", refuse)


@each
def test_a_loaded_model_gives_the_same_answers_bit_for_bit(name):
    model, rows = fitted(name)
    before = model.predict_proba(rows), model.predict_log_proba(rows), model.score_samples(rows)
    again = loaded(saved(model))
    after = again.predict_proba(rows), again.predict_log_proba(rows), again.score_samples(rows)
    for one, other in zip(before, after, strict=True):
        assert_array_equal(one, other)
    assert_array_equal(again.leave_one_out(rows, Y), model.leave_one_out(rows, Y))


@each
def test_a_model_that_was_never_asked_is_saved_with_its_decisions(name, request):
    model, rows = fitted(name)
    asked = copy.deepcopy(model)
    expected = asked.predict_proba(rows)
    data = saved(model)
    assert data == saved(asked)
    request.getfixturevalue("undecided")
    assert_array_equal(loaded(data).predict_proba(rows), expected)


@each
def test_pickles_and_copies_keep_decisions(name, request):
    model, rows = fitted(name)
    expected = model.predict_proba(rows)
    made = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    request.getfixturevalue("undecided")
    for other in made:
        assert_array_equal(other.predict_proba(rows), expected)


@each
@pytest.mark.parametrize(
    "change",
    [
        lambda m, rows: m.partial_fit(rows, Y),
        lambda m, rows: m.forget(some(rows, slice(0, 20)), Y[:20]),
        lambda m, _: m.drop_class("maybe"),
        lambda m, _: m.rename_class("maybe", "no"),
        lambda m, _: m + m,
    ],
    ids=["partial_fit", "forget", "drop_class", "rename_class", "merge"],
)
def test_a_model_that_was_changed_after_loading_decides_as_one_that_was_never_saved(name, change):
    model, rows = fitted(name)
    again = loaded(saved(model))
    model, again = change(model, rows) or model, change(again, rows) or again
    assert again._learned.decided.decisions is None
    assert not again._learned.decided.calibrations
    assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


def some(rows, part):
    return {k: v[part] for k, v in rows.items()} if isinstance(rows, dict) else rows[part]


@each
def test_a_file_without_decisions_decides_anew(name):
    model, rows = fitted(name)
    tree, tensors = taken_apart(saved(model))
    learned = dict(tree["value"]["fields"]["attributes"]["dict"])["_learned"]["fields"]
    del learned["decided"]
    tensors = {path: array for path, array in tensors.items() if ".decided." not in path}
    again = loaded(assembled(tree, tensors))
    assert again._learned.decided.decisions is None
    assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


def test_calibrations_of_both_forms_are_kept_apart():
    model, rows = fitted("table")
    one = model.predict_proba(rows)
    model.set_params(calibrate="classes")
    other = model.predict_proba(rows)
    again = loaded(saved(model))
    assert_array_equal(again.predict_proba(rows), other)
    assert_array_equal(again.set_params(calibrate=True).predict_proba(rows), one)


def test_the_schema_of_a_loaded_model_shows_the_same_scores():
    model, _ = fitted("table")
    assert str(loaded(saved(model)).schema_) == str(model.schema_)


def test_decisions_are_few_numbers():
    model, _ = fitted("table")
    found = model.model_.distribution.decisions
    assert [decision.family for decision in found.blocks[:3]] == [
        part.choice.name for part in model.model_.distribution.parts[:3]
    ]
    assert not found.blocks[list(TABLE).index("noise")].votes
    assert model.model_.distribution.parts[0].fitted.decisions is None


def test_a_family_that_decides_nothing_estimates_as_before_and_takes_no_decisions():
    family: Family = sf.Gaussian()
    statistic = family.summarize(np.array([[1.0], [2.0], [4.0]]), ["a", "a", "b"]).statistic
    assert not family.decides
    assert_array_equal(family.estimate_decided(statistic, None).mean, family.estimate(statistic).mean)
    decision = Automatic().estimate(Automatic().summarize(np.arange(9.0)[:, None], list("abcabcabc")).statistic)
    with pytest.raises(sf.MismatchError, match="Gaussian has nothing to decide, found ColumnDecision"):
        family.check_decisions(statistic, decision.decisions)


# ---- files that were changed


def changed(name, path, value):
    """The file of a model with another value at a path below `decided`."""
    tree, tensors = taken_apart(saved(fitted(name)[0]))
    at = dict(tree["value"]["fields"]["attributes"]["dict"])["_learned"]["fields"]["decided"]["fields"]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return assembled(tree, tensors)


COLUMN = ("decisions", "fields", "blocks", "tuple", 0, "fields")


@pytest.mark.parametrize(
    ("name", "path", "value", "said"),
    [
        ("table", (*COLUMN, "family"), "nothing", "family must be one of 'student', 'bins'"),
        ("table", (*COLUMN, "family"), "values", "no candidate 'values' of smoothing"),
        ("table", (*COLUMN, "family"), "bernoulli", "no candidate 'bernoulli'"),
        ("table", (*COLUMN, "smoothing"), 77.0, "of smoothing 77"),
        ("table", (*COLUMN, "votes"), 3, "votes must be True or False"),
        ("table", (*COLUMN, "score"), {"float": "inf"}, "score must be a finite number"),
        ("table", ("decisions", "fields", "blocks", "tuple"), [], "Decisions about 6 blocks were expected"),
        (
            "table",
            ("decisions", "fields", "blocks", "tuple", 0),
            5,
            r"blocks\.0 must be None or a Decisions|a Decisions",
        ),
        ("text", ("decisions", "fields", "mixed"), 1.5, "mixed must be a finite number from 0 to 1"),
        ("text", ("decisions", "fields", "exponent"), 1e6, "exponent must be"),
        (
            "text",
            ("decisions",),
            {"class": "BlockDecisions", "fields": {"blocks": {"tuple": []}}},
            "Text does not decide",
        ),
    ],
)
def test_decisions_that_no_estimate_makes_are_refused(name, path, value, said):
    tree, tensors = taken_apart(changed(name, path, value))
    if path == ("decisions",):
        tensors = {key: array for key, array in tensors.items() if ".decisions." not in key}
    with pytest.raises(sf.DamagedFileError, match=said):
        loaded(assembled(tree, tensors))


@pytest.mark.parametrize(
    ("name", "tensor", "array", "said"),
    [
        ("text", "decisions.smoothing", np.zeros((2, 2)), "smoothing must be"),
        ("text", "decisions.weight", np.ones((1, 2)), "weight must be|blocks"),
        ("text", "decisions.length", np.full(2, np.nan), "length must be"),
        ("text", "calibrations.exponent.slope", np.ones(2), "slope|bias|classes"),
    ],
)
def test_arrays_of_decisions_that_do_not_fit_are_refused(name, tensor, array, said):
    tree, tensors = taken_apart(saved(fitted(name)[0]))
    tensors[f"attributes._learned.decided.{tensor}"] = array
    with pytest.raises(sf.DamagedFileError, match=said):
        loaded(assembled(tree, tensors))


def test_a_calibration_of_other_classes_is_refused():
    tree, tensors = taken_apart(saved(fitted("text")[0]))
    for part in ("slope", "bias"):
        tensors[f"attributes._learned.decided.calibrations.exponent.{part}"] = np.ones(5)
    with pytest.raises(sf.DamagedFileError, match=r"decided\.calibrations\.exponent must be of 3 classes"):
        loaded(assembled(tree, tensors))


def test_equality_of_what_was_learned_does_not_ask_what_was_decided():
    model, rows = fitted("table")
    before: Learned = model._learned
    fresh = copy.copy(before)
    model.predict(rows)
    assert before.decided.decisions is not None
    assert fresh.seen == before.seen
