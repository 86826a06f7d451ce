"""Expected errors of counts given all but the last noise of a release. Used by the tasks that score counts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Data
from dpbench.data.last_step import ExpectedErrors, LastStep, NoiseCase, NoisyCounts

NOTHING = np.zeros(1)


def expected_errors(
    data: Data,
    last: LastStep | None,
    truth: NDArray[Any],
    weights: NDArray[np.float64] = NOTHING,
    key: Hashable = None,
) -> ExpectedErrors | None:
    """The sums over all counts; None if the release does not tell. `key` identifies truth and weights for these data."""
    if not isinstance(last, NoisyCounts):
        return None
    given = np.broadcast_to(weights, truth.shape)

    def errors(case: NoiseCase) -> ExpectedErrors:
        if case.key is None:
            return case.errors(truth, given)
        return data.memo(("expected", key, case.key), lambda: case.errors(truth, given))

    each = [(case.weight, errors(case)) for case in last.cases if case.weight]
    return ExpectedErrors(
        absolute=sum(weight * one.absolute for weight, one in each),
        weighted=sum(weight * one.weighted for weight, one in each),
        squared=sum(weight * one.squared for weight, one in each),
    )


def last_step_of(release: Any) -> LastStep | None:
    """That of a release; a user's own release class may have none."""
    return getattr(release, "last_step", None)


def known(expected: dict[str, float]) -> dict[str, float]:
    """Those that have a closed form."""
    return {name: value for name, value in expected.items() if value == value}
