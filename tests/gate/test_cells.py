"""Cells that no experiment has: exact noise, medians of an even number, and paper size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.gate import baselines
from dpbench.gate.cells import CELLS, EXACT, PAPER
from dpbench.gate.comparison import compare
from dpbench.gate.entries import metrics_of_tasks
from dpbench.gate.measure import collect
from dpbench.mechanisms.base import MECHANISMS
from dpbench.paths import BASELINES
from dpbench.privacy import laplace
from dpbench.ranking.rounds import execute_one

FEW = ("lpa", "sketch", "laplace_categories")


def moved(results: Path) -> set[str]:
    """The mechanisms of some of the cells that moved against the stored ones."""
    plan = EXACT.plan(results, 1, {}, lambda said: None, FEW)
    new = collect(execute_one(plan))
    stored = baselines.load_one(BASELINES, EXACT.name)
    old = replace(stored, cells={key: cell for key, cell in stored.cells.items() if key in new.cells}, figure=None)
    assert len(old.cells) == len(new.cells) == 6
    found = compare({EXACT.name: old}, {EXACT.name: new}, metrics_of_tasks(), same_seed=True)
    return {group.mechanism for group in found.groups if group.mechanism}


def test_exact_noise_and_even_medians_are_guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert moved(tmp_path / "sound") == set()
    add = laplace.add_discrete_laplace
    with monkeypatch.context() as patch:
        patch.setattr(laplace, "add_discrete_laplace", lambda values, scales, words: add(values, 1.1 * scales, words))
        assert moved(tmp_path / "scale") == {"lpa", "laplace_categories"}
    median = np.median

    def upper(each: Any, axis: int | None = None) -> Any:
        """The larger of the two numbers in the middle, for rows of a sketch."""
        return median(each) if axis is None else np.sort(each, axis=axis)[each.shape[axis] // 2]

    with monkeypatch.context() as patch:
        patch.setattr(np, "median", upper)
        assert moved(tmp_path / "median") == {"sketch"}


def test_every_mechanism_with_exact_noise_has_a_cell() -> None:
    stored = {cell.labels["mechanism"] for cell in baselines.load_one(BASELINES, EXACT.name).cells.values()}

    def exact(name: str) -> bool:
        made: Any = MECHANISMS.make(name, **getattr(MECHANISMS.get(name), "audited", ({},))[0])
        return not made.inexact()

    assert stored == {name for name in MECHANISMS.names() if exact(name)}


def test_paper_size_is_stored_apart() -> None:
    assert PAPER.name not in baselines.names(BASELINES)
    assert set(CELLS) - {*baselines.names(BASELINES)} == {PAPER.name}
    assert PAPER.scale == "paper"
