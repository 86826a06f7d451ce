"""`clipped_laplace` and `clipped_gaussian`: the choice and the counts against naive versions, privacy, and hindsight."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpbench import Incidence, Records
from dpbench.config.compose import compose
from dpbench.errors import UserError
from dpbench.mechanisms.baselines.clipped import ClippedGaussian, ClippedLaplace
from dpbench.numerics.gaussian import analytic_sigma
from dpbench.numerics.rows import square_norms
from dpbench.sources.cache import open_dataset

from naive import columns as naive
from support.examples import incidence, records

BOTH = pytest.mark.parametrize("cls", [ClippedLaplace, ClippedGaussian])
POWER = {ClippedLaplace: 1, ClippedGaussian: 2}


def heavy(n=400, d=60, seed=1):
    """Rows of 0 to d columns, many small and few large."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.pareto(0.7, n).astype(int), d)
    return Incidence.from_rows([rng.choice(d, size, replace=False) for size in sizes], columns=d)


def wide():
    """So many columns that the choice of the Gaussian one counts what rows save, by more than their number."""
    rng = np.random.default_rng(2)
    sizes = np.minimum((3 + rng.pareto(1.0, 300)).astype(int), 900)
    return Incidence.from_rows([rng.choice(900, size, replace=False) for size in sizes], columns=900)


DATA = {"heavy": heavy(), "wide": wide(), "example": incidence(), "records": records().item_columns()}


def target_of(mechanism, d, epsilon):
    rest = 0.95 * epsilon
    if isinstance(mechanism, ClippedLaplace):
        return d / rest
    return d * analytic_sigma(rest, mechanism.delta) * math.sqrt(2 / math.pi)


@BOTH
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("bound", [40, 800])
def test_the_choice_is_the_naive_one(cls, name, epsilon, bound):
    data, mechanism = DATA[name], cls(bound=bound)
    grid, target = mechanism.grid(data).tolist(), target_of(mechanism, data.columns, epsilon)
    most = 1.0
    if cls is ClippedGaussian:
        most = max(1.0, min(math.sqrt(bound), 0.05 * epsilon * target / 24))
    chances = naive.clip_chances(naive.rows_of(data), POWER[cls], grid, target, most, 0.05 * epsilon / 2)
    ours = {m: chance for chance, m in mechanism.choices(data, epsilon)}
    for m, chance in zip(grid, chances, strict=True):
        assert ours.get(m, 0.0) == pytest.approx(chance, rel=1e-9, abs=1e-11)


def test_wide_data_make_the_gaussian_choice_count_savings():
    """Else the case above would say nothing about them."""
    assert ClippedGaussian(bound=40).savings(DATA["wide"], 1.0)[1] == math.sqrt(40)
    savings, most = ClippedGaussian(bound=800).savings(DATA["wide"], 1.0)
    assert savings is not None
    assert savings.max() > most
    assert math.sqrt(40) < most < math.sqrt(800)
    assert ClippedGaussian(bound=800).savings(DATA["example"], 1.0) == (None, 1.0)


@BOTH
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("m", [1, 3, 10, 10_000])
def test_the_counts_are_the_naive_ones(cls, name, m):
    data = DATA[name]
    ours = cls(m=m).clipped(data, m)
    np.testing.assert_allclose(ours, naive.clipped_counts(naive.rows_of(data), data.columns, POWER[cls], m), atol=1e-9)


@BOTH
@pytest.mark.parametrize("name", DATA)
def test_no_row_moves_the_counts_by_more_than_the_noise_covers(cls, name):
    """Row by row, in the norm of the noise: C, and exactly C for all rows that were weighed down."""
    data = DATA[name]
    for m in (1, 2, 7):
        sizes = cls(m=m).sizes(data)
        weights = cls(m=m).weights(sizes, m)
        for row, weight, size in zip(naive.rows_of(data), weights, sizes, strict=True):
            norm = weight * naive.norm(row, POWER[cls]) ** (1 / POWER[cls])
            limit = m ** (1 / POWER[cls])
            assert norm == pytest.approx(limit) if size > m else norm <= limit


