"""Heavy tails: whether a few trials hold so much of all the error that a mean over trials says little.

Imported by `standings`; imports numpy only.
"""

from __future__ import annotations

from collections.abc import Iterable

from dpbench.numerics.arrays import Floats

LEVEL = 0.01
"""Probability that any mechanism of a board is marked although the tail of no error is heavier than exponential."""


def tail_probability(errors: Floats) -> float:
    """An upper bound of the probability that the largest of n errors has so large a share g of their sum: n (1 - g)^(n-1).

    Exact for exponential errors and g of at least 1/2 (Fisher 1929), an upper bound otherwise. The exponential distribution is
    the heaviest that sums of Laplace noise have; errors of many columns together have lighter tails.
    """
    total = float(errors.sum())
    if errors.size < 2 or not total > 0:
        return 1.0
    return share_probability(errors.size, float(errors.max()) / total)


def share_probability(trials: int, share: float) -> float:
    """The same from the number of errors and the share of the largest."""
    return min(1.0, trials * (1 - share) ** (trials - 1)) if trials > 1 else 1.0


def heavy(errors: Iterable[Floats], tests: int, level: float = LEVEL) -> bool:
    """Whether any of these groups of trials has a tail that is heavier than exponential; `tests` groups share the level."""
    return any(tail_probability(group) < level / max(1, tests) for group in errors)


def least_detected(trials: int) -> float:
    """How often a disaster must occur to be seen in so many trials, with probability 95 %: those that occur less are not
    excluded by anything that the trials show."""
    return 1.0 if trials < 1 else float(1 - 0.05 ** (1 / trials))
