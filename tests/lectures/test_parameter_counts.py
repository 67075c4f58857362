"""How many numbers a naive model has to learn."""

import numpy as np
import pytest

import suffice as sf
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB


def rows(classes: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(4 * classes) % classes
    return np.random.default_rng(0).integers(0, 5, (4 * classes, columns)).astype(float), y


def test_ten_features_and_three_classes_need_sixty_numbers_and_two_for_the_prior():
    assert GaussianNB().fit(*rows(3, 10)).n_parameters_ == 60 + 2


@pytest.mark.parametrize("classes", [1, 2, 3, 7])
@pytest.mark.parametrize("columns", [1, 2, 10, 33])
def test_a_naive_gaussian_needs_a_mean_and_a_variance_for_each_class_and_column(classes, columns):
    x, y = rows(classes, columns)
    for family in (sf.Gaussian(), sf.Gaussian(prior=None)):
        model = sf.Model.fit(x, y, family)
        assert model.distribution.n_parameters == classes * 2 * columns
        assert model.n_parameters == classes * 2 * columns + classes - 1


@pytest.mark.parametrize(("classes", "columns"), [(2, 4), (3, 10)])
def test_a_shared_variance_is_learned_once_for_each_column(classes, columns):
    model = sf.Model.fit(*rows(classes, columns), sf.Gaussian(variance="shared"))
    assert model.n_parameters == classes * columns + columns + classes - 1


@pytest.mark.parametrize(("classes", "columns"), [(2, 4), (3, 10)])
def test_truths_and_rates_need_one_number_for_each_class_and_column(classes, columns):
    x, y = rows(classes, columns)
    for clf in (BernoulliNB(), PoissonNB()):
        assert clf.fit(x, y).n_parameters_ == classes * columns + classes - 1


@pytest.mark.parametrize(("classes", "columns"), [(2, 4), (3, 10)])
def test_what_sums_to_one_needs_one_number_less(classes, columns):
    x, y = rows(classes, columns)
    assert MultinomialNB().fit(x, y).n_parameters_ == classes * (columns - 1) + classes - 1
    categories = CategoricalNB(min_categories=5).fit(x, y)
    assert categories.n_parameters_ == classes * columns * (5 - 1) + classes - 1


def test_a_given_class_prior_is_not_learned():
    x, y = rows(3, 10)
    assert GaussianNB(priors=[0.2, 0.3, 0.5]).fit(x, y).n_parameters_ == 60
    assert BernoulliNB(fit_prior=False).fit(x, y).n_parameters_ == 30


def test_ten_features_and_three_classes_need_195_numbers_with_full_covariances():
    x, y = rows(3, 10)
    model = sf.Model.fit(x, y, sf.MultivariateGaussian())
    assert model.distribution.n_parameters == 195
    assert model.n_parameters == 195 + 2


@pytest.mark.parametrize("classes", [1, 2, 3, 7])
@pytest.mark.parametrize("columns", [1, 2, 10, 33])
def test_a_full_covariance_needs_half_a_square_for_each_class_or_once(classes, columns):
    x, y = rows(classes, columns)
    half = columns * (columns + 1) // 2
    full, tied = (sf.Model.fit(x, y, sf.MultivariateGaussian(tied=t)) for t in (False, True))
    assert full.n_parameters == classes * (columns + half) + classes - 1
    assert tied.n_parameters == classes * columns + half + classes - 1


def test_discriminant_analyses_count_their_parameters():
    x, y = np.random.default_rng(0).normal(size=(90, 10)), np.arange(90) % 3
    assert QuadraticDiscriminantAnalysis(reg_param=0.1).fit(x, y).n_parameters_ == 195 + 2
    assert LinearDiscriminantAnalysis().fit(x, y).n_parameters_ == 30 + 55 + 2
    assert LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]).fit(x, y).n_parameters_ == 30 + 55