@BOTH
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("name", ["heavy", "wide"])
def test_the_choice_is_private_whatever_the_row(cls, epsilon, name):
    """Exactly: every probability moves by at most e^(f ε), for rows of every size, above the declared bound too; and R
    is used up by some."""
    data, mechanism, worst = DATA[name], cls(bound=30), 0.0
    before = {m: chance for chance, m in mechanism.choices(data, epsilon)}
    rows = np.split(data.indices, data.indptr[1:-1])
    for size in (0, 1, 2, 5, 17, 30, data.columns):
        after = cls(bound=30).choices(Incidence.from_rows([*rows, range(size)], columns=data.columns), epsilon)
        worst = max(worst, *(abs(math.log(chance / before[m])) for chance, m in after if m in before))
    assert 0.3 * 0.05 * epsilon < worst <= 0.05 * epsilon + 1e-9


@BOTH
def test_noise_and_published_parameters(cls):
    """The chosen m and the noise it asks for are published; what was clipped is not. Kolmogorov-Smirnov, rate 1e-4."""
    data, rng = heavy(d=60), np.random.default_rng(3)
    release = cls(m=4).release(data, 2.0, rng)
    scale = 4 / 2.0 if cls is ClippedLaplace else 2 * analytic_sigma(2.0, 1e-6)
    law = stats.laplace(scale=scale) if cls is ClippedLaplace else stats.norm(scale=scale)
    noise = np.concatenate([cls(m=4).release(data, 2.0, rng).counts - cls(m=4).clipped(data, 4) for _ in range(100)])
    assert stats.kstest(noise, law.cdf).pvalue > 1e-4
    name = "scale" if cls is ClippedLaplace else "sigma"
    assert dict(release.chosen) == {"m": 4, name: pytest.approx(scale)}
    assert release.diagnostics["clipped_rows"] == (data.row_sizes > 4).sum()
    assert release.diagnostics["clipping_error"] == pytest.approx((data.counts - cls(m=4).clipped(data, 4)).mean())
    assert not any("clip" in part for part in release.parts())


@BOTH
def test_the_choice_of_m_is_paid_from_the_budget(cls):
    """f = 0.05 of ε chooses; the noise has the rest alone."""
    release = cls(bound=30).release(heavy(d=60), 2.0, np.random.default_rng(3))
    m, rest = release.chosen["m"], 0.95 * 2.0
    if cls is ClippedLaplace:
        assert release.chosen["scale"] == pytest.approx(m / rest)
    else:
        assert release.chosen["sigma"] == pytest.approx(math.sqrt(m) * analytic_sigma(rest, 1e-6))


@BOTH
@pytest.mark.parametrize("name", ["heavy", "wide"])
def test_expected_error_is_the_mean_over_releases(cls, name):
    """Within four standard errors: false-alarm rate 6e-5."""
    data, mechanism, rng = DATA[name], cls(), np.random.default_rng(4)
    errors = [np.abs(mechanism.release(data, 2.0, rng).counts - data.counts).mean() for _ in range(1500)]
    assert abs(np.mean(errors) - mechanism.expected_error(data, 2.0)) < 4 * np.std(errors) / math.sqrt(1500)


@BOTH
def test_the_choice_is_drawn_with_its_probabilities(cls):
    """Chi-square, candidates expected fewer than 5 times pooled; false-alarm rate 1e-4."""
    data, mechanism, rng = DATA["wide"], cls(bound=100), np.random.default_rng(5)
    drawn = [int(mechanism.release(data, 1.0, rng).chosen["m"]) for _ in range(3000)]
    chances = {m: chance for chance, m in mechanism.choices(data, 1.0)}
    expected = np.array(list(chances.values())) * 3000
    observed = np.array([drawn.count(m) for m in chances])
    rare = expected < 5
    observed, expected = (
        np.append(observed[~rare], observed[rare].sum()),
        np.append(expected[~rare], expected[rare].sum()),
    )
    kept = expected > 0
    assert stats.chisquare(observed[kept], expected[kept] * observed[kept].sum() / expected[kept].sum()).pvalue > 1e-4


@BOTH
def test_too_few_rows_for_any_m_choose_one(cls):
    """t = d/ε' is far above n: nearly all is noise, and the least of it is best."""
    data = Incidence.from_rows([range(50)] * 30, columns=2000)
    chances = {m: chance for chance, m in cls().choices(data, 0.1)}
    assert chances[1] > 0.99


