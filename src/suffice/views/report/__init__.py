"""A report of a fitted model: one HTML file that opens anywhere, without a network.

It shows the classes, what each column is taken to be, p(x | y) of every column, what tells most of each class, how good
the predictions are where rows are given, and a panel in which values can be typed and the probabilities watched.
"""

from __future__ import annotations

from suffice.views.report.page import render, write

__all__ = ["render", "write"]
