"""Pictures of what a model has learned and of how well it predicts, drawn with matplotlib.

To install it: `pip install 'suffice[plot]'`.

Every picture is a `…Display` as in scikit-learn, with `from_estimator`, `plot(ax=)`, `ax_` and `figure_`, and has a
function that draws it and returns the axes. Classes differ by line, hatch or marker, not by colour alone.
"""

from suffice.views.plot.conditional_densities import ConditionalsDisplay, conditionals
from suffice.views.plot.decision_regions import DecisionRegionsDisplay, decision_regions
from suffice.views.plot.evaluation_plots import (
    ConfusionDisplay,
    LearningCurvesDisplay,
    MonitorDisplay,
    PrequentialDisplay,
    ReliabilityDisplay,
    confusion,
    learning_curves,
    monitor,
    prequential,
    reliability,
)
from suffice.views.plot.explanation_plots import EvidenceDisplay, TopWordsDisplay, evidence, top_words
from suffice.views.plot.nomogram_plot import NomogramDisplay, nomogram

__all__ = [
    "ConditionalsDisplay",
    "ConfusionDisplay",
    "DecisionRegionsDisplay",
    "EvidenceDisplay",
    "LearningCurvesDisplay",
    "MonitorDisplay",
    "NomogramDisplay",
    "PrequentialDisplay",
    "ReliabilityDisplay",
    "TopWordsDisplay",
    "conditionals",
    "confusion",
    "decision_regions",
    "evidence",
    "learning_curves",
    "monitor",
    "nomogram",
    "prequential",
    "reliability",
    "top_words",
]