@BOTH
def test_the_candidates_end_where_they_must(cls):
    data = heavy()
    grid = cls().grid(data)
    assert grid[0] == 1
    assert grid[-1] == data.columns  # d is public, and no row is larger
    assert (np.diff(grid) > 0).all()
    assert all(b <= max(a + 1, 1.1 * a) for a, b in itertools.pairwise(grid.tolist()))
    assert cls(bound=1).grid(data).tolist() == [1]
    repeated = records().item_columns()
    assert cls(bound=30).grid(repeated)[-1] == (30 if cls is ClippedLaplace else 900)
    assert cls().not_private() == cls(bound=3).not_private() == ""
    assert cls(bound=2).unfit(data) == ""  # larger rows are weighed down


@BOTH
def test_what_does_not_fit_says_so(cls):
    assert "declare `bound`" in cls().unfit(records())
    assert cls(m=3).unfit(records()) == ""
    for parameters, words in (
        ({"m": 3, "bound": 5}, "bound=5 has no effect"),
        ({"m": 3, "share": 0.2}, "share=0.2 has no effect"),
        ({"m": 0}, "m=0"),
        ({"share": 1.0}, "share=1.0"),
        ({"ratio": 1}, "ratio=1"),
    ):
        with pytest.raises(UserError, match=words):
            cls(**parameters)


def test_records_get_half_of_delta_for_each_set_of_counts():
    release = ClippedGaussian(m=4, delta=1e-4).release(records(), 1.0, np.random.default_rng(6))
    assert release.chosen["sigma"] == release.chosen["edge_sigma"] == pytest.approx(2 * analytic_sigma(0.5, 0.5e-4))


def test_square_norms_are_the_naive_ones():
    rng = np.random.default_rng(7)
    data = Records.from_rows([rng.integers(0, 5, size).tolist() for size in rng.integers(0, 9, 200)], items=5)
    columns = data.item_columns()
    assert square_norms(columns.indptr, columns.indices).tolist() == [
        naive.norm(row, 2) for row in naive.rows_of(columns)
    ]


def hindsight(cls, data, epsilon):
    """The least expected error of all fixed m, a tenth apart, with the whole budget for the counts."""
    grid = cls(bound=max(1, data.largest_row)).grid(data)
    return min(cls(m=int(m)).expected_error(data, epsilon) for m in grid)


@BOTH
def test_near_the_best_m_in_hindsight_on_small_data(cls):
    for epsilon in (0.1, 1.0):
        assert cls().expected_error(DATA["wide"], epsilon) < 1.5 * hindsight(cls, DATA["wide"], epsilon)


LEADERBOARD = compose("cross/leaderboard", "smoke", {"tracking": "none"})


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("scale", ["smoke", "laptop"])
@pytest.mark.parametrize("name", [use.name for use in LEADERBOARD.datasets])
def test_near_the_best_m_in_hindsight_on_the_leaderboard(cls, scale, name):
    """Exactly, by expected errors: within a factor 2, and in fact 1.3, with nothing declared."""
    one = {"tracking": "none", "dataset": [name], "data_seeds": 1, "world": "default"}
    (use,) = compose("cross/leaderboard", scale, one).datasets
    data = open_dataset(use).data
    for epsilon in (0.1, math.log(2), math.log(3)):
        assert cls().expected_error(data, epsilon) < 1.3 * hindsight(cls, data, epsilon)


def test_exact_noise_is_for_rows_that_exceed_no_norm() -> None:
    """Weights are rounded down to parts, in which sums are exact: one more row moves the counts by m at most."""
    data = heavy()
    less = Incidence.from_rows([data.indices[data.indptr[i] : data.indptr[i + 1]] for i in range(399)], columns=60)
    for m in (1, 3, 7, 11, 59):
        mechanism = ClippedLaplace(m=m)
        moved = mechanism.clipped(data, m, "exact") - mechanism.clipped(less, m, "exact")
        assert moved.min() >= 0
        assert moved.sum() <= m
        assert np.allclose(mechanism.clipped(data, m, "exact"), mechanism.clipped(data, m), rtol=0, atol=400 / 2**24)
        counts = mechanism.release(data, 1.0, np.random.default_rng(m), noise="exact").counts * 2**24
        assert np.array_equal(counts, np.rint(counts))
