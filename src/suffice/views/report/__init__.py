"""A report of a fitted model: one HTML file that opens anywhere, without a network.

It shows the classes, the family of each column, p(x | y) of every column, the most typical values of each class, the
quality of the predictions if rows are given, and a panel that computes probabilities of values as they are typed.
"""

from suffice.views.report.page import render, write

__all__ = ["render", "write"]
