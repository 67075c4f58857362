"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.estimators.table_classifier import BayesClassifier
from suffice.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    KernelNB,
    MixtureNB,
    MultinomialNB,
    PoissonNB,
)

ESTIMATORS = [
    GaussianNB(),
    BernoulliNB(),
    MultinomialNB(),
    ComplementNB(),
    CategoricalNB(),
    PoissonNB(),
    MixtureNB(),
    KernelNB(),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
    BayesClassifier(),
]


CHECKS = [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator)]


def title(value):
    """The name of a check, or of an estimator; scikit-learn's own ids differ by version."""
    return getattr(getattr(value, "func", value), "__name__", None) or repr(value).replace("\n", "")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=title)
def test_estimator_passes_scikit_learns_check(estimator, check):
    check(estimator)
