"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, KernelNB, MultinomialNB, PoissonNB


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [GaussianNB(), BernoulliNB(), MultinomialNB(), ComplementNB(), CategoricalNB(), PoissonNB(), KernelNB()]
)
def test_estimator_passes_scikit_learns_check(estimator, check):
    check(estimator)
