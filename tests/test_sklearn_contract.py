"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

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


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_passes_scikit_learns_check(estimator, check):
    check(estimator)
