"""What stands in for scikit-learn on the command line says and does what scikit-learn says and does."""

import re
import subprocess
import sys
from numbers import Integral, Real

import numpy as np
import pytest
import sklearn.base
import sklearn.utils._param_validation as theirs
import sklearn.utils.multiclass
import sklearn.utils.validation

import suffice as sf
from suffice import base, naive_bayes, stand_ins
from suffice.discriminant_analysis import LinearDiscriminantAnalysis

LISTED = {  # constraints as both write them, values, and whether each may be
    "numbers": (lambda m: [m.Interval(Real, 0, None, closed="left")], [0, 0.5, -1e-9, np.nan, np.inf, "1", None]),
    "whole": (lambda m: [m.Interval(Integral, 1, 10, closed="both"), None], [1, 10, 11, 0, 1.0, None, True]),
    "open": (lambda m: [m.Interval(Real, 0, 1, closed="neither")], [0, 0.5, 1]),
    "right": (lambda m: [m.Interval(Real, None, 1, closed="right")], [-5, 1, 1.1]),
    "strings": (lambda m: [m.StrOptions({"auto"}), dict], ["auto", "other", {}, 3]),
    "arrays": (lambda _: ["array-like", None], [[1], np.ones(2), "text", 3, None, (1, 2)]),
    "truths": (lambda m: ["boolean", m.StrOptions({"classes"})], [True, np.False_, "classes", 1, "x"]),
    "seeds": (lambda _: ["random_state"], [0, np.random.RandomState(0), None, -1, "x"]),
    "methods": (lambda m: [m.HasMethods("fit"), None], [sf.BayesClassifier(), None, 3]),
    "more methods": (lambda m: [m.HasMethods(["fit", "nothing"])], [sf.BayesClassifier()]),
    "types": (lambda _: [tuple, list, sf.Dirichlet], [(1,), [1], "x", sf.Dirichlet(1)]),
}


