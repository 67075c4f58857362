"""Pictures of what a model has learned and of how well it does, drawn by matplotlib: `pip install 'suffice[plot]'`.

Every picture is a `…Display` as in scikit-learn, with `from_estimator`, `plot(ax=)`, `ax_` and `figure_`, and a
function that draws it and returns the axes. Classes differ by line, hatch or marker and not by colour alone.
"""

from suffice.plot.calibration import ReliabilityDisplay, reliability
from suffice.plot.confusion_matrix import ConfusionDisplay, confusion
from suffice.plot.curves import LearningCurvesDisplay, learning_curves
from suffice.plot.densities import ConditionalsDisplay, conditionals
from suffice.plot.regions import DecisionRegionsDisplay, decision_regions
from suffice.plot.waterfall import EvidenceDisplay, evidence
from suffice.plot.words import TopWordsDisplay, top_words

__all__ = [
    "ConditionalsDisplay",
    "ConfusionDisplay",
    "DecisionRegionsDisplay",
    "EvidenceDisplay",
    "LearningCurvesDisplay",
    "ReliabilityDisplay",
    "TopWordsDisplay",
    "conditionals",
    "confusion",
    "decision_regions",
    "evidence",
    "learning_curves",
    "reliability",
    "top_words",
]
