"""How a page writes numbers: 12,435 rows, 84.1 %, a score of 0.276, log-odds of −1.20."""

from __future__ import annotations

import numpy as np


def amount(value: float) -> str:
    """Return a count or a sum of weights, with separators between thousands.

    >>> amount(12435), amount(0.5), amount(1234567.8)
    ('12,435', '0.5', '1,234,568')
    """
    value = float(value)
    return minus(f"{value:,.0f}" if value.is_integer() or abs(value) >= 1000 else f"{value:,.3g}")


def percent(share: float) -> str:
    """Return a share or a probability.

    >>> percent(0.8412), percent(1.0), percent(0.0), percent(0.9996), percent(2e-5)
    ('84.1 %', '100 %', '0 %', '> 99.9 %', '< 0.1 %')
    """
    share = float(share)
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    return "< 0.1 %" if share < 0.001 else "> 99.9 %" if share > 0.999 else f"{100 * share:.1f} %"


def score(value: float) -> str:
    """Return a log-loss, a number of bits and the like.

    >>> score(0.27634), score(12.0), score(float("inf"))
    ('0.276', '12.000', '∞')
    """
    if not np.isfinite(value):
        return minus(f"{value}".replace("inf", "∞"))
    return minus(f"{value:.3f}") if abs(value) >= 0.0005 else "0.000"


def signed(value: float) -> str:
    """Return log-odds.

    >>> signed(1.234), signed(-0.5), signed(0.001)
    ('+1.23', '−0.50', '±0.00')
    """
    if abs(value) < 0.005:
        return "±0.00"
    return minus(f"{value:+.2f}".replace("inf", "∞"))


def minus(text: str) -> str:
    """Return a number with a minus sign where it has a hyphen."""
    return text.replace("-", "−")
