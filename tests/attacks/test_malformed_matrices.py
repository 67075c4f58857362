"""Every way to break a sparse matrix, for every estimator that reads one."""

import numpy as np
import pytest
import scipy.sparse

from attacks.malformed_matrices import CHANGES, DENSE, FORMATS, Y, case, judge, matrix, targets
from attacks.targets import estimator_classes, make
from suffice import BayesClassifier, Geometric, InvalidDataError
from suffice.core.arrays import as_csr
from suffice.core.statistics import Pairs
from suffice.naive_bayes import BernoulliNB, MultinomialNB, PoissonNB

SPARSE = [cls.__name__ for cls in estimator_classes() if make(cls).__sklearn_tags__().input_tags.sparse]
METHODS = ("fit", "partial_fit", "forget", "predict", "predict_proba", "leave_one_out", "impute")


@pytest.fixture(scope="module")
def every():
    return targets()


@pytest.mark.parametrize("changing", CHANGES)
@pytest.mark.parametrize("name", SPARSE)
def test_a_malformed_matrix_is_refused_and_an_odd_one_answered_as_the_dense_one(name, changing, every):
    rng, tried = np.random.default_rng(0), 0
    for form in FORMATS:
        for kind in ("matrix", "array"):
            made = case(rng, form, kind, changing)
            if made is not None:
                method = METHODS[tried % len(METHODS)]
                outcome = judge(every[f"{name}.{method}"], made[0], matrix(form, kind), made[1])
                assert outcome in ("refused", "answered"), f"{method} of {form}_{kind}: {outcome}"
                tried += 1
    assert tried, "the change applies to some format"


def test_statistics_families_and_words_look_at_a_matrix_first(every):
    rng = np.random.default_rng(1)
    for name in [*(n for n in every if n.endswith((".of", ".summarize"))), "BagOfWords.inverse_transform"]:
        for changing in ("index_far_outside", "indptr_falls", "arrays_of_other_lengths"):
            for form in ("csr", "csc", "coo"):
                made = case(rng, form, "array", changing)
                if made is not None:
                    outcome = judge(every[name], made[0], matrix(form, "array"), made[1])
                    assert outcome == "refused", f"{name} of {form}_array with {changing}: {outcome}"


@pytest.mark.parametrize(
    ("array", "value", "says"),
    [
        ("indices", [0, 2, 1, 4], r"`indices` holds 4 \(row 1, entry 3\) and should hold numbers from 0 to 3"),
        ("indices", [0, -1, 1, 3], r"`indices` holds -1 \(row 0, entry 1\)"),
        ("indices", [0, 2, 1], "`indices` has 3 entries, and `data` has 4"),
        ("indices", [0.0, 2.0, 1.0, 3.0], "`indices` should be a vector of integers, found float64"),
        ("indptr", [0, 2], "`indptr` has 2 entries and should have 3"),
        ("indptr", [1, 2, 4], "`indptr` starts with 1"),
        ("indptr", [0, 5, 4], "`indptr` falls from 5 to 4 after row 1"),
        ("indptr", [0, 2, 9], "`indptr` ends with 9, and only 4 entries are stored"),
    ],
)
def test_the_error_says_what_is_wrong_with_which_part(array, value, says):
    x = scipy.sparse.csr_matrix(DENSE[:2])
    setattr(x, array, np.array(value))
    model = MultinomialNB().fit(DENSE, Y)
    for step in (model.predict, lambda x: model.partial_fit(x, Y[:2]), lambda x: BayesClassifier().fit(x, Y[:2])):
        with pytest.raises(InvalidDataError, match=f"The sparse matrix is malformed: {says}"):
            step(x)


def test_a_matrix_is_not_changed_by_being_read():
    x = scipy.sparse.csc_matrix(DENSE)
    x.indices, x.data = x.indices.astype(">i8"), x.data.astype(np.float16)
    before = [each.copy() for each in (x.data, x.indices, x.indptr)]
    MultinomialNB().fit(x, Y)
    for held, copied in zip((x.data, x.indices, x.indptr), before, strict=True):
        assert held.dtype == copied.dtype
        np.testing.assert_array_equal(held, copied)


def test_a_sparse_array_of_another_number_of_dimensions_is_refused():
    with pytest.raises(InvalidDataError, match=r"found a sparse array of shape \(4,\)"):
        as_csr(scipy.sparse.coo_array(np.ones(4)))


@pytest.mark.parametrize("cls", [BernoulliNB, MultinomialNB, PoissonNB])
def test_entries_stored_in_parts_count_by_their_sum(cls):
    parts = scipy.sparse.coo_array(DENSE)
    x = scipy.sparse.csr_array(DENSE)
    x = scipy.sparse.csr_array((np.repeat(x.data / 2, 2), np.repeat(x.indices, 2), 2 * x.indptr), shape=x.shape)
    model = cls().fit(x, Y)
    np.testing.assert_allclose(model.predict_proba(x), cls().fit(DENSE, Y).predict_proba(DENSE), rtol=1e-12)
    np.testing.assert_allclose(model.leave_one_out(parts, Y), cls().fit(DENSE, Y).leave_one_out(DENSE, Y), rtol=1e-12)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("canonical", [False, True])
def test_an_integer_that_is_stored_in_parts_is_one(form, canonical):
    dense = np.array([[1.0, 0], [0, 3], [2, 1], [0, 0]])
    x = scipy.sparse.csr_array(dense).asformat(form)
    x.indices, x.data, x.indptr = np.repeat(x.indices, 2), np.repeat(x.data / 2, 2), x.indptr * 2
    x.has_canonical_format = canonical  # which is not so
    labels = [0, 1, 0, 1]
    assert Geometric().summarize(x, labels) == Geometric().summarize(dense, labels)
    x.data[:2] = 0.3
    with pytest.raises(InvalidDataError, match=r"Found 0\.6 in row 0, column 0"):
        Geometric().summarize(x, labels)


def test_pairs_are_counted_of_codes_alone():
    for x in (scipy.sparse.lil_array(DENSE), scipy.sparse.bsr_matrix(DENSE), DENSE):
        with pytest.raises(InvalidDataError, match="array of codes"):
            Pairs.of(x, np.zeros(len(Y), np.int32), 1)
