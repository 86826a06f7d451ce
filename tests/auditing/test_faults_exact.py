"""Faults in the exact form of noise, and in its samplers: each must be found by what `audit` does with its defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpbench
from dpbench.privacy._words import Seeded

from support.planting import change_at
from support.released import Planted, cases, must_be_found

Noisy = Callable[..., Any]


def sampler(at: str, change: Callable[..., Any], mechanism: str, **parameters: Any) -> Callable[[Any], Any]:
    """A mechanism while a function of `dpbench.privacy` is changed; `change` takes the right one first."""

    def plant(patch: pytest.MonkeyPatch) -> Any:
        change_at(patch, f"privacy.{at}", change)
        return dpbench.mechanism(mechanism, **parameters)

    return plant


# Each replaces add_discrete_laplace(values, scales, words).


def tiny(right: Noisy, values: Any, scales: Any, words: Any) -> Any:
    return values + right(np.zeros_like(values), scales, words) // 2**24


def a_tenth_less(right: Noisy, values: Any, scales: Any, words: Any) -> Any:
    return right(values, np.asarray(scales) / 1.1, words)


def one_sided(right: Noisy, values: Any, scales: Any, words: Any) -> Any:
    return values + np.abs(right(np.zeros_like(values), scales, words))


def even(right: Noisy, values: Any, scales: Any, words: Any) -> Any:
    return values + 2 * (right(np.zeros_like(values), scales, words) // 2)


def shared(right: Noisy, values: Any, scales: Any, words: Any) -> Any:
    noise = right(np.zeros_like(values), scales, words)
    return values + noise.reshape(-1)[:1].reshape([1] * noise.ndim) if noise.size else values


def uniform(right: Noisy, values: Any, scales: Any, words: Any) -> Any:
    reach = np.broadcast_to(np.ceil(2 * np.asarray(scales)), values.shape)
    return values + np.rint((words.take(values.size).reshape(values.shape) / 2.0**64 * 2 - 1) * reach).astype(np.int64)


def clamped(right: Noisy, values: Any, scales: Any, words: Any) -> Any:
    most = np.ceil(np.asarray(scales)).astype(np.int64)
    return values + np.clip(right(np.zeros_like(values), scales, words), -most, most)


def often_none(right: Noisy, values: Any, scales: Any, words: Any) -> Any:
    """A tenth of the values has no noise."""
    kept = (words.take(values.size) % np.uint64(10) == 0).reshape(values.shape)
    return np.where(kept, values, right(values, scales, words))


LAWS = [tiny, a_tenth_less, one_sided, even, shared, uniform, clamped, often_none]
LAPLACE = [("lpa", {"bound": 3}), ("gs", {"bound": 3}), ("sra", {"l": 2})]
WHOLE = [("geometric", {}), ("sketch", {"buckets": 4}), ("geometric", {"transform": "dyadic"})]


def named(name: str, parameters: dict[str, Any]) -> str:
    return "-".join([name, *(f"{key}={value}" for key, value in parameters.items())])


FAULTS = [
    Planted(
        f"{law.__name__} in {named(name, parameters)}",
        sampler(f"{module}:add_discrete_laplace", law, name, **parameters),
        quick=(name, parameters) == ("geometric", {}) or (name == "lpa" and law in (tiny, a_tenth_less)),
    )
    for module, mechanisms in (("laplace", LAPLACE), ("geometric", WHOLE))
    for name, parameters in mechanisms
    for law in LAWS
]


def fixed(right: Any) -> Any:
    return Seeded(np.random.default_rng(0))


def best(right: Noisy, exponents: Any, unit: Any, words: Any) -> int:
    """A choice without noise."""
    return int(np.argmin(exponents))


def sharp(right: Noisy, exponents: Any, unit: Any, words: Any) -> int:
    return int(right(exponents, 2 * unit, words))


def every_row(right: Noisy, n: int, rate: float, words: Any) -> Any:
    return np.arange(n)


def twice_the_rate(right: Noisy, n: int, rate: float, words: Any) -> Any:
    return right(n, min(1.0, 2 * rate), words)


FAULTS += [
    Planted(f"secure bits from a fixed seed in {named(*one)}", sampler("noise:System", fixed, one[0], **one[1]))
    for one in (*LAPLACE, WHOLE[0])
]
FAULTS += [
    Planted("a choice without noise", sampler("choose:draw_one", best, "dpsense", bound=3), quick=True),
    Planted("a choice with twice the budget", sampler("choose:draw_one", sharp, "dpsense", bound=3), thorough=True),
    Planted(
        "all rows are in the sample", sampler("rows:below", every_row, "gs_s", bound=3, sampling="row"), quick=True
    ),
    Planted("rows at twice the rate", sampler("rows:below", twice_the_rate, "gs_s", bound=3, sampling="row")),
]


def half_float(right: Noisy, self: Any, rng: Any) -> Any:
    """Float noise of half the scale."""
    return self.values + (right(self, rng) - self.values) / 2


def rounded(right: Noisy, self: Any, rng: Any) -> Any:
    return self.values + np.round((right(self, rng) - self.values) / 4) * 4


FAULTS += [
    Planted(f"{change.__name__} in {named(name, parameters)}", sampler(f"{step}.draw", change, name, **parameters))
    for step, name, parameters in (
        ("laplace:LaplaceStep", "lpa", {"bound": 3}),
        ("laplace:LaplaceStep", "gs", {"bound": 3}),
        ("laplace:LaplaceStep", "hpa", {"d": 1, "l": 2}),
        ("geometric:GeometricStep", "geometric", {}),
        ("gaussian:GaussianStep", "gaussian", {"bound": 3}),
        ("gaussian:GaussianStep", "gaussian_correlated", {"bound": 3}),
        ("ball:BallStep", "linf", {}),
        ("ball:BallStep", "knorm_counts", {}),
    )
    for change in (half_float, rounded)
    if not (change is rounded and name in ("linf", "knorm_counts"))
]


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_faults_of_samplers_are_found(fault: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    must_be_found(fault, monkeypatch)
