"""The algebra: summaries of data that add, subtract and scale. Nothing here knows of probability."""

from suffice.core.statistics.blocks import Batch, Blocks
from suffice.core.statistics.by_class import ByClass
from suffice.core.statistics.cells import Cells
from suffice.core.statistics.counts import Counts
from suffice.core.statistics.hash_samples import DocumentSample, RowSample
from suffice.core.statistics.moments import Moments
from suffice.core.statistics.pairs import Pairs
from suffice.core.statistics.sample import Points, Sample
from suffice.core.statistics.scatter import Fourth, Scatter
from suffice.core.statistics.statistic import Statistic
from suffice.core.statistics.totals import Totals
from suffice.core.statistics.word_counts import WordCounts

__all__ = [
    "Batch",
    "Blocks",
    "ByClass",
    "Cells",
    "Counts",
    "DocumentSample",
    "Fourth",
    "Moments",
    "Pairs",
    "Points",
    "RowSample",
    "Sample",
    "Scatter",
    "Statistic",
    "Totals",
    "WordCounts",
]
