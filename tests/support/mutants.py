"""Faults to plant in mechanisms: what a careless change would do to them. Each takes the class and returns patches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Plant = Callable[[pytest.MonkeyPatch, type], None]


def noise(factor: float) -> Plant:
    """Every noise scale times `factor`, as scales go with 1/ε."""

    def plant(patch: pytest.MonkeyPatch, cls: type) -> None:
        publish = cls.publish  # type: ignore[attr-defined]
        patch.setattr(cls, "publish", lambda self, data, epsilon, noise: publish(self, data, epsilon / factor, noise))

    return plant


def grouping(change: Callable[..., np.ndarray]) -> Plant:
    """Module M_g of the grouping mechanisms, `change(smooth, counts, order, w, scale, noise)` in its place."""

    def plant(patch: pytest.MonkeyPatch, cls: type) -> None:
        from dpbench.mechanisms.gs import grouping as module

        smooth = module.smooth
        patch.setattr(module, "smooth", lambda *given: change(smooth, *given))

    return plant


def drop_group(smooth: Any, counts: np.ndarray, order: np.ndarray, w: int, scale: float, noise: Any) -> np.ndarray:
    """The last group is forgotten: its columns are published as zero."""
    published = smooth(counts, order, w, scale, noise)
    published[order[counts.size // w * w - w :]] = 0.0
    return published


def wider(smooth: Any, counts: np.ndarray, order: np.ndarray, w: int, scale: float, noise: Any) -> np.ndarray:
    """Groups of w + 1 columns under the noise of w."""
    return smooth(counts, order, min(w + 1, counts.size), scale, noise)


def unsorted(smooth: Any, counts: np.ndarray, order: np.ndarray, w: int, scale: float, noise: Any) -> np.ndarray:
    """Groups are made without looking at the sample."""
    return smooth(counts, np.arange(counts.size), w, scale, noise)


def tuned_off_by_one(patch: pytest.MonkeyPatch, cls: type) -> None:
    """The tuned group size is one less than the best: an index taken for a size."""
    tune = cls._tune  # type: ignore[attr-defined]

    def shifted(self: Any, estimate: np.ndarray, scale: float, rng: Any) -> tuple[int, float]:
        w, l1 = tune(self, estimate, scale, rng)
        return max(1, w - 1), l1

    patch.setattr(cls, "_tune", shifted)


GROUPING: dict[str, list[tuple[str, Plant]]] = {
    name: [("a group dropped", grouping(drop_group)), ("w off by one", grouping(wider))]
    for name in ("gs_r", "gs_s", "gs")
}
GROUPING["gs_s"].append(("the sample ignored", grouping(unsorted)))
GROUPING["gs"].append(("the tuned w off by one", tuned_off_by_one))
