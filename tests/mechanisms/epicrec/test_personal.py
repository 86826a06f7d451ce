"""S-DPDP, the plain baseline and S-PBQ: Figure 4, the convex program, the least squares, the rounding."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import lsq_linear, nnls
from scipy.sparse import csr_array

import dpbench
from dpbench.data import Catalogue
from dpbench.errors import UserError
from dpbench.mechanisms.epicrec import personal
from dpbench.mechanisms.epicrec._calibration import box_least_squares, distinct_rows, least_noise, maximal_rows
from dpbench.mechanisms.epicrec._classes import ItemClasses
from dpbench.sources.generators.catalogue import CatalogueGenerator

from naive import epicrec as naive


def matrix_of(rows, categories):
    matrix = np.zeros((len(rows), categories), dtype=int)
    for item, row in enumerate(rows):
        matrix[item, list(row)] = 1
    return matrix


FIGURE_4 = matrix_of([{0, 1, 2}, {0, 2, 3}, {0, 4}, {0, 1}, {2}], 5)


@pytest.fixture(scope="module")
def movies():
    return CatalogueGenerator(users=40).build(np.random.default_rng(0))


def test_running_example_is_figure_4():
    catalogue = Catalogue.from_matrix(FIGURE_4)
    z = dpbench.mechanism("s_dpdp").calibrate(catalogue, 1.0)
    assert np.round(z, 2).tolist() == [3.61, 2.36, 3.34, 2.36, 1.38]
    assert round(z.mean(), 2) == 2.61
    np.testing.assert_allclose(z, [3.6131, 2.3604, 3.3381, 2.3604, 1.3827], atol=5e-5)
    assert dpbench.mechanism("laplace_categories").expected_error(catalogue, 1.0) == 3


def test_noise_is_what_a_general_solver_finds():
    rng = np.random.default_rng(1)
    for _ in range(5):
        matrix = matrix_of([rng.choice(6, rng.integers(1, 4), replace=False) for _ in range(12)], 6)
        matrix[0, :] = [1, 1, 0, 0, 0, 0]
        used = matrix.any(axis=0)
        z = dpbench.mechanism("s_dpdp").calibrate(Catalogue.from_matrix(matrix), 0.5)
        assert z[~used].sum() == 0
        np.testing.assert_allclose(z[used].sum(), naive.noise(matrix[:, used], 0.5).sum(), rtol=1e-5)


def test_noise_is_feasible_binding_and_optimal(movies):
    """No item above ε, the binding ones within 1e-6 of it; and multipliers λ ≥ 0 of the binding items with Cᵀλ = z²
    prove that no other feasible z is smaller."""
    z = dpbench.mechanism("s_dpdp").calibrate(movies, 1.0)
    spent = movies.matrix() @ (1 / z)
    assert spent.max() <= 1 + 1e-12
    rows = ItemClasses.of(movies).rows
    slack = 1 - rows @ (1 / z)
    binding = slack < 1e-3
    assert slack[binding].max() < 1e-6
    _, residual = nnls(rows[binding].toarray().T.astype(float), z**2)
    assert residual < 1e-4 * np.linalg.norm(z**2)


def test_noise_scales_with_the_budget_and_is_solved_once(movies, monkeypatch):
    catalogue = Catalogue.from_matrix(FIGURE_4, [[0]])
    calls = []
    monkeypatch.setattr(personal, "least_noise", lambda rows: calls.append(1) or least_noise(rows))
    mechanism, rng = dpbench.mechanism("s_dpdp"), np.random.default_rng(2)
    np.testing.assert_allclose(mechanism.calibrate(catalogue, 0.1), 10 * mechanism.calibrate(catalogue, 1.0))
    for epsilon in (0.1, 1.0, 3.0):
        mechanism.release(catalogue, epsilon, rng)
    assert len(calls) == 1
    dpbench.mechanism("s_dpdp", solve_once=False).release(catalogue, 1.0, rng)
    assert len(calls) == 2


def test_only_rows_in_no_other_are_maximal():
    rng = np.random.default_rng(3)
    for _ in range(20):
        sets = list({frozenset(rng.choice(7, rng.integers(0, 5), replace=False).tolist()) for _ in range(30)})
        kept = maximal_rows(csr_array(matrix_of(sets, 7)))
        assert kept.tolist() == [bool(s) and not naive.contained(s, sets) for s in sets]


def test_equal_rows_are_one_class():
    indptr, indices = np.array([0, 2, 4, 4, 5, 5]), np.array([3, 1, 1, 3, 2])
    first, classes = distinct_rows(indptr, indices)
    assert classes[0] == classes[1]
    assert classes[2] == classes[4]
    assert first.size == len(set(classes)) == 3
    assert sorted(classes[first]) == [0, 1, 2]


@pytest.mark.parametrize(("items", "categories"), [(3, 5), (40, 6), (200, 18)])
@pytest.mark.parametrize("noise", [0.0, 3.0, 300.0])
def test_least_squares_is_scipys_and_nearly_integral(items, categories, noise):
    rng = np.random.default_rng(4)
    rows = np.unique(
        matrix_of([rng.choice(categories, rng.integers(0, 4), False) for _ in range(items)], categories), axis=0
    )
    upper = rng.integers(1, 9, len(rows)).astype(float)
    target = rows.T @ np.floor(rng.random(len(rows)) ** 3 * upper) + rng.laplace(0, noise, categories)
    y = box_least_squares(csr_array(rows), target, upper)
    theirs = lsq_linear(rows.T.astype(float), target, (0, upper), method="bvls", tol=1e-14).x
    assert (y >= 0).all()
    assert (y <= upper).all()
    np.testing.assert_allclose(rows.T @ y, rows.T @ theirs, atol=1e-6)
    assert np.count_nonzero((y > 1e-9) & (y < upper - 1e-9)) <= categories


def test_rounding_keeps_the_mean_and_favours_no_item():
    """Chi-square over the items of a class and a binomial interval; false-alarm rate 1e-4 each."""
    catalogue = Catalogue.from_matrix(matrix_of([{0}] * 5 + [{1}] * 3 + [set()], 2))
    classes, rng = ItemClasses.of(catalogue), np.random.default_rng(5)
    relaxed = np.array([2.25 if 0 in row else 3.0 if 1 in row else 0.0 for row in _sets(classes.rows)])
    seen = np.zeros(9)
    for _ in range(4000):
        history = classes.round(relaxed, rng)
        assert 2 <= np.sum(history < 5) <= 3
        assert np.isin([5, 6, 7], history).all()
        assert 8 not in history
        seen[history] += 1
    assert stats.chisquare(seen[:5]).pvalue > 1e-4
    assert stats.binomtest(int(seen[:5].sum()) - 8000, 4000, 0.25).pvalue > 1e-4


def _sets(rows):
    return [set(rows[[k]].indices.tolist()) for k in range(rows.shape[0])]


def test_agrees_with_the_naive_one_in_distribution():
    """Items with independent rows have one relaxed solution. Chi-square on the published sets; false-alarm rate 1e-4."""
    matrix = matrix_of([{0, 1, 2}, {0, 3}, {1, 4}, {2}], 5)
    catalogue, rng = Catalogue.from_matrix(matrix, [[0, 2]]), np.random.default_rng(6)
    mechanism = dpbench.mechanism("s_dpdp")
    z = naive.noise(matrix, 2.0)
    ours = [tuple(mechanism.release(catalogue, 2.0, rng).history) for _ in range(4000)]
    theirs = [tuple(naive.s_dpdp(matrix, [0, 2], z, rng)) for _ in range(2500)]
    sets = [s for size in range(5) for s in itertools.combinations(range(4), size)]
    table = np.array([[sample.count(s) for s in sets] for sample in (ours, theirs)])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 10]).pvalue > 1e-4


def test_aggregates_are_those_of_the_history(movies):
    release = dpbench.mechanism("s_dpdp", user=3).release(movies, 1.0, np.random.default_rng(7))
    dense = movies.matrix().toarray()
    assert release.user == 3
    assert np.array_equal(release.aggregates, dense[release.history].sum(axis=0))
    assert np.array_equal(movies.aggregates[3], dense[movies.history(3)].sum(axis=0))
    assert np.unique(release.history).size == release.history.size == release.chosen["items"]


def _errors(mechanism, data, epsilon, rng, trials):
    releases = (mechanism.release(data, epsilon, rng) for _ in range(trials))
    return np.array([np.abs(r.aggregates - data.aggregates[r.user]).mean() for r in releases])


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_error_is_below_the_papers_bound(movies, epsilon):
    """The mean and four standard errors, false-alarm rate 3e-5 were the mean at the bound."""
    mechanism = dpbench.mechanism("s_dpdp")
    errors = _errors(mechanism, movies, epsilon, np.random.default_rng(8), 60)
    assert errors.mean() + 4 * errors.std() / math.sqrt(60) < mechanism.error_bound(movies, epsilon)


def test_calibration_and_sanitisation_each_help(movies):
    """At ε = 1; four standard errors, false-alarm rate 3e-5 a comparison were the two alike."""
    rng = np.random.default_rng(9)
    names = (("s_dpdp", {}), ("s_dpdp", {"calibrated": False}), ("laplace_categories", {}))
    errors = [_errors(dpbench.mechanism(name, **p), movies, 1.0, rng, 150) for name, p in names]
    for better, worse in itertools.pairwise(errors):
        spread = math.hypot(better.std(), worse.std()) / math.sqrt(150)
        assert worse.mean() - better.mean() > 4 * spread


def assert_laplace(noise, scale):
    """Shape by Kolmogorov-Smirnov, false-alarm rate 1e-4; scale by its estimator, the mean size, within four standard
    errors, 6e-5: 5000 draws see a factor 1.1."""
    assert stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue > 1e-4
    assert abs(np.abs(noise).mean() / scale - 1) < 4 / math.sqrt(len(noise))


def test_noise_of_the_release_has_the_calibrated_scale():
    """With a great many one-category items nothing is cut off: the history follows the noisy aggregate to within one."""
    catalogue = Catalogue.from_matrix(matrix_of([{0}] * 4000 + [{0, 1}], 2), [range(2000)])
    mechanism, rng = dpbench.mechanism("s_dpdp"), np.random.default_rng(10)
    z = mechanism.calibrate(catalogue, 0.05)
    np.testing.assert_allclose(z, [40, 40], rtol=1e-6)  # the one item in both binds
    drawn = [mechanism.release(catalogue, 0.05, rng).aggregates[0] - 2000 for _ in range(5000)]
    assert_laplace(np.array(drawn) + rng.uniform(-0.5, 0.5, 5000), 40)


def test_plain_noise_is_laplace_of_the_widest_item():
    catalogue, rng = Catalogue.from_matrix(FIGURE_4, [[0, 1, 4]]), np.random.default_rng(11)
    mechanism = dpbench.mechanism("laplace_categories")
    noise = [mechanism.release(catalogue, 0.5, rng).aggregates - catalogue.aggregates[0] for _ in range(2000)]
    assert_laplace(np.ravel(noise), 6)


def test_users_are_drawn_evenly_unless_one_is_named():
    """Chi-square; false-alarm rate 1e-4."""
    catalogue, rng = Catalogue.from_matrix(FIGURE_4, [[0], [1], [2], []]), np.random.default_rng(12)
    mechanism = dpbench.mechanism("laplace_categories")
    drawn = [mechanism.release(catalogue, 1.0, rng).user for _ in range(2000)]
    assert stats.chisquare(np.bincount(drawn, minlength=4)).pvalue > 1e-4
    assert dpbench.mechanism("laplace_categories", user=2).release(catalogue, 1.0, rng).user == 2
    assert "4 users" in dpbench.mechanism("s_dpdp", user=4).unfit(catalogue)
    assert dpbench.mechanism("s_dpdp").unfit(Catalogue.from_matrix(FIGURE_4)) != ""


@pytest.mark.parametrize(("step", "tolerance"), [(0.1, 0.1), (0.1, 0.01), (0.25, 0.3), (0.05, 5.0)])
def test_budget_is_what_the_search_finds(step, tolerance):
    catalogue = Catalogue.from_matrix(FIGURE_4, [[0]])
    chooser = dpbench.mechanism("s_pbq", step=step, tolerance=tolerance)
    mean_z = float(chooser.calibrate(catalogue, 1.0).mean())
    assert chooser.choose(catalogue) == pytest.approx(naive.budget(mean_z, step, tolerance))


def test_chooser_never_spends_more_than_it_may():
    catalogue, chooser = Catalogue.from_matrix(FIGURE_4, [[0]]), dpbench.mechanism("s_pbq")
    chosen = chooser.choose(catalogue)
    for epsilon in (0.3, 50.0):
        used = chooser.release(catalogue, epsilon, np.random.default_rng(13)).chosen
        assert used["epsilon"] == min(epsilon, chosen)
        assert used["noise"] == pytest.approx(chooser.calibrate(catalogue, used["epsilon"]).mean())


def test_unused_categories_and_bare_items_cost_nothing():
    catalogue = Catalogue.from_matrix(matrix_of([{0}, set(), {2}], 4), [[0, 1, 2], []])
    mechanism = dpbench.mechanism("s_dpdp")
    np.testing.assert_allclose(mechanism.calibrate(catalogue, 2.0), [0.5, 0, 0.5, 0])
    release = mechanism.release(catalogue, 2.0, np.random.default_rng(14))
    assert release.aggregates[[1, 3]].tolist() == [0, 0]
    bare = Catalogue.from_matrix(np.zeros((3, 2), dtype=int), [[0]])
    assert mechanism.release(bare, 1.0, np.random.default_rng(15)).history.size == 0


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("s_dpdp", {"user": -1}, "user=-1"),
        ("s_pbq", {"tolerance": 0}, "tolerance=0"),
        ("s_pbq", {"step": -0.1}, "step=-0.1"),
        ("laplace_categories", {"calibrated": True}, "no parameter 'calibrated'"),
    ],
)
def test_wrong_parameters_are_named(name, parameters, message):
    with pytest.raises(UserError, match=message):
        dpbench.mechanism(name, **parameters)


def test_last_digits_of_the_input_decide_nothing():
    """Processors differ in the last digits of sums: equal gains and bounds must not be decided by them."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        rows = np.unique(matrix_of([rng.choice(18, rng.integers(1, 5), False) for _ in range(200)], 18), axis=0)
        upper = rng.integers(1, 9, len(rows)).astype(float)
        target = rows.T @ np.floor(rng.random(len(rows)) ** 3 * upper) + rng.laplace(0, 3.0, 18)
        y = box_least_squares(csr_array(rows), target, upper)
        for _ in range(3):
            moved = target * (1 + 1e-15 * rng.integers(-4, 5, target.size))
            np.testing.assert_allclose(box_least_squares(csr_array(rows), moved, upper), y, atol=1e-7)


def test_the_calibration_is_exact_to_the_last_digits(movies):
    """At the solution, every category in use has the price that its noise costs: Cᵀλ = z² with λ ≥ 0 of binding items only."""
    rows = ItemClasses.of(movies).rows.toarray().astype(float)
    z = least_noise(csr_array(rows))
    used = z > 0
    binding = (rows[:, used] @ (1 / z[used])) > 1 - 1e-9
    _, distance = nnls(rows[binding][:, used].T, z[used] ** 2)
    assert distance <= 1e-10 * (z**2).sum()
