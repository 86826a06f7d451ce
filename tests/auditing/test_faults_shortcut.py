"""Faults in the shortcuts of the sparse summaries, which are what is released: the form in steps that is replayed is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.numerics import places

from support.faults import method, patched
from support.released import Planted, cases, must_be_found

BASES = {
    "filter": ("filters", {"theta": 2}),
    "filter dyadic": ("filters", {"theta": 2, "transform": "dyadic"}),
    "threshold": ("samples", {"tau": 3}),
    "priority": ("samples", {"s": 2}),
    "filter_priority": ("samples", {"s": 2, "theta": 2}),
}


def true_values(right: Any, table: Any, keep: Any, alpha: float, noise: Any) -> Any:
    """Published without noise."""
    right(table, keep, alpha, noise)
    return table.places, table.values.astype(float)


def kept_by_truth(right: Any, table: Any, keep: Any, alpha: float, noise: Any) -> Any:
    noisy = table.noisy(alpha, noise)
    kept = keep(table.values)
    return table.places[kept], noisy[kept]


def little_noise(right: Any, table: Any, keep: Any, alpha: float, noise: Any) -> Any:
    return right(table, keep, alpha**3, noise)


def all_nonzeros(right: Any, table: Any, keep: Any, alpha: float, noise: Any) -> Any:
    """Whatever noise says, all of them are shown."""
    return table.places, table.noisy(alpha, noise)


def rounded_noise(right: Any, table: Any, keep: Any, alpha: float, noise: Any) -> Any:
    where, values = right(table, keep, alpha, noise)
    return where, values + np.isin(where, table.places[:1])


NONZEROS = [true_values, kept_by_truth, little_noise, all_nonzeros, rounded_noise]
FAULTS = [
    Planted(
        f"{change.__name__} in {name}",
        patched(name.split()[0], f"sparse.{module}:chosen_nonzeros", change, **parameters),
        quick=name == "filter" or change is true_values,
        thorough=change is rounded_noise and name in ("filter dyadic", "priority", "filter_priority"),
    )
    for name, (module, parameters) in BASES.items()
    for change in NONZEROS
    # A priority sample takes what is not zero, whatever passes before: there these are no faults.
    if not (name == "priority" and change in (kept_by_truth, all_nonzeros))
]


def no_zeros(right: Any, zeros: int, probability: float, rng: Any) -> int:
    return 0


def twice_the_zeros(right: Any, zeros: int, probability: float, rng: Any) -> int:
    return min(zeros, 2 * right(zeros, probability, rng))


def first_places(right: Any, size: int, taken: Any, domain: int, rng: Any) -> Any:
    """The first free places instead of random ones."""
    return np.setdiff1d(np.arange(domain), taken)[:size]


def beside_nonzeros(right: Any, size: int, taken: Any, domain: int, rng: Any) -> Any:
    free = np.setdiff1d(np.arange(domain), taken)
    near = np.argsort([np.abs(place - taken).min() if len(taken) else 0 for place in free], kind="stable")
    return np.sort(free[near[:size]])


def positive(right: Any, *given: Any) -> Any:
    return np.abs(right(*given))


def smallest(right: Any, alpha: float, theta: float, *given: Any) -> Any:
    drawn = right(alpha, theta, *given)
    return np.sign(drawn) * np.minimum(np.abs(drawn), np.ceil(theta))


FAULTS += [
    Planted("no zeros in filter", patched("filter", "sparse._zeros:upgraded", no_zeros, theta=2), quick=True),
    Planted("no zeros in threshold", patched("threshold", "sparse._zeros:upgraded", no_zeros, tau=3)),
    Planted("no zeros in priority", patched("priority", "sparse._priority:upgraded", no_zeros, s=2)),
    Planted("twice the zeros in filter", patched("filter", "sparse._zeros:upgraded", twice_the_zeros, theta=2)),
    Planted("twice the zeros in threshold", patched("threshold", "sparse._zeros:upgraded", twice_the_zeros, tau=3)),
    Planted("positive zeros in filter", patched("filter", "sparse._zeros:passed", positive, theta=2)),
    Planted("positive zeros in threshold", patched("threshold", "sparse._zeros:sampled", positive, tau=3)),
    Planted("small zeros in filter", patched("filter", "sparse._zeros:passed", smallest, theta=2)),
]


def places_of(change: Any, name: str, **parameters: Any) -> Any:
    def plant(patch: pytest.MonkeyPatch) -> Any:
        import dpbench

        right = places.free
        patch.setattr(places, "free", lambda *given: change(right, *given))
        return dpbench.mechanism(name, **parameters)

    return plant


FAULTS += [
    Planted(f"{change.__name__} in {name}", places_of(change, name, **parameters))
    for change in (first_places, beside_nonzeros)
    for name, parameters in (
        ("filter", {"theta": 2}),
        ("threshold", {"tau": 3}),
        ("filter_priority", {"s": 2, "theta": 2}),
    )
]


def true_ones_first(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    """In the shortcut, what has a true count is listed first."""
    release = right(self, data, epsilon, noise)
    first = np.argsort(~np.isin(release.cells, data.cells), kind="stable")
    return release if self.laborious else replace(release, cells=release.cells[first], weights=release.weights[first])


def size_in_digits(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    """In the shortcut, a published parameter has the number of non-zeros in its last digits."""
    release = right(self, data, epsilon, noise)
    more = {} if self.laborious else {name: part + 1e-9 * data.nonzeros for name, part in release.chosen.items()}
    return replace(release, chosen={**release.chosen, **more})


FAULTS += [
    Planted("true ones first in filter", method("filter", {"theta": 2}, publish=true_ones_first), quick=True),
    Planted("size in digits in threshold", method("threshold", {"tau": 3}, publish=size_in_digits), quick=True),
]


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_faults_of_shortcuts_are_found(fault: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    must_be_found(fault, monkeypatch)
