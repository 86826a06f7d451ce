"""`Noise`: every step has its own generator, and the distribution that it states.

Laws are tested by Kolmogorov-Smirnov or chi-square at a false-alarm rate of 1e-4 each, fewer than thirty of them; the
same tests find a factor of 1.1 planted in the draws. All seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpbench.errors import UserError
from dpbench.privacy import Noise

ALARM = 1e-4
N = 100_000


def noise(seed: int = 1) -> Noise:
    return Noise(np.random.default_rng(seed))


# Generators.


STEPS = {
    "laplace": lambda n: n.laplace(np.zeros(5), scale=1.0),
    "geometric": lambda n: n.geometric(np.zeros(5, dtype=int), alpha=0.9),
    "gaussian": lambda n: n.gaussian(np.zeros(5), sigma=1.0, shared=1.0),
    "ball": lambda n: n.ball(np.zeros(5), norm="inf", epsilon=1.0),
    "counts ball": lambda n: n.ball(np.zeros(5), norm="counts", epsilon=1.0, step="other"),
    "choose": lambda n: n.choose(np.zeros(10**6), epsilon=1.0, sensitivity=1.0, monotone=True),
    "rows": lambda n: n.rows(1000, rate=0.1),
    "stream": lambda n: n.stream("ties").random(5),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_does_not_depend_on_the_steps_around_it(name: str) -> None:
    """Whatever the others are and however much they draw; but a second step of the same name draws anew."""
    alone = STEPS[name](noise())
    busy = noise()
    for other, step in STEPS.items():
        if other != name:
            step(busy)
            step(busy)
    busy.laplace(np.zeros(777), scale=2.0, step="of another name")
    assert np.array_equal(STEPS[name](busy), alone)
    assert not np.array_equal(STEPS[name](busy), alone)
    assert not np.array_equal(STEPS[name](noise(2)), alone)


def test_steps_that_share_a_name_or_bits_are_independent() -> None:
    """Correlation over 100,000 draws within four standard errors: a false alarm of 6e-5 each."""
    rng = np.random.default_rng(3)
    one, other = Noise(rng), Noise(rng)  # two releases of one generator
    draws = [n.laplace(np.zeros(N), scale=1.0, step=name) for n in (one, other) for name in ("a", "a", "b", "")]
    draws += [one.stream("a").laplace(0.0, 1.0, N), one.stream("").laplace(0.0, 1.0, N)]
    table = np.corrcoef(draws) - np.eye(len(draws))
    assert np.abs(table).max() < 4 / math.sqrt(N)


def test_a_release_takes_128_bits_of_the_generator_and_no_more() -> None:
    rng, by_hand = np.random.default_rng(4), np.random.default_rng(4)
    used = Noise(rng)
    used.laplace(np.zeros(1000), scale=1.0)
    by_hand.integers(0, 2**32, 4)
    assert rng.bit_generator.state == by_hand.bit_generator.state


def test_the_keys_of_the_steps_stay_as_they_are() -> None:
    """Golden numbers: a change in how generators are keyed moves every number of every experiment."""
    made = noise(0)
    first = made.laplace([0.0, 10.0], scale=1.0), made.laplace([0.0], scale=1.0), made.stream("ties").random()
    assert [float(x) for x in np.hstack(first)] == pytest.approx(GOLDEN, rel=1e-12)


GOLDEN = [-2.0124754031093057, 8.112405370240005, -1.5116457657799092, 0.11920799997253029]


def test_values_stay_as_they_are_and_results_are_fresh() -> None:
    values = np.arange(6).reshape(2, 3)
    values.setflags(write=False)
    made = noise()
    for noisy in (
        made.laplace(values, scale=0.0),
        made.gaussian(values, sigma=0.0),
        made.geometric(values, alpha=1e-300),
        made.laplace(values, scale=np.zeros((2, 3))),
        made.ball(values, norm="inf", epsilon=1e12).round(),
        made.ball(values, norm="counts", epsilon=1e12).round(),
    ):
        assert np.array_equal(noisy, np.arange(6).reshape(2, 3))
        assert noisy.flags.writeable
        assert not np.shares_memory(noisy, values)
    assert made.laplace(3, scale=0.0).shape == ()
    assert made.geometric(values, alpha=0.5).dtype == np.int64
    assert made.geometric(values * 1.0, alpha=0.5).dtype == np.float64


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: n.laplace([0.0, 1.0], scale=[1.0]), "scale has the shape"),
        (lambda n: n.laplace([0.0], scale=-1.0), "scale must be 0 or more"),
        (lambda n: n.laplace([0.0], scale=math.nan), "scale must be 0 or more"),
        (lambda n: n.geometric([0], alpha=1.0), "alpha=1.0"),
        (lambda n: n.gaussian([0.0], sigma=math.nan), "sigma=nan"),
        (lambda n: n.ball([0.0], norm="l2", epsilon=1.0), "norm='l2'"),
        (lambda n: n.ball([0.0], norm="inf", epsilon=0.0), "epsilon=0.0"),
        (lambda n: n.choose([0.0], epsilon=1.0, sensitivity=0.0, monotone=True), "sensitivity=0.0"),
        (lambda n: n.rows(5, rate=1.5), "rate=1.5"),
    ],
)
def test_what_cannot_be_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(noise())


def test_forms() -> None:
    assert Noise(np.random.default_rng(0), "exact").form == "exact"
    with pytest.raises(UserError, match="noise='flaot' is not valid: did you mean 'float'"):
        Noise(np.random.default_rng(0), "flaot")


# Laws. Each is asked of the draws as they are, and of draws that are a tenth too large.


def fits(drawn: np.ndarray, law) -> bool:
    return stats.kstest(drawn, law.cdf).pvalue > ALARM


def test_laplace() -> None:
    drawn = noise(5).laplace(np.full(N, 7.0), scale=3.0) - 7.0
    assert fits(drawn, stats.laplace(scale=3))
    assert not fits(1.1 * drawn, stats.laplace(scale=3))
    scales = np.linspace(0.1, 50, N)
    each = noise(6).laplace(np.zeros(N), scale=scales)
    assert fits(each / scales, stats.laplace())
    assert not fits(each / scales[::-1], stats.laplace())


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_geometric(epsilon: float) -> None:
    """300,000 values, more than one block of them."""
    values = np.arange(3 * N)

    def chance(alpha: float, law: float) -> float:
        x = np.arange(-60, 61)
        drawn = np.clip(noise(7).geometric(values, alpha=alpha) - values, -60, 60)
        expected = (1 - law) / (1 + law) * law ** np.abs(x)
        expected[[0, -1]] /= 1 - law  # the tails
        enough = expected * values.size >= 8
        observed = np.bincount(drawn + 60, minlength=121)
        counts = np.append(observed[enough], observed[~enough].sum())
        shares = np.append(expected[enough], max(1e-12, 1 - expected[enough].sum()))
        return stats.chisquare(counts, shares / shares.sum() * values.size).pvalue

    alpha = math.exp(-epsilon)
    assert chance(alpha, alpha) > ALARM
    assert chance(math.exp(-epsilon / 1.1), alpha) < ALARM


def test_gaussian_alone_and_with_a_shared_part() -> None:
    drawn = noise(8).gaussian(np.zeros(N), sigma=2.0)
    assert fits(drawn, stats.norm(scale=2))
    assert not fits(1.1 * drawn, stats.norm(scale=2))
    made = noise(9)
    together = np.array([made.gaussian(np.zeros(3), sigma=1.0, shared=2.0) for _ in range(20_000)])
    assert fits(together[:, 0], stats.norm(scale=math.sqrt(5)))
    assert fits(together[:, 0] - together[:, 2], stats.norm(scale=math.sqrt(2)))
    assert fits(together.sum(axis=1), stats.norm(scale=math.sqrt(9 * 4 + 3)))
    assert not fits(1.1 * together.sum(axis=1), stats.norm(scale=math.sqrt(9 * 4 + 3)))


def inf_norm(x: np.ndarray) -> np.ndarray:
    return np.abs(x).max(axis=1)


def counts_norm(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0).max(axis=1) + np.maximum(-x, 0).max(axis=1)


@pytest.mark.parametrize(
    ("norm", "of", "mae", "mse"), [("inf", inf_norm, 7, 224 / 3), ("counts", counts_norm, 16 / 3, 48)]
)
def test_ball(norm: str, of, mae: float, mse: float) -> None:
    """In d = 6 dimensions the norm of a density ∝ exp(-ε‖x‖) is Gamma(6, 1/ε), whatever the norm. At ε = 1/2 the mean
    absolute error is (d+1)/2ε and (d+2)/3ε, the mean squared one (d+1)(d+2)/3ε² and (d+2)(d+3)/6ε²."""
    made = noise(10)
    drawn = np.array([made.ball(np.zeros(6), norm=norm, epsilon=0.5) for _ in range(30_000)])
    assert fits(of(drawn), stats.gamma(6, scale=2))
    assert not fits(1.1 * of(drawn), stats.gamma(6, scale=2))
    for found, expected in ((np.abs(drawn).mean(axis=1), mae), ((drawn**2).mean(axis=1), mse)):
        assert abs(found.mean() - expected) < 4 * found.std() / math.sqrt(30_000)
    # Whoever has the largest |x| is anybody, and so is the sign; the direction does not depend on the norm.
    largest = np.abs(drawn).argmax(axis=1)
    assert stats.chisquare(np.bincount(largest, minlength=6)).pvalue > ALARM
    positive = np.bincount((drawn > 0).sum(axis=1), minlength=7)
    expected = stats.binom.pmf(np.arange(7), 6, 0.5) if norm == "inf" else np.full(7, 1 / 7)
    assert stats.chisquare(positive, expected * 30_000).pvalue > ALARM
    assert abs(np.corrcoef(of(drawn), drawn[:, 0] / of(drawn))[0, 1]) < 4 / math.sqrt(30_000)


@pytest.mark.parametrize(("monotone", "exponent"), [(True, 0.75), (False, 0.375)])
def test_choose(monotone: bool, exponent: float) -> None:
    """Exponent ε/Δ where scores move in one direction, ε/2Δ otherwise."""
    scores = np.array([[0.0, 1.0, 2.0], [2.5, -3.0, 1.5]])
    made = noise(11)
    drawn = [made.choose(scores, epsilon=1.5, sensitivity=2.0, monotone=monotone) for _ in range(30_000)]
    observed = np.bincount(drawn, minlength=6)

    def chance(factor: float) -> float:
        weights = np.exp(factor * exponent * scores.ravel())
        return stats.chisquare(observed, weights / weights.sum() * 30_000).pvalue

    assert chance(1.0) > ALARM
    assert chance(1.1) < ALARM


def test_draw_gives_the_law_a_generator_of_the_step() -> None:
    class Coin:
        def draw(self, rng: np.random.Generator) -> bool:
            return bool(rng.random() < 0.3)

        def log_probability(self, outcome: bool) -> float:
            return math.log(0.3 if outcome else 0.7)

    made = noise(12)
    heads = sum(made.draw(Coin()) for _ in range(20_000))
    assert stats.binomtest(heads, 20_000, 0.3).pvalue > ALARM
    assert stats.binomtest(heads, 20_000, 0.33).pvalue < ALARM


# Rows and streams: a neighbour with one more last row.


@pytest.mark.parametrize("rate", [1e-4, 0.02, 0.3, 0.9])
def test_rows_are_taken_independently(rate: float) -> None:
    """How often each of 20 rows is in, how many at once, and how often two neighbours are in together."""
    trials = 20_000
    made = noise(13)
    inside = np.zeros((trials, 20), dtype=bool)
    for row in inside:
        row[made.rows(20, rate=rate)] = True

    def chances(share: float) -> list[float]:
        size = stats.binom.pmf(np.arange(21), 20, share) * trials
        seen = np.bincount(inside.sum(axis=1), minlength=21)
        kept = size >= 5
        sizes = np.append(size[kept], max(1e-9, trials - size[kept].sum()))
        pairs = int((inside[:, :-1] & inside[:, 1:]).sum(axis=0)[::2].sum())
        each = (inside.sum(axis=0) - trials * share) ** 2 / (trials * share * (1 - share))
        return [
            stats.chisquare(np.append(seen[kept], seen[~kept].sum()), sizes * trials / sizes.sum()).pvalue,
            stats.chi2.sf(float(each.sum()), 20),
            stats.binomtest(pairs, 10 * trials, share**2).pvalue,
        ]

    assert min(chances(rate)) > ALARM
    if rate > 1e-3:
        assert min(chances(min(0.99, 1.1 * rate))) < ALARM


def test_rows_at_the_ends() -> None:
    assert noise().rows(5, rate=1.0).tolist() == [0, 1, 2, 3, 4]
    for n, rate in ((5, 0.0), (0, 0.5), (10**9, 1e-300), (10**6, 5e-324)):
        assert noise().rows(n, rate=rate).size == 0
    many = noise().rows(10**7, rate=0.01)
    assert (np.diff(many) > 0).all()
    assert abs(many.size - 10**5) < 5 * math.sqrt(10**5)


@pytest.mark.parametrize("rate", [1e-3, 0.2, 0.7])
def test_one_more_row_changes_no_other_row(rate: float) -> None:
    for seed in range(200):
        n = int(np.random.default_rng(seed).integers(0, 3000))
        before, after = noise(seed).rows(n, rate=rate), noise(seed).rows(n + 1, rate=rate)
        assert after[after < n].tolist() == before.tolist()
