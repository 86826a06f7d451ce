"""Classes that call numpy, replayed: what is added to noise is what it protects, and what is not recorded is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench import Incidence
from dpbench.auditing.judge import AuditedVariant, Options, findings
from dpbench.auditing.recorded import Recorded

from support.released import Own, Way


def in_place(data: Incidence, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    counts = data.counts.astype(float)
    counts += rng.laplace(0, 3 / epsilon, data.columns)
    return counts


PRIVATE: dict[str, Way] = {
    "added": lambda data, e, rng: data.counts + rng.laplace(0, 3 / e, data.columns),
    "added to": lambda data, e, rng: rng.laplace(scale=3 / e, size=data.columns) + data.counts,
    "subtracted": lambda data, e, rng: data.counts - rng.laplace(0.0, 3 / e, data.columns),
    "as its centre": lambda data, e, rng: rng.laplace(data.counts, 3 / e),
    "scaled": lambda data, e, rng: data.counts + 3 / e * rng.laplace(size=data.columns),
    "in place": in_place,
    "rounded": lambda data, e, rng: np.maximum(np.rint(data.counts + rng.laplace(0, 3 / e, data.columns)), 0).tolist(),
    "one by one": lambda data, e, rng: [float(count + rng.laplace(0, 3 / e)) for count in data.counts],
}
FAULTS: dict[str, Way] = {
    "little noise": lambda data, e, rng: data.counts + rng.laplace(0, 2.9 / e, data.columns),
    "noise of the data": lambda data, e, rng: data.counts + rng.laplace(0, (3 + data.ones) / e, data.columns),
    "twice": lambda data, e, rng: [data.counts + rng.laplace(0, 3 / e, data.columns) for _ in range(2)],
    "an exact total": lambda data, e, rng: [*(data.counts + rng.laplace(0, 3 / e, data.columns)), data.ones],
}


def found(way: Way) -> Any:
    (finding,) = findings([AuditedVariant("own", Recorded(Own(way)))], Options(pairs=42))
    return finding


@pytest.mark.parametrize("name", PRIVATE)
def test_private_classes_hold(name: str) -> None:
    finding = found(PRIVATE[name])
    assert (finding.method, finding.verdict) == ("replay", "holds"), finding
    assert finding.loss == pytest.approx(1.0)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(name: str) -> None:
    assert found(FAULTS[name]).verdict == "violated"


def test_what_is_not_recorded_is_said() -> None:
    finding = found(lambda data, e, rng: (data.counts + rng.laplace(0, 3 / e, data.columns), rng.random() < 0.5))
    assert finding.verdict == "inconclusive"
    assert "what `rng.random` draws, which is not recorded" in finding.reason
