"""The split of a squared error by where it comes from. Used by the tasks that score counts or sums of them.

A release passes through stages: the truth, bounded, sampled, grouped or with parts dropped, published. What one stage adds to
an answer is its part of the error of that answer. The share of a stage is the mean over all answers of its part times the
whole error, so that the shares add up to the mean squared error.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Counts
from dpbench.data.stages import PARTS
from dpbench.tasks.base import Metric

_TOLD = (
    "mean over the published numbers of (what {what} adds to the error) x (the whole error). All shares add up to `mse`; one "
    "below zero takes away error that the others make"
)
SHARES = tuple(
    Metric(f"share_{part}", _TOLD.format(what=what), beside="mse")
    for part, what in (
        ("bounding", "limiting what one row or user may add"),
        ("sampling", "taking some of the records only"),
        ("grouping", "answering several numbers by one"),
        ("dropping", "leaving numbers or coefficients out"),
        ("noise", "noise"),
    )
)
"""The metrics `share_*`. A release that does not tell its stages has none of them."""


def count_shares(counts: np.ndarray, error: np.ndarray, release: Counts) -> dict[str, float]:
    """The split of the squared error of published counts; empty where the release does not tell its stages."""
    stages = getattr(release, "stages", None)  # a stranger's release need not know of them
    return {} if stages is None else shares(counts, error, ((stage.part, stage.answers) for stage in stages))


def shares(
    truth: NDArray[np.float64], errors: NDArray[np.float64], stages: Iterable[tuple[str, NDArray[np.float64]]]
) -> dict[str, float]:
    """`errors`: published minus true answers. `stages`: the kind of each, and the answers after it, in order.

    With e_i the error that is there after stage i, and e the whole one, the share of a stage is the mean of (e_i - e_{i-1}) e:
    one product e_i e per stage is all there is to compute.
    """
    found: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    before = 0.0
    for part, answers in stages:
        after = float(np.dot(answers - truth, errors)) / errors.size
        found[part] += after - before
        before = after
    found["noise"] = float(np.dot(errors, errors)) / errors.size - before
    return {f"share_{part}": share for part, share in found.items()}
