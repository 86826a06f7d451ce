"""The comparison under other noise: which changes of a distribution it finds, and that unchanged code passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from dpbench.gate.baselines import CellNumbers, ExperimentNumbers, FigureNumbers
from dpbench.gate.comparison import compare
from dpbench.gate.entries import BETTER, CHANGED, GONE, NEW, SAME, WORSE, UtilityComparison

from support.utility_numbers import declared, suite

Suite = Mapping[str, ExperimentNumbers]


def fresh(old: Suite, new: Suite) -> UtilityComparison:
    return compare(old, new, declared, same_seed=False)


def with_column(numbers: Suite, name: str, make: Callable[[int], list[float]]) -> dict[str, ExperimentNumbers]:
    """The suite with one more column, `make(i)` in its i-th cell."""
    body = numbers["x/fig"]
    cells = {
        key: replace(cell, values=dict(cell.values) | {name: make(i)})
        for i, (key, cell) in enumerate(body.cells.items())
    }
    return {"x/fig": replace(body, cells=cells)}


def test_shifts_of_errors_are_seen() -> None:
    assert fresh(suite(0), suite(1, factor=1.25)).moved == {WORSE}
    assert fresh(suite(0), suite(1, factor=0.75)).moved == {BETTER}
    assert fresh(suite(0), suite(1, factor=1.01)).moved == set()


def test_a_tenth_more_noise_is_seen_at_six_trials() -> None:
    found = fresh(suite(0, noise=0.05), suite(1, factor=1.1, noise=0.05))
    assert found.moved == {WORSE}
    (group,) = found.groups
    assert (group.metric, group.cells, group.status) == ("mae", 20, WORSE)
    assert group.effect == pytest.approx(-0.1, abs=0.03)


def test_a_small_but_certain_shift_is_a_change() -> None:
    assert fresh(suite(0, noise=0.005), suite(1, factor=1.02, noise=0.005)).moved == {CHANGED}


def test_more_trials_than_the_baseline_has() -> None:
    assert fresh(suite(0), suite(1, trials=30, factor=1.15)).moved == {WORSE}
    assert fresh(suite(0), suite(1, trials=30)).moved == set()


def test_one_dataset_alone() -> None:
    """A shift in the four cells of one dataset of ten is lost in all cells together, and seen in those of the dataset."""

    def of_datasets(seed: int, factor: float) -> dict[str, ExperimentNumbers]:
        body = suite(seed, cells=40, noise=0.05)["x/fig"]
        cells = {}
        for i, (key, cell) in enumerate(body.cells.items()):
            mae = [value * (factor if i % 10 == 0 else 1.0) for value in cell.values["mae"]]
            labels = dict(cell.labels) | {"dataset": f"d{i % 10}"}
            cells[key] = replace(cell, labels=labels, values=dict(cell.values) | {"mae": mae})
        return {"x/fig": replace(body, cells=cells)}

    found = fresh(of_datasets(0, 1), of_datasets(1, 2))
    (group,) = found.groups
    assert (group.metric, group.labels["dataset"], group.cells, group.status) == ("mae", "d0", 4, WORSE)
    assert fresh(of_datasets(0, 1), of_datasets(1, 1)).moved == set()


def test_signed_errors_are_tested_for_shift_and_spread() -> None:
    def signed(seed: int, shift: float, spread: float) -> dict[str, ExperimentNumbers]:
        rng = np.random.default_rng(seed)
        return with_column(suite(seed), "signed", lambda i: list(rng.normal(shift, spread, 6)))

    for shift, spread, note in ((2.0, 1.0, ""), (0.0, 6.0, "the spread over trials")):
        (group,) = fresh(signed(0, 0, 1), signed(1, shift, spread)).groups
        assert (group.metric, group.status, group.note) == ("signed", CHANGED, note)
    assert fresh(signed(0, 0, 1), signed(2, 0, 1)).moved == set()


def test_precision_is_tested_as_a_lattice() -> None:
    """Most trials have the same value: a t test would take six equal ones for certainty."""

    def precise(seed: int, chance: float) -> dict[str, ExperimentNumbers]:
        rng = np.random.default_rng(seed)
        return with_column(suite(seed), "precision", lambda i: list(rng.binomial(10, chance, 6) / 10))

    assert fresh(precise(0, 0.98), precise(1, 0.8)).moved == {WORSE}
    assert fresh(precise(0, 0.98), precise(1, 0.98)).moved == set()


def test_what_noise_has_no_part_in_must_be_the_same() -> None:
    old = with_column(suite(0), "chosen.scale", lambda i: [2.5 + i] * 6)
    assert fresh(old, with_column(suite(1), "chosen.scale", lambda i: [2.5 + i] * 6)).moved == set()
    found = fresh(old, with_column(suite(1), "chosen.scale", lambda i: [2.6 + i] * 6))
    assert [(g.metric, g.status, g.cells) for g in found.groups] == [("chosen.scale", CHANGED, 20)]
    # A whole number that varies in one cell is drawn: the others may differ by chance.
    old = with_column(suite(0), "chosen.w", lambda i: [3.0] * 5 + [3.0 if i else 4.0])
    assert fresh(old, with_column(suite(1), "chosen.w", lambda i: [3.0 + (i == 1)] * 6)).moved == set()


def test_trials_that_repeat_each_other() -> None:
    rng = np.random.default_rng(3)
    twice = with_column(
        suite(1), "mae", lambda i: list(rng.permutation([1 + i / 999] * 2 + [1.1, 0.9, 1.1 - i / 777, 0.9]))
    )
    assert "trials repeat each other" in {group.note for group in fresh(suite(0), twice).groups}
    rare = with_column(suite(0), "precision", lambda i: list(rng.permutation([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])))
    often = with_column(suite(1), "precision", lambda i: list(rng.permutation([0.1, 0.2, 0.3, 0.4, 0.5, 0.5])))
    assert fresh(rare, often).moved == set(), "a precision may be the same twice"


def test_cells_that_share_their_noise() -> None:
    rng, common = np.random.default_rng(1), np.random.default_rng(2).normal(0, 1, 6)
    old = with_column(suite(0), "signed", lambda i: list(rng.normal(0, 1, 6)))
    (group,) = fresh(old, with_column(suite(1), "signed", lambda i: list((i + 1) * common / 10))).groups
    assert group.note == "cells share their noise"


def test_shared_cells_count_once() -> None:
    """Three experiments of the same cells are no more evidence than one."""

    def tripled(numbers: Suite) -> dict[str, ExperimentNumbers]:
        return {name: replace(numbers["x/fig"], experiment=name) for name in ("x/fig", "x/two", "x/three")}

    old, new = suite(0, cells=3), suite(1, cells=3, factor=1.5)
    once, thrice = fresh(old, new).groups, fresh(tripled(old), tripled(new)).groups
    assert [(g.cells, g.p) for g in once] == [(g.cells, g.p) for g in thrice] != []


def test_new_and_gone_and_words() -> None:
    old, new = with_column(suite(0), "mine", lambda i: [1.0] * 6), with_column(suite(1), "other", lambda i: [1.0] * 6)
    assert fresh(old, new).moved == {NEW, GONE}
    labels = {"dataset": "d", "mechanism": "m", "epsilon": 1, "task": "t"}

    def told(word: str) -> dict[str, ExperimentNumbers]:
        cells = {f"k{i}": CellNumbers(labels, "t", {}, {"diagnostic.raw": [word] * 6}) for i in range(3)}
        return {"x/fig": ExperimentNumbers("x/fig", cells)}

    assert fresh(told("a"), told("b")).moved == {CHANGED}
    assert fresh(told("a"), told("a")).moved == set()


def test_figures_and_data() -> None:
    """The script is given the baseline's own trials; here it is the usual one, which makes no such column."""
    figure = FigureNumbers(["nothing"], [["1"]])
    old = {"x/fig": replace(suite(0)["x/fig"], figure=figure, data={"d": "a"})}
    new = {"x/fig": replace(suite(1)["x/fig"], figure=figure, data={"d": "b"})}
    found = fresh(old, new)
    assert any(entry.metric == "nothing" and entry.status == GONE for entry in found.entries)
    assert "data of d" in {group.metric for group in found.groups}
    assert all(entry.status == SAME for entry in found.entries if entry.mechanism == "lpa")


def test_twenty_fresh_checks_of_unchanged_code() -> None:
    """The rate is 1 % at most, so that more than one of twenty raises an alarm with a chance below 2 %, and far below that as
    the p values are bounds. The cells are those that mislead a test most: few trials, skewed errors, heavy tails, precisions
    of 0 or 1 only, metrics that are almost always the same.
    """

    def check(seed: int) -> dict[str, ExperimentNumbers]:
        rng = np.random.default_rng(seed)
        cells = {}
        for i in range(60):
            draws = rng.laplace(0, 1, (6, 1 if i % 3 == 0 else 30))
            values = {
                "mae": np.abs(draws).mean(axis=1).tolist(),
                "mse": np.square(draws).mean(axis=1).tolist(),
                "precision": rng.binomial(1, 0.5 if i % 2 else 0.98, 6).astype(float).tolist(),
            }
            labels = {"dataset": f"d{i // 10}", "mechanism": f"m{i % 5}", "epsilon": i, "task": "t"}
            cells[f"k{i}"] = CellNumbers(labels, "t", values)
        return {"x/fig": ExperimentNumbers("x/fig", cells)}

    old = check(0)
    assert sum(bool(fresh(old, check(seed)).moved) for seed in range(1, 21)) <= 1
