"""The audit finds planted faults and accuses nobody else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpbench import Bounded, Counts
from dpbench.audit.blackbox import audit, certain_loss
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class HalfNoise(Bounded):
    """LPA with half its noise: twice the privacy loss it states."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=noise.laplace(data.counts, scale=self.sensitivity(data) / epsilon / 2))


@dataclass(frozen=True, kw_only=True)
class ShowsSupport(Bounded):
    """Noise on filled columns only: which columns are empty is published as it is."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        noisy = noise.laplace(data.counts, scale=self.sensitivity(data) / epsilon)
        return Counts(counts=np.where(data.counts > 0, noisy, 0.0))


@pytest.mark.parametrize("name", ["lpa", "alpa", "gs_r", "geometric"])
def test_private_mechanisms_stay_within_epsilon_and_the_bound_is_not_empty(name: str) -> None:
    """False alarm below 1 % each by construction; the loss found is at least half of what is there."""
    finding = audit(name, epsilon=1.0, trials=3000)
    assert 0.5 < finding.bound <= 1.0
    assert finding.not_private == ""


@pytest.mark.parametrize("fault", [HalfNoise, ShowsSupport])
def test_planted_faults_are_found(fault: type) -> None:
    finding = audit(f"{fault.__module__}.{fault.__qualname__}", epsilon=1.0, trials=3000)
    assert finding.violated
    assert finding.bound > 1.2


def test_what_looks_at_the_data_says_so() -> None:
    assert "optimal" in audit("fpa", epsilon=1.0, trials=50).not_private


def test_every_mechanism_is_measured() -> None:
    """An audit that measured nothing must not look like one that found nothing."""
    from dpbench.mechanisms import MECHANISMS

    for name in MECHANISMS.names():
        assert audit(name, epsilon=1.0, trials=2).pairs > 0, name


@pytest.mark.parametrize(
    ("name", "observed", "declared"),
    [
        ("lpa", {}, {"bound": 20}),
        ("gs_r", {}, {"bound": 20}),
        ("gs_s", {}, {"bound": 20}),
        ("gs", {}, {"bound": 20}),
        ("fpa", {"bound": 2}, {"bound": 20, "rho": 1}),
    ],
)
def test_what_looks_at_the_data_loses_more_than_it_says(name: str, observed: dict, declared: dict) -> None:
    """Parameters taken from the data are found out; the same declared beforehand stay within ε (false alarm 5 %)."""
    assert certain_loss(name, 1.0, **observed) > 2
    assert certain_loss(name, 1.0, **declared) <= 1
