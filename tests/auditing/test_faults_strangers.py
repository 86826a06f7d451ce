"""Faults of classes that have only `release`, and harmless and unusual private ones: what the test of releases says.

The error probability of each rejection is at most 1 %; the seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpbench import Counts, Incidence, Mechanism, Noise

from support.released import Own, Planted, Way, cases, must_be_found, verdicts


def laplace(data: Incidence, epsilon: float, rng: np.random.Generator, factor: float = 1.0) -> np.ndarray:
    return data.counts + rng.laplace(0, 3 / epsilon / factor, data.columns)


def raising(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
    """Raises if a column is empty, and always then."""
    if data.columns and data.counts.min() == 0:
        raise ValueError("an empty column")
    return laplace(data, epsilon, rng)


def in_low_bits(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
    noisy = np.ascontiguousarray(laplace(data, epsilon, rng))
    bits = noisy.view(np.int64)
    bits[:] = (bits >> 8 << 8) + data.counts % 200
    return bits.view(np.float64)


def in_two_ways(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
    raise ValueError("an odd number of ones" if data.ones % 2 else "an even number of ones")


class Odd(Counts):
    """A class that says something about the data."""


def tagged(data: Incidence, epsilon: float, rng: np.random.Generator) -> Counts:
    release = Counts(counts=laplace(data, epsilon, rng))
    object.__setattr__(release, "tag", [int(data.ones)])
    return release


def now_and_then(chance: float) -> Way:
    return lambda data, e, rng: data.counts * 1.0 if rng.random() < chance else laplace(data, e, rng)


def with_more(more: Callable[[Incidence], Any]) -> Way:
    return lambda data, e, rng: SimpleNamespace(counts=laplace(data, e, rng), _more=more(data))


WAYS: dict[str, Way] = {
    "no noise": lambda data, e, rng: data.counts,
    "a third of the noise": lambda data, e, rng: laplace(data, e, rng, 3.0),
    "half the noise": lambda data, e, rng: laplace(data, e, rng, 2.0),
    "two thirds of the noise": lambda data, e, rng: laplace(data, e, rng, 1.5),
    "Gaussian noise": lambda data, e, rng: data.counts + rng.normal(0, 1 / e, data.columns),
    "uniform noise": lambda data, e, rng: data.counts + rng.uniform(-3 / e, 3 / e, data.columns),
    "the same noise for all": lambda data, e, rng: data.counts + rng.laplace(0, 3 / e),
    "noise that is never negative": lambda data, e, rng: data.counts + rng.exponential(3 / e, data.columns),
    "noise on the non-zeros only": lambda data, e, rng: np.where(data.counts, laplace(data, e, rng), 0.0),
    "zeros are left out": lambda data, e, rng: laplace(data, e, rng)[data.counts > 0],
    "the true number of ones": lambda data, e, rng: [*laplace(data, e, rng), data.ones],
    "the true largest": lambda data, e, rng: {"counts": laplace(data, e, rng), "top": int(np.argmax(data.counts))},
    "the true order": lambda data, e, rng: dict(
        zip(np.argsort(data.counts).tolist(), laplace(data, e, rng), strict=True)
    ),
    "an error on one side": raising,
    "in the low bits": in_low_bits,
    "the length": lambda data, e, rng: [*laplace(data, e, rng), *([0.0] * (data.ones % 2))],
    "the type": lambda data, e, rng: laplace(data, e, rng).astype(np.float32 if data.ones % 2 else np.float64),
    "a list or a tuple": lambda data, e, rng: (list if data.ones % 2 else tuple)(laplace(data, e, rng)),
    "an attribute": with_more(lambda data: int(data.ones)),
    "a nested attribute": with_more(lambda data: {"a": [int(data.ones)]}),
    "a word": with_more(lambda data: "odd" if data.ones % 2 else "even"),
    "always an error, in two ways": in_two_ways,
    "the order of parameters": lambda data, e, rng: Counts(
        counts=laplace(data, e, rng), chosen={"a": 1.0, "b": 2.0} if data.ones % 2 else {"b": 2.0, "a": 1.0}
    ),
    "a class of releases": lambda data, e, rng: (Odd if data.ones % 2 else Counts)(counts=laplace(data, e, rng)),
    "an attribute of a release": tagged,
    "the truth once in ten": now_and_then(0.1),
    "the truth once in a hundred": now_and_then(0.01),
    "the truth once in a thousand": now_and_then(0.001),
}
QUICK = ("no noise", "half the noise", "an error on one side", "in the low bits", "the type", "an attribute")
ONLY_THOROUGH = ("the truth once in a thousand",)
FAULTS = [
    Planted(name, lambda patch, way=way: Own(way), quick=name in QUICK, thorough=name in ONLY_THOROUGH)
    for name, way in WAYS.items()
]


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_faults_of_strangers_are_found(fault: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    must_be_found(fault, monkeypatch)


# Unusual but private: replay cannot follow them, and says so instead of calling them violated.


@dataclass(frozen=True, kw_only=True)
class NoiseForZeros(Mechanism):
    """Draws noise for zeros and adds the counts itself."""

    bound: int = 3

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=data.counts + noise.laplace(np.zeros(data.columns), scale=self.bound / epsilon))


class StreamNoise(NoiseForZeros):
    """Its noise comes from a stream."""

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=data.counts + noise.stream("noise").laplace(0, self.bound / epsilon, data.columns))


class NoiseByNonzeros(NoiseForZeros):
    """Noise for the non-zeros in one step, and for the zeros in another: together it is noise on every column."""

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> Counts:
        counts, there = np.zeros(data.columns), data.counts > 0
        counts[there] = noise.laplace(data.counts[there], scale=self.bound / epsilon, step="non-zeros")
        counts[~there] = noise.laplace(np.zeros((~there).sum()), scale=self.bound / epsilon, step="zeros")
        return Counts(counts=counts)


class NoiseTwice(NoiseForZeros):
    """The counts twice, each time with noise drawn for zeros and half of the budget."""

    def publish(self, data: Incidence, epsilon: float, noise: Noise) -> Counts:
        left, right = (
            noise.laplace(np.zeros(data.columns), scale=2 * self.bound / epsilon, step=name) for name in "ab"
        )
        return Counts(counts=data.counts + left, chosen={"other": (data.counts + right)[:1]})


@pytest.mark.slow
@pytest.mark.parametrize("cls", [NoiseForZeros, StreamNoise, NoiseByNonzeros, NoiseTwice])
def test_unusual_private_classes_are_not_called_violated(cls: type) -> None:
    (found,) = verdicts(cls())
    assert found.verdict == "inconclusive", found
    assert "replay cannot follow it" in found.reason
    assert "would have found" in found.reason


# Harmless changes of a stranger: no alarm.

HARMLESS: dict[str, Way] = {
    "as it is": laplace,
    "more noise": lambda data, e, rng: laplace(data, e, rng, 0.5),
    "rounded": lambda data, e, rng: np.rint(laplace(data, e, rng)),
    "not negative": lambda data, e, rng: np.maximum(laplace(data, e, rng), 0),
    "as a list": lambda data, e, rng: laplace(data, e, rng).tolist(),
    "in single precision": lambda data, e, rng: laplace(data, e, rng).astype(np.float32),
    "sorted": lambda data, e, rng: np.sort(laplace(data, e, rng)),
    "its largest": lambda data, e, rng: int(np.argmax(laplace(data, e, rng))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HARMLESS)
def test_private_strangers_raise_no_alarm(name: str) -> None:
    (found,) = verdicts(Own(HARMLESS[name]))
    assert found.verdict == "inconclusive", found
