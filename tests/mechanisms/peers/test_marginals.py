"""AIM and MST against naive versions written from the papers, and their fits against closed forms and Private-PGM itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpbench
from dpbench.auditing.recording import RecordingNoise
from dpbench.data import Contingency
from dpbench.errors import UserError
from dpbench.mechanisms.peers import _fitting as fitting
from dpbench.numerics.gaussian import zcdp_rho
from dpbench.privacy import Noise
from dpbench.privacy.exchange import gaussian_rho

from naive import marginals as naive


def data_of(table: np.ndarray) -> Contingency:
    cells = np.flatnonzero(table)
    return Contingency(cells, table.ravel()[cells].astype(np.int64), table.size, table.shape)


def random_table(rng: np.random.Generator) -> np.ndarray:
    """Up to 5 x 5 cells, many of them empty, some large."""
    shape = tuple(rng.integers(1, 6, 2))
    return rng.integers(0, 4, shape) * 10 ** rng.integers(0, 3, shape) * (rng.random(shape) < 0.7)


# The fit.


def loss(table: np.ndarray, rows: Any, columns: Any, cells: Any) -> float:
    parts = zip((rows, columns, cells), (table.sum(axis=1), table.sum(axis=0), table), strict=True)
    return float(sum((each.weights * (fitted - each.values) ** 2).sum() for each, fitted in parts))


@pytest.mark.parametrize("seed", range(60))
def test_fit_is_the_quadratic_programme_of_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    log = []
    for what in ("rows", "columns", *(["cells"] if seed % 3 else []), *rng.choice(["rows", "columns"], seed % 2)):
        sigma = float(rng.choice([1.0, 7.0, 60.0]))
        exact = naive.marginal(table, what)
        log.append((what, exact + rng.normal(0, sigma, exact.shape), sigma))
    known: dict[str, fitting.NoisyMarginal] = {}
    for what, noisy, sigma in log:
        known[what] = known[what].and_also(noisy, sigma) if what in known else fitting.measured(noisy, sigma)
    fitted = fitting.fit(**known)
    assert (fitted >= 0).all()
    assert fitted.sum() == pytest.approx(naive.total(log), abs=1e-9 * table.sum() + 1e-9)
    np.testing.assert_allclose(fitted, naive.fit(table.shape, log), atol=1e-5 * (1 + table.sum()))


@pytest.mark.parametrize("shape", [(2, 2), (8, 3), (3, 40), (64, 64), (1, 9)])
@pytest.mark.parametrize("sigma", [0.3, 20.0])
def test_no_small_move_of_counts_between_cells_fits_better(shape: tuple[int, int], sigma: float) -> None:
    """The conditions of Karush, Kuhn and Tucker: one slope in all positive cells, and no smaller one where a cell is empty."""
    rng = np.random.default_rng(shape[0])
    table = rng.zipf(1.7, shape).clip(max=5000) * (rng.random(shape) < 0.3)
    rows, columns, cells = (
        fitting.measured(each + rng.normal(0, sigma * more, each.shape), sigma * more)
        for each, more in ((table.sum(axis=1), 2), (table.sum(axis=0), 0.5), (table, 1))
    )
    fitted = fitting.fit(rows, columns, cells)
    slopes = cells.weights * (fitted - cells.values)
    slopes += (rows.weights * (fitted.sum(axis=1) - rows.values))[:, None]
    slopes += columns.weights * (fitted.sum(axis=0) - columns.values)
    slopes *= sigma**2
    positive = fitted > 0
    tolerance = 1e-8 * (1 + fitted.sum())
    assert np.ptp(slopes[positive]) < tolerance
    assert slopes.min() > slopes[positive].min() - tolerance
    assert fitted.sum() == pytest.approx(fitting.total_of(rows, columns, cells), rel=1e-9, abs=1e-9)


def test_where_nothing_is_negative_the_fit_is_least_squares_in_closed_form() -> None:
    """By the normal equations with one Lagrange multiplier for the total."""
    rng, shape = np.random.default_rng(4), (4, 6)
    table = rng.integers(1000, 2000, shape)
    log = [
        (what, naive.marginal(table, what) + rng.normal(0, 5, naive.marginal(table, what).shape), 5.0)
        for what in naive.AXES
    ]
    log.append(("cells", table + rng.normal(0, 9, shape), 9.0))
    matrices = [naive.queries(shape, what) / sigma for what, _, sigma in log]
    gram = sum(each.T @ each for each in matrices)
    right = sum(each.T @ noisy.ravel() / sigma for each, (_, noisy, sigma) in zip(matrices, log, strict=True))
    ones = np.ones((table.size, 1))
    system = np.block([[gram, ones], [ones.T, np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.append(right, naive.total(log)))[:-1]
    fitted = fitting.fit(**{what: fitting.measured(noisy, sigma) for what, noisy, sigma in log})
    np.testing.assert_allclose(fitted.ravel(), expected, rtol=1e-9)


def test_sums_alone_give_the_product_of_both() -> None:
    rows, columns = (fitting.measured(np.array(values), 1.0) for values in ([30.0, 70.0], [20.0, 30.0, 50.0]))
    np.testing.assert_allclose(fitting.fit(rows, columns), [[6, 9, 15], [14, 21, 35]])
    nothing = fitting.measured(np.array([-3.0, -1.0]), 1.0)
    assert (
        fitting.fit(nothing, nothing).tolist()
        == fitting.fit(nothing, nothing, fitting.measured(np.zeros((2, 2)), 9.0)).tolist()
    )


# The mechanisms.


class Played:
    """The noise of a release, drawn by `Noise`, for a naive version: the same numbers in the same order."""

    def __init__(self, seed: int) -> None:
        self.noise = Noise(np.random.default_rng(seed))
        self.chosen: list[int] = []

    def gaussian(self, what: str, exact: np.ndarray, sigma: float) -> np.ndarray:
        return self.noise.gaussian(exact, sigma=sigma, step=what)

    def choose(self, qualities: list[float], epsilon: float) -> int:
        self.chosen.append(
            self.noise.choose(qualities, epsilon=epsilon, sensitivity=1.0, monotone=False, step="choice")
        )
        return self.chosen[-1]


@pytest.mark.parametrize("seed", range(60))
def test_aim_is_the_naive_one(seed: int) -> None:
    """With the same noise, release by release: the same choices, and the same table."""
    rng = np.random.default_rng(seed)
    table, epsilon = random_table(rng), float(rng.choice([0.1, 1, 10, 1000]))
    options = {"rounds": int(rng.choice([2, 5, 32])), "share": float(rng.choice([0.5, 0.9]))}
    release = dpbench.mechanism("aim", **options).release(data_of(table), epsilon, np.random.default_rng(seed))
    played = Played(seed)
    rho = zcdp_rho(epsilon, 1e-6)
    expected = naive.aim(table, rho, options["rounds"], options["share"], played.gaussian, played.choose)
    assert release.chosen["rounds"] == len(played.chosen)
    assert release.chosen["cells"] == (2 in played.chosen)
    np.testing.assert_allclose(release.weights.reshape(table.shape), expected, atol=1e-5 * (1 + table.sum()))


@pytest.mark.parametrize("seed", range(60))
def test_mst_is_the_naive_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, epsilon = random_table(rng), float(rng.choice([0.1, 1, 10, 1000]))
    release = dpbench.mechanism("mst").release(data_of(table), epsilon, np.random.default_rng(seed))
    expected = naive.mst(table, gaussian_rho(epsilon, 1e-6), Played(seed).gaussian)
    np.testing.assert_allclose(release.weights.reshape(table.shape), expected, atol=1e-5 * (1 + table.sum()))


@pytest.mark.parametrize("name", ["aim", "mst"])
def test_hardly_any_noise_gives_the_table(name: str) -> None:
    table = np.arange(200, 500, 5).reshape(5, 12)
    release = dpbench.mechanism(name, delta=0.4).release(data_of(table), 1e8, 1)
    np.testing.assert_allclose(release.weights, table.ravel(), atol=0.1)
    assert release.shape == (5, 12)


@pytest.mark.parametrize("name", ["aim", "mst"])
def test_an_independent_table_is_found_to_be_one_and_published_without_bias(name: str) -> None:
    """Four standard errors over 300 releases of 30 numbers: false-alarm rate below 2e-3."""
    table = np.outer([100, 300, 500, 200, 400], [3, 6, 1, 2, 4, 5])
    data, rng, mechanism = data_of(table), np.random.default_rng(3), dpbench.mechanism(name)
    releases = np.array([mechanism.release(data, 1.0, rng).weights for _ in range(300)])
    errors = releases - table.ravel()
    assert (np.abs(errors.mean(axis=0)) < 4 * errors.std(axis=0, ddof=1) / math.sqrt(300)).all()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_the_budget_of_each_step_adds_up_to_rho(epsilon: float) -> None:
    """Δ²/2σ² for a measurement, ε²/8 for a choice."""
    for name, rho in (("aim", zcdp_rho(epsilon, 1e-6)), ("mst", gaussian_rho(epsilon, 1e-6))):
        noise = RecordingNoise(np.random.default_rng(8))
        dpbench.mechanism(name).publish(data_of(random_table(np.random.default_rng(8))), epsilon, noise)
        spent = 0.0
        for step in noise.steps:
            if step.kind == "gaussian":
                spent += 1 / (2 * float(step.parameters["sigma"]) ** 2)
            else:  # the exponent of a score is ε / 2Δ, and Δ is 2
                spent += (4 * float(step.parameters["exponent"])) ** 2 / 8
        assert spent == pytest.approx(rho, rel=1e-12)


def test_other_tables_and_values_are_refused_with_the_reason() -> None:
    for name in ("aim", "mst"):
        mechanism = dpbench.mechanism(name)
        assert mechanism.unfit(Contingency.from_dict({3: 1}, size=9)) == "takes tables of two attributes, not of 1"
        assert mechanism.unfit(Contingency.from_dict({}, shape=(2, 3, 4))) == "takes tables of two attributes, not of 3"
        large = Contingency.from_dict({(5, 5): 1}, shape=(10**6, 10**6))
        assert "1,000,000,000,000 cells of the domain, and at most 1,048,576 fit" in mechanism.unfit(large)
        with pytest.raises(UserError, match="delta=1"):
            dpbench.mechanism(name, delta=1)
    for wrong in ({"rounds": 1}, {"rounds": 2.5}, {"share": 1}, {"share": 0}):
        with pytest.raises(UserError, match="is not valid"):
            dpbench.mechanism("aim", **wrong)


# Private-PGM itself.


@pytest.mark.parametrize("cells", [False, True])
def test_private_pgm_fits_no_better(cells: bool) -> None:
    """The same measurements and total, 10,000 steps of its mirror descent in single precision."""
    mbi = pytest.importorskip("mbi", reason="mbi, which needs jax, is not installed")
    rng, shape = np.random.default_rng(2), (6, 9)
    table = rng.zipf(1.5, shape).clip(max=500) * (rng.random(shape) < 0.6)
    domain = mbi.Domain(("rows", "columns"), shape)
    names = {"rows": ("rows",), "columns": ("columns",), "cells": ("rows", "columns")}
    known, log = {}, []
    for what in ("rows", "columns", "cells")[: 2 + cells]:
        exact, sigma = naive.marginal(table, what), {"rows": 8.0, "columns": 5.0, "cells": 10.0}[what]
        noisy = exact + rng.normal(0, sigma, exact.shape)
        known[what] = fitting.measured(noisy, sigma)
        log.append(mbi.LinearMeasurement(noisy.ravel(), names[what], stddev=sigma))
    ours = fitting.fit(**known)
    model = mbi.estimation.MirrorDescent().estimate(domain, log, known_total=float(ours.sum()), iters=10_000)
    theirs = np.asarray(model.project(("rows", "columns")).datavector()).reshape(shape)
    # Descent comes near the empty cells of the optimum, slowly: a tenth of σ of a cell.
    np.testing.assert_allclose(theirs, ours, atol=1.0)
    if cells:
        assert loss(ours, **known) < loss(theirs, **known) < 1.01 * loss(ours, **known)
