"""The two forms of a summary: what is released, and the form in steps that is replayed. Do they have the same distribution?

Replay follows `stepwise()`, which adds noise to every place. What a user releases is the shortcut. Both are drawn many times
on a few tables and compared, number by number: by their frequencies and by their mean sizes. Imported by the audit by replay.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpbench.auditing.features import Matrix, learn_layout
from dpbench.auditing.foreign import fit
from dpbench.auditing.observed import Observed, released
from dpbench.auditing.scores import bin_of, edges_of
from dpbench.data import Contingency, Data

COMPARED = 1000
"""Releases of either form, per table."""
ALARM = 1e-9
"""The probability of a false alarm on one table, over all its numbers."""
EPSILONS = (0.5, 2.0)
"""In turn: much noise shows the zeros, little noise the others."""


def tables() -> list[Contingency]:
    """A table with all kinds of counts, an empty one with many cells, and one with a few large counts among many zeros."""
    kinds: list[tuple[dict[int, int], int]] = [({0: 1, 2: 3, 3: 1, 5: 40}, 7), ({}, 60), ({1: 7, 40: 200}, 64)]
    return [
        Contingency(np.array([*cells], dtype=np.int64), np.array([*cells.values()], dtype=np.int64), size, (size,))
        for cells, size in kinds
    ]


def differing_forms(shortcut: Any, stepwise: Any, draws: int, seed: int) -> str:
    """What differs between the releases of both forms; empty if nothing was found."""
    fitting = [data for data in tables() if fit(shortcut, data) and fit(stepwise, data)]
    for number, (data, epsilon) in enumerate(zip(fitting, itertools.cycle(EPSILONS), strict=False)):
        sides = [
            _drawn(form, data, epsilon, draws, [seed, number, side]) for side, form in enumerate((shortcut, stepwise))
        ]
        if name := _differing(*sides):
            return f"the form that is released differs from the one in steps: {name}, on a table of {data.size} cells"
    return ""


def _drawn(mechanism: Any, data: Data, epsilon: float, draws: int, seed: Sequence[int]) -> list[Observed]:
    rng = np.random.default_rng(seed)
    return [released(mechanism, data, epsilon, rng) for _ in range(draws)]


def _differing(one: list[Observed], other: list[Observed]) -> str:
    layout = learn_layout(one, other)
    first, second = layout.matrix(one), layout.matrix(other)
    names = layout.names
    alarm = ALARM / max(1, 2 * len(names))
    return next((name for at, name in enumerate(names) if _apart(first[:, at], second[:, at], alarm)), "")


def _apart(one: Matrix, other: Matrix, alarm: float) -> bool:
    """Whether two samples of a number differ: in its frequencies, or in its mean distance from the median."""
    from scipy.stats import chi2, norm

    both = np.concatenate([one, other])
    edges = edges_of(both)
    counts = np.array([np.bincount(bin_of(side, edges), minlength=edges.size + 2) for side in (one, other)])
    total = counts.sum(axis=0)
    rare = total < 20  # together, so that the distribution of the statistic is known
    counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    total = counts.sum(axis=0)
    counts, total = counts[:, total > 0], total[total > 0]
    if total.size > 1:
        statistic = float(((counts[1] - counts[0]) ** 2 / total).sum())  # both sides have as many draws
        if chi2.sf(statistic, total.size - 1) < alarm:
            return True
    there = [side[~np.isnan(side)] for side in (one, other)]
    if min(side.size for side in there) < 100:
        return False
    middle = float(np.median(np.concatenate(there)))
    # Noise has heavy tails: the few largest numbers must not decide.
    most = np.quantile(np.abs(np.concatenate(there) - middle), 0.999)
    far = [np.minimum(np.abs(side - middle), most) for side in there]
    error = float(np.sqrt(sum(side.var() / side.size for side in far)))
    return error > 0 and 2 * norm.sf(abs(far[0].mean() - far[1].mean()) / error) < alarm