def refusal(call):
    try:
        call()
    except (ValueError, TypeError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("what", LISTED)
def test_parameters_are_refused_in_the_same_words(what):
    constraints, values = LISTED[what]
    for value in values:
        mine = refusal(lambda v=value: stand_ins.check_parameter(constraints(stand_ins), "p", v, "Model"))
        said = refusal(
            lambda v=value: theirs.validate_parameter_constraints({"p": constraints(theirs)}, {"p": v}, "Model")
        )
        assert mine == said


class Plain(stand_ins.ClassifierMixin, stand_ins.BaseEstimator):
    _parameter_constraints = {"alpha": [stand_ins.Interval(Real, 0, None, closed="left")]}  # noqa: RUF012

    def __init__(self, alpha=1.0, *, inner=None):
        self.alpha = alpha
        self.inner = inner

    def predict(self, X):
        return np.array(["a"] * len(X))

    def __sklearn_is_fitted__(self):
        return False


class Known(sklearn.base.ClassifierMixin, sklearn.base.BaseEstimator):
    def __init__(self, alpha=1.0, *, inner=None):
        self.alpha = alpha
        self.inner = inner

    def fit(self, X, y): ...

    def predict(self, X):
        return np.array(["a"] * len(X))

    def __sklearn_is_fitted__(self):
        return False


def test_an_estimator_has_its_parameters_and_its_repr():
    mine, known = Plain(2.0, inner=Plain()), Known(2.0, inner=Known())
    assert repr(mine) == repr(known).replace("Known", "Plain")
    assert set(mine.get_params()) == set(known.get_params())
    assert mine.get_params(deep=False).keys() == known.get_params(deep=False).keys()
    assert mine.set_params(alpha=3.0).alpha == 3.0
    for estimator in (mine, known):
        with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
            estimator.set_params(beta=1)
    copied = stand_ins.clone(mine)
    assert copied.alpha == 3.0
    assert copied.inner is not mine.inner
    with pytest.raises(TypeError, match="Cannot clone"):
        stand_ins.clone(3)
    with pytest.raises(ValueError, match="The 'alpha' parameter of Plain must be a float in the range"):
        Plain(-1.0)._validate_params()
    X, y, w = np.zeros((4, 1)), np.array(list("aabb")), [3, 1, 1, 1]
    assert mine.score(X, y, w) == known.score(X, y, w)
    said = [refusal(lambda c=check, e=e: c(e)) for check, e in both("check_is_fitted", mine, known)]
    assert said[0] == said[1].replace("Known", "Plain")


def both(name, mine, known):
    return [(getattr(stand_ins, name), mine), (getattr(sklearn.utils.validation, name), known)]


@pytest.mark.parametrize(
    "rows",
    [np.zeros((0, 2)), np.zeros((3, 0)), np.zeros((3, 5)), [[1.0, 2.0]], np.zeros((2, 2), dtype=np.float32)],
)
def test_rows_are_read_or_refused_alike(rows):
    said = []
    for check, estimator in both("validate_data", Plain(), Known()):
        estimator.n_features_in_ = 2
        said.append(refusal(lambda c=check, e=estimator: c(e, rows, reset=False, ensure_all_finite=False)))
    assert (said[0] is None) == (said[1] is None)
    if said[0] is not None:
        assert said[0].split(" while")[0].split(", but")[0] == said[1].split(" while")[0].split(", but")[0]


def test_labels_are_read_or_refused_alike():
    for y in (["a", "b"], [1.0, 2.0], [[1], [2]], [1.5, 2.5], [[1, 2]], [1.0, np.nan], [1.0, np.inf]):
        outcomes = []
        for check, targets in (
            (stand_ins._check_y, stand_ins.check_classification_targets),
            (sklearn.utils.validation._check_y, sklearn.utils.multiclass.check_classification_targets),
        ):

            def read(check=check, targets=targets, y=y):
                targets(check(y, multi_output=False, y_numeric=False, estimator=None))

            with pytest.warns() if np.shape(y) == (2, 1) and check is not stand_ins._check_y else _nothing():
                outcomes.append(refusal(read))
        assert (outcomes[0] is None) == (outcomes[1] is None), y
    np.testing.assert_array_equal(stand_ins.unique_labels([3, 1, 3]), [1, 3])
    with pytest.raises(ValueError, match=re.escape("inconsistent numbers of samples: [2, 3]")):
        stand_ins.check_consistent_length(np.zeros(2), [1, 2, 3])
    draw = sklearn.utils.validation.check_random_state(7).randint(100)
    assert stand_ins.check_random_state(7).randint(100) == draw
    state = np.random.RandomState(0)
    assert stand_ins.check_random_state(state) is state


class _nothing:  # noqa: N801
    def __enter__(self): ...

    def __exit__(self, *_): ...


def test_in_the_library_every_name_is_scikit_learns_own():
    assert not base.do_without_sklearn()  # too late: scikit-learn is here
    for name, home in base.HOMES.items():
        assert getattr(base, name) is getattr(sys.modules[home], name)
        assert hasattr(stand_ins, name)
    assert issubclass(naive_bayes.GaussianNB, sklearn.base.BaseEstimator)
    assert issubclass(LinearDiscriminantAnalysis, sklearn.base.TransformerMixin)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        base.nothing  # noqa: B018


def test_without_scikit_learn_estimators_learn_and_transform():
    code = (
        "import sys\n"
        "from suffice.base import do_without_sklearn\n"
        "assert do_without_sklearn()\n"
        "import numpy as np, suffice as sf\n"
        "from suffice.discriminant_analysis import LinearDiscriminantAnalysis as LDA\n"
        "from suffice.naive_bayes import GaussianNB\n"
        "rng = np.random.default_rng(0); X = rng.normal(size=(30, 3)); y = np.repeat(list('abc'), 10)\n"
        "X[:10] += 2; X[20:, 1] -= 2\n"
        "a = GaussianNB().fit(X.tolist(), y.tolist())\n"
        "print(a.score(X, y), LDA().fit_transform(X, y).shape, *LDA().fit(X, y).get_feature_names_out())\n"
        "t = sf.TextClassifier(stop_words='english').fit(['the cat sat', 'a dog ran'], ['cat', 'dog'])\n"
        "print(*t.predict(['cat']), *t.set_params(keep=3).predict(['dog']))\n"
        "try: GaussianNB().predict(X)\n"
        "except AttributeError as error: print(type(error).__name__)\n"
        "for bad in ([[1.0, 2.0]], [[]], [1.0], [['x', 'y', 'z']]):\n"
        "    try: a.predict(bad)\n"
        "    except ValueError: print('refused')\n"
        "assert 'sklearn' not in sys.modules\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[0].endswith("(30, 2) lineardiscriminantanalysis0 lineardiscriminantanalysis1")
    assert lines[1:3] == ["cat dog", "NotFittedError"]
    assert lines[3:] == ["refused"] * 4


def test_the_english_stop_words_are_scikit_learns():
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    from suffice.words import stop_words

    assert stop_words.named("english") == ENGLISH_STOP_WORDS
