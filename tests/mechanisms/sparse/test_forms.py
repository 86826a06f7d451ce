"""The filter's shortcut and its laborious form have the same distribution: every outcome of both, enumerated on tiny tables.

Noise is cut off where its probability is below 1e-7, so the distributions agree up to that.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import dpbench
from dpbench import Contingency
from dpbench.auditing.recording import RecordingNoise
from dpbench.auditing.values import as_bytes

EPSILON = 3.0
REACH = 6
NOISE = range(-REACH, REACH + 1)


def mass(alpha: float, x: int) -> float:
    return (1 - alpha) / (1 + alpha) * alpha ** abs(x)


def with_outputs(mechanism: Any, data: Contingency, steps: Any, outputs: list[Any]) -> Any:
    given = [dataclasses.replace(step, output=output) for step, output in zip(steps, outputs, strict=True)]
    return mechanism.publish(data, EPSILON, RecordingNoise(np.random.default_rng(0), given=given))


def law(mechanism: Any, data: Contingency) -> Counter[bytes]:
    """The probability of every release."""
    noise = RecordingNoise(np.random.default_rng(0))
    mechanism.publish(data, EPSILON, noise)
    table, *zeros = noise.steps
    alpha = float(table.parameters["alpha"])
    found: Counter[bytes] = Counter()
    outcomes: list[Any] = [None]
    if zeros:
        (zero,) = zeros
        free = np.setdiff1d(np.arange(zero.law.table.size), zero.law.table.places)
        outcomes = [
            (np.array(places, dtype=np.int64), np.array(values, dtype=np.int64))
            for size in range(free.size + 1)
            for places in itertools.combinations(free.tolist(), size)
            for values in itertools.product([x for x in NOISE if abs(x) >= zero.law.theta], repeat=size)
        ]
    for drawn in itertools.product(NOISE, repeat=table.exact.size):
        chance = math.prod(mass(alpha, x) for x in drawn)
        for outcome in outcomes:
            more = math.exp(zeros[0].law.log_probability(outcome)) if zeros else 1.0
            if more > 0:
                outputs = [table.exact + np.array(drawn), *([outcome] if zeros else [])]
                release = with_outputs(mechanism, data, noise.steps, outputs)
                found[as_bytes([part.tolist() for part in release.parts().values()])] += chance * more
    return found


@pytest.mark.parametrize("parameters", [{"theta": 2}, {"theta": 2, "two_sided": False}, {"t": 1}], ids=str)
@pytest.mark.parametrize("counts", [[1, 0], [0, 0], [2, 1]], ids=str)
def test_both_forms_of_the_filter_have_the_same_distribution(counts: list[int], parameters: dict[str, Any]) -> None:
    if "t" in parameters and not any(counts):
        pytest.skip("θ for a target lets through all values of an empty table, far beyond the noise that is listed")
    cells = np.flatnonzero(counts)
    data = Contingency(cells, np.array(counts)[cells], len(counts), (len(counts),))
    laws = [law(dpbench.mechanism("filter", laborious=long, **parameters), data) for long in (False, True)]
    assert sum(laws[1].values()) == pytest.approx(1, abs=1e-6)
    for release in {*laws[0], *laws[1]}:
        assert laws[0][release] == pytest.approx(laws[1][release], abs=1e-6)
