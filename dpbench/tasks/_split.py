"""Splits a squared error by its causes. Used by the tasks that score counts or sums of them.

A release passes through stages: the true data; bounded; sampled; grouped or with parts dropped; published. The amount by
which a stage changes the error of an answer is its part of that error. The share of a stage is the mean over all answers of
its part times the whole error, so that the shares add up to the mean squared error.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Counts
from dpbench.data.stages import PARTS
from dpbench.model.metric import Metric

_TOLD = (
    "mean over the published numbers of (what {what} adds to the error) x (the whole error). All shares add up to `mse`; a "
    "negative share cancels error made by the others"
)
SHARES = tuple(
    Metric(f"share_{part}", _TOLD.format(what=what), beside="mse")
    for part, what in (
        ("bounding", "limiting the contribution of each row or user"),
        ("sampling", "using only some of the records"),
        ("grouping", "giving several numbers one answer"),
        ("dropping", "leaving numbers or coefficients out"),
        ("noise", "noise"),
    )
)
"""The metrics `share_*`. A release without stages has none of them."""


def count_shares(counts: np.ndarray, error: np.ndarray, release: Counts) -> dict[str, float]:
    """The split of the squared error of published counts; empty if the release has no stages."""
    stages = getattr(release, "stages", None)  # a user's own release class may not have them
    return {} if stages is None else shares(counts, error, ((stage.part, stage.answers) for stage in stages))


def shares(
    truth: NDArray[np.float64], errors: NDArray[np.float64], stages: Iterable[tuple[str, NDArray[np.float64]]]
) -> dict[str, float]:
    """`errors`: published minus true answers. `stages`: the kind of each, and the answers after it, in order.

    With e_i the error after stage i and e the whole error, the share of a stage is the mean of (e_i - e_{i-1}) e. Only one
    product e_i e per stage has to be computed.
    """
    by_part: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    before = 0.0
    for part, answers in stages:
        after = float(np.dot(answers - truth, errors)) / errors.size
        by_part[part] += after - before
        before = after
    by_part["noise"] = float(np.dot(errors, errors)) / errors.size - before
    return {f"share_{part}": share for part, share in by_part.items()}
