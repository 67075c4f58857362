"""The algebra: summaries of data that add, subtract and scale. Nothing here knows of probability."""

from suffice.statistics.bag_sample import BagSample
from suffice.statistics.blocks import Batch, Blocks
from suffice.statistics.by_class import ByClass
from suffice.statistics.counts import Counts
from suffice.statistics.moments import Moments
from suffice.statistics.row_sample import RowSample
from suffice.statistics.sample import Points, Sample
from suffice.statistics.scatter import Fourth, Scatter
from suffice.statistics.statistic import Statistic
from suffice.statistics.totals import Totals
from suffice.statistics.word_counts import WordCounts

__all__ = [
    "BagSample",
    "Batch",
    "Blocks",
    "ByClass",
    "Counts",
    "Fourth",
    "Moments",
    "Points",
    "RowSample",
    "Sample",
    "Scatter",
    "Statistic",
    "Totals",
    "WordCounts",
]
