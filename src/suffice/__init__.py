"""suffice: generative classification by sufficient statistics that add and subtract.

Names load when they are first used, so that `import suffice` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "suffice.statistics": [
        "ByClass",
        "Counts",
        "Moments",
        "Sample",
        "Scatter",
        "Statistic",
        "Totals",
    ],
    "suffice.priors": ["Beta", "ClassPrior", "Dirichlet", "Gamma", "NormalInverseGamma", "NormalInverseWishart"],
    "suffice.families": [
        "Bernoulli",
        "Binned",
        "Categorical",
        "Complement",
        "Distribution",
        "Exponential",
        "Family",
        "Gaussian",
        "Geometric",
        "JointCategorical",
        "Kernel",
        "LinearForm",
        "LogNormal",
        "Mixture",
        "Multinomial",
        "MultivariateGaussian",
        "Poisson",
        "Table",
        "Text",
    ],
    "suffice.model": ["Model"],
    "suffice.formulas": ["Formula", "Scoring"],
    "suffice.calibration": ["Calibration"],
    "suffice.evaluation": ["Evaluation"],
    "suffice.classifier": ["BayesClassifier"],
    "suffice.estimator": ["load"],
    "suffice.text": ["BagOfWords", "TextClassifier"],
    "suffice.comparison": ["Comparison", "compare"],
    "suffice.plot": [
        "ConditionalsDisplay",
        "ConfusionDisplay",
        "DecisionRegionsDisplay",
        "EvidenceDisplay",
        "LearningCurvesDisplay",
        "ReliabilityDisplay",
        "TopWordsDisplay",
    ],
    "suffice.errors": [
        "DamagedFileError",
        "EngineError",
        "ForeignFileError",
        "ImpossibleRowWarning",
        "InfiniteValueError",
        "InvalidDataError",
        "InvalidOptionError",
        "InvalidTextError",
        "MismatchError",
        "MissingColumnWarning",
        "MissingLabelError",
        "MissingPackageError",
        "NegativeValueError",
        "NewerFileError",
        "NoDistributionError",
        "NoFormulaError",
        "NoLinearFormError",
        "NotConvergedWarning",
        "NotPartError",
        "RefusedValueError",
        "SingularCovarianceError",
        "StorageError",
        "SufficeError",
        "UncalibratedWarning",
        "UnstorableError",
    ],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = (
    "classifier",
    "comparison",
    "conditionals",
    "discriminant_analysis",
    "errors",
    "families",
    "formulas",
    "model",
    "naive_bayes",
    "plot",
    "priors",
    "report",
    "statistics",
    "storage",
    "text",
)

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version("suffice")
    elif name in _MODULES:
        value = import_module(f"suffice.{name}")
    else:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF, *_MODULES])
