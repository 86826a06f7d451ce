"""Mechanisms that break their guarantee, and some that keep it, for tests of the audit that sees releases only."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dpbench
from dpbench.auditing.neighbours import Neighbours

ONE = Neighbours("0 and 1", 0.0, 1.0)  # type: ignore[arg-type]
"""Neighbours of the simplest kind: a number that one row moves by 1."""


@dataclass(frozen=True)
class Laplace:
    """A user's own class with only `release`. `factor` above 1 is noise that is too small."""

    factor: float = 1.0

    def release(self, data: float, epsilon: float, rng: np.random.Generator) -> float:
        return data + rng.laplace(0.0, 1 / epsilon / self.factor)


@dataclass(frozen=True)
class Response:
    """Randomised response: both outcomes use up all of ε, so that every bet is a fair game, the hardest case."""

    def release(self, data: float, epsilon: float, rng: np.random.Generator) -> bool:
        return bool((rng.random() < np.exp(epsilon) / (1 + np.exp(epsilon))) == (data > 0.5))


@dataclass(frozen=True)
class Shown:
    """Shows the data with a chance of `chance`, else nothing: (0, chance)-private, and not ε-private for any ε."""

    chance: float

    def release(self, data: float, epsilon: float, rng: np.random.Generator) -> float | None:
        return data if rng.random() < self.chance else None


# Faults planted in mechanisms of ours: each takes pytest's monkeypatch and returns the mechanism.


def sample_without_noise(patch: pytest.MonkeyPatch) -> Any:
    """GS-S makes its groups from the bare sample."""
    from dpbench.mechanisms.gs import grouping

    def bare(columns: Any, sampling: str, delta: int, epsilon: float, noise: Any) -> tuple[np.ndarray, int]:
        found = grouping.sample_columns(columns.indptr, columns.indices, noise.stream("columns"))
        return np.bincount(found, minlength=columns.columns).astype(float), found.size

    patch.setattr(grouping, "noisy_sample", bare)
    return dpbench.mechanism("gs_s", bound=2)


def dyadic_sensitivity(patch: pytest.MonkeyPatch) -> Any:
    """Noise for one node, where an individual is in one node of each level."""
    from dpbench.mechanisms import tables

    table = tables.table_of
    patch.setattr(tables, "table_of", lambda data, kind: dataclasses.replace(table(data, kind), sensitivity=1))
    return dpbench.mechanism("geometric", transform="dyadic")


def own_items_first(patch: pytest.MonkeyPatch) -> Any:
    """S-DPDP fills its item set with the user's own items first."""
    from dpbench.mechanisms.epicrec.personal import SDPDP

    publish = SDPDP.publish

    def own_first(self: Any, data: Any, epsilon: float, noise: Any) -> Any:
        release = publish(self, data, epsilon, noise)
        own = data.history(release.user)
        others = np.setdiff1d(release.history, own)
        history = np.sort(np.concatenate([own, others])[: release.history.size])
        return dataclasses.replace(release, history=history, aggregates=data.aggregate(history))

    patch.setattr(SDPDP, "publish", own_first)
    return dpbench.mechanism("s_dpdp")


def no_coins(patch: pytest.MonkeyPatch) -> Any:
    """Permute-and-flip that takes the largest columns, without any randomness."""
    from dpbench.mechanisms.baselines._topk import Peeling

    patch.setattr(Peeling, "draw", lambda self, rng: self.order[: self.k])
    return dpbench.mechanism("pf_peeling", k=2)


LEAKS: dict[str, Callable[[pytest.MonkeyPatch], Any]] = {
    "GS-S without noise on its sample": sample_without_noise,
    "dyadic sensitivity forgotten": dyadic_sensitivity,
    "S-DPDP with the user's own items first": own_items_first,
    "permute-and-flip without randomness": no_coins,
}
