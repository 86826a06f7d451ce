"""Exact noise: its tables against 120 decimal digits, its laws against closed forms, and words chosen to be undecided.

Chi-square tests at a false-alarm rate of 1e-5 each, fewer than thirty of them; seeds are fixed. The same tests find a planted
sign bit that doubles P[0]. The slow suite asks the same of 10^8 draws for each scale.
"""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpbench.errors import UserError
from dpbench.numerics.gaussian import analytic_sigma, delta_of, discrete_sigma, zcdp_rho
from dpbench.privacy import exact
from dpbench.privacy._bounds import exp_minus, noise_scale, raised
from dpbench.privacy._laws import GeometricLaw, Sign
from dpbench.privacy._words import Seeded, System
from dpbench.privacy.choose import draw_one
from dpbench.privacy.gaussian import _coin, discrete_gaussian
from dpbench.privacy.rows import below

ALARM = 1e-5
SCALES = [0.5, 3.0, 1000.0, 1e5]
N = 1_000_000
getcontext().prec = 120


class Forced:
    """The words that a test gives, then zeros; how many were taken."""

    def __init__(self, *words: int) -> None:
        self.words, self.taken = [*words], 0

    def take(self, number: int) -> np.ndarray:
        self.taken += number
        given = [self.words.pop(0) if self.words else 0 for _ in range(number)]
        return np.array(given, dtype=np.uint64)


def seeded(seed: int = 0) -> Seeded:
    return Seeded(np.random.default_rng(seed))


# Tables.


def distribution(kind: str, scale: Fraction, m: int, k: int) -> Decimal:
    a = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
    if kind == "magnitude":
        return 1 - 2 * a ** (k + 1) / (1 + a)
    return (1 - a ** (k + 1)) / (1 - a**m if kind == "digit" else 1)


@pytest.mark.parametrize("scale", [Fraction(1, 30), Fraction(1, 2), Fraction(3), Fraction(100, 7), raised(0.7)])
@pytest.mark.parametrize(("kind", "bits", "m"), [("magnitude", 63, 0), ("geometric", 64, 0), ("digit", 32, 8)])
def test_tables_are_the_floors_of_the_distribution_function(scale: Fraction, kind: str, bits: int, m: int) -> None:
    law = GeometricLaw(kind, scale, bits, m)
    for k, entry in enumerate(law.entries[:-1]):
        whole = kind == "digit" and k == m - 1
        expected = 2**bits - 1 if whole else math.floor(distribution(kind, scale, m, k) * 2**bits)
        assert int(entry) == expected
        if not whole:
            assert law.floor(k, 200) == math.floor(distribution(kind, scale, m, k) * 2**200)
    assert int(law.entries[-1]) == 2**64 - 1
    assert law.floor(len(law.entries) - 1, bits) >= 2**bits - 1


def test_tables_against_rationals_that_enclose_the_exponential() -> None:
    """No library's exponential: partial sums of the series, as fractions, are below and above it in turn."""
    for scale in (Fraction(1, 2), Fraction(3), Fraction(13, 5)):
        x, term, sums = 1 / scale, Fraction(1), [Fraction(1)]
        for n in range(1, 80):
            term *= -x / n
            sums.append(sums[-1] + term)
        low, high = sorted(sums[-2:])
        law = GeometricLaw("magnitude", scale, 63)
        for k, entry in enumerate(law.entries[:-1]):
            ends = [math.floor(2**63 * (1 - 2 * a ** (k + 1) / (1 + b))) for a, b in ((high, low), (low, high))]
            assert ends[0] <= int(entry) <= ends[1]
            assert ends[0] == ends[1]


def test_exponentials_are_enclosed() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        x = Fraction(int(rng.integers(1, 1 << 40)), 1 << int(rng.integers(32, 60)))
        low, high = exp_minus(x, 200)
        true = (-Decimal(x.numerator) / Decimal(x.denominator)).exp() * 2**200
        assert low <= true <= high
        assert high - low <= 2
    assert exp_minus(Fraction(0), 64)[1] >= 2**64
    assert exp_minus(Fraction(10**6), 64) == (0, 1)


def test_a_scale_is_never_rounded_down() -> None:
    rng = np.random.default_rng(2)
    for x in 10.0 ** rng.uniform(-12, 14, 1000):
        up = raised(float(x))
        assert 1 + Fraction(1, 1 << 40) <= up / Fraction(float(x)) <= 1 + Fraction(1, 10**10)
        # What differs by how its doubles were rounded nearly always becomes one scale.
        assert raised(float(np.nextafter(x, np.inf))) >= up
    assert raised(Fraction(10, 3)) == Fraction(10, 3)
    assert len({raised(17 / w * w * 3.1) for w in range(1, 2000)}) <= 2
    with pytest.raises(UserError, match="exact noise needs one below"):
        noise_scale(1e17)


# Words that decide nothing.


def test_a_word_on_a_border_takes_more_bits() -> None:
    """Where the word equals T_k, the next word decides: all zeros are below the border, all ones above it."""
    law = exact.DiscreteLaplace(Fraction(3))
    for k in (0, 1, 7, 50):
        word = 2 * int(law.head.entries[k])
        for more, expected in ((0, k), (2**64 - 1, k + 1)):
            words = Forced(word, more)
            assert law.draw(1, words).tolist() == [expected]
            assert words.taken == 2
        assert law.draw(1, Forced(word + 1, 0)).tolist() == [-k]
        assert law.draw(1, Forced(word - 2)).tolist() == [k]
        assert law.draw(1, Forced(word + 2)).tolist() == [k + 1]
        # The first 64 bits more are undecided, too.
        second = law.head.floor(k, 127) - (int(law.head.entries[k]) << 64)
        assert law.draw(1, Forced(word, second, 0)).tolist() == [k]
        assert law.draw(1, Forced(word, second, 2**64 - 1)).tolist() == [k + 1]


def test_the_end_of_a_table_is_no_end() -> None:
    law = exact.DiscreteLaplace(Fraction(1, 2))
    last = len(law.head.entries) - 2
    ends = [law.draw(1, Forced(2**64 - 2, *[2**64 - 1] * n)).item() for n in range(1, 5)]
    assert ends == sorted(set(ends))
    assert ends[0] > last
    # After n words of ones, the outcome is the first k with 1 - 2^-(63 + 64 n) < F(k), or a little more.
    for n, k in enumerate(ends, 1):
        assert law.head.floor(k, 63 + 64 * n) == 2 ** (63 + 64 * n) - 1
    assert law.draw(1, Forced(2**64 - 1, 2**64 - 1)).item() < 0


def test_large_scales_resolve_head_digits_and_sign() -> None:
    law = exact.DiscreteLaplace(Fraction(10**7))
    assert len(law.digits) == 2
    half = 1 << 32
    g = (3 << 2 * law.each) + (5 << law.each) + 7
    first = int(law.head.entries[3]) - 1
    digits = [int(digit.entries[k]) - 1 for digit, k in zip(law.digits, (5, 7), strict=True)]
    plus, minus = law.sign.entry - 1, law.sign.entry + 1
    assert law._row == 3
    assert law.draw(1, Forced(first, plus + half * digits[0], digits[1])).item() == g
    assert law.draw(1, Forced(first, minus + half * digits[0], digits[1])).item() == -1 - g
    on = [d + 1 for d in digits]  # on the border: the last digit's bits come before the sign's
    for more, add in ((0, 0), (2**64 - 1, 1)):
        words = Forced(first + 1, law.sign.entry + half * on[0], on[1], more, more, more, 0)
        made = (3 + add << 2 * law.each) + (5 + add << law.each) + 7 + add
        assert law.draw(1, words).item() == made
        assert words.taken == 7
    assert law.draw(1, Forced(first, law.sign.entry + half * digits[0], digits[1], 2**64 - 1)).item() == -1 - g
    assert Sign(Fraction(1, 40)).resolve(2**32 - 1, lambda: 0)  # a is about 2^-58: nearly always G


# Laws.


def masses(scale: float, reach: int) -> np.ndarray:
    """P[-reach], ..., P[reach], then P[beyond]."""
    x = np.abs(np.arange(-reach, reach + 1))
    a = math.exp(-1 / scale)
    inside = -math.expm1(-1 / scale) / (1 + a) * np.exp(-x / scale)
    return np.append(inside, 2 * math.exp(-(reach + 1) / scale) / (1 + a))


def fit(counted: np.ndarray, expected: np.ndarray) -> float:
    """p-value of a chi-square test, neighbouring outcomes put together until fifty are expected."""
    ends = np.searchsorted(np.cumsum(expected), np.arange(50, expected.sum(), 50))
    starts = np.unique(np.append(0, ends[ends < expected.size - 1] + 1))
    seen, asked = np.add.reduceat(counted, starts), np.add.reduceat(expected, starts)
    return float(stats.chisquare(seen, asked * seen.sum() / asked.sum()).pvalue)


def count(drawn: np.ndarray, reach: int) -> np.ndarray:
    inside = drawn[np.abs(drawn) <= reach]
    return np.append(np.bincount(inside + reach, minlength=2 * reach + 1), drawn.size - inside.size)


def law_holds(scale: float, n: int, seed: int, *, planted: bool = False) -> bool:
    """Every single value up to 8 scales for the small ones; for the large ones their sums over 1/50 of a scale, and apart from
    that the values next to zero."""
    reach = max(20, math.ceil(8 * scale))
    counted, words = np.zeros(2 * reach + 2, dtype=np.int64), seeded(seed)
    law = exact.law(noise_scale(scale))
    for start in range(0, n, 1 << 22):
        drawn = law.draw(min(1 << 22, n - start), words)
        if planted:  # the sign of a one-sided draw by a fair coin: zero comes from both sides
            one_sided = np.where(drawn >= 0, drawn, -1 - drawn)
            drawn = one_sided * (1 - 2 * (words.take(drawn.size) & np.uint64(1)).astype(np.int64))
        counted += count(drawn, reach)
    mass = masses(scale, reach)
    bins = max(1, int(scale / 50))
    starts = np.append(np.arange(0, 2 * reach + 1, bins), 2 * reach + 1)
    whole = fit(np.add.reduceat(counted, starts), np.add.reduceat(mass, starts) * n)
    near = slice(reach - 3, reach + 4)
    few = [stats.binomtest(int(c), n, p).pvalue for c, p in zip(counted[near], mass[near], strict=True)]
    return whole > ALARM and min(few) > ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_has_its_law(scale: float) -> None:
    assert law_holds(scale, N, seed=11)


@pytest.mark.parametrize("scale", [0.5, 3.0, 1000.0])
def test_a_sign_bit_that_doubles_zero_is_found(scale: float) -> None:
    """At scale 1000 one of 2000 draws is zero: 500 are expected of a million, and twice as many are found."""
    assert not law_holds(scale, N, seed=12, planted=True)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_has_its_law_over_many_draws(scale: float) -> None:
    assert law_holds(scale, 10**8, seed=13)


@pytest.mark.slow
def test_a_sign_bit_is_found_at_the_largest_scale() -> None:
    assert not law_holds(1e5, 10**8, seed=14, planted=True)


@pytest.mark.parametrize("scale", [1024.5, 3e5, 1e7, 1e12])
def test_digits_put_together_have_the_law_of_one_table(scale: float) -> None:
    """By quantiles of the continuous law, from which the discrete one differs by far less than 1/√n."""
    drawn = exact.law(noise_scale(scale)).draw(N, seeded(15)) + np.random.default_rng(15).random(N) - 0.5
    assert stats.kstest(drawn / scale, stats.laplace.cdf).pvalue > ALARM
    low = exact.law(noise_scale(scale)).draw(N, seeded(16)) & 15
    assert stats.chisquare(np.bincount(low, minlength=16)).pvalue > ALARM  # the last digits are nearly uniform


@pytest.mark.parametrize("sigma", [Fraction(3, 10), Fraction(2), Fraction(35, 2), Fraction(4000)])
def test_discrete_gaussian_has_its_law(sigma: Fraction) -> None:
    assert gaussian_holds(sigma, N, 1)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3), Fraction(1000)])
def test_discrete_gaussian_has_its_law_over_many_draws(sigma: Fraction) -> None:
    assert gaussian_holds(sigma, 10**8, 2)


def test_a_gaussian_a_little_too_wide_is_found() -> None:
    assert not gaussian_holds(Fraction(2), N, 3, drawn_with=Fraction(202, 100))


def gaussian_holds(sigma: Fraction, n: int, seed: int, drawn_with: Fraction | None = None) -> bool:
    reach = math.ceil(6 * sigma)
    counted, words = np.zeros(2 * reach + 2, dtype=np.int64), seeded(seed)
    for start in range(0, n, 1 << 22):
        counted += count(discrete_gaussian(min(1 << 22, n - start), drawn_with or sigma, words), reach)
    x = np.arange(-3 * reach, 3 * reach + 1)
    mass = np.exp(-(x**2) / (2 * float(sigma) ** 2))
    mass /= mass.sum()
    inside = mass[2 * reach : 4 * reach + 1]
    return fit(counted, np.append(inside, 1 - inside.sum()) * n) > ALARM


def test_a_gaussian_coin_on_its_border_takes_more_bits() -> None:
    x = Fraction(7, 3)
    low, high = exp_minus(x, 64)
    assert _coin(x, low - 1, Forced())
    assert not _coin(x, high, Forced())
    border = exp_minus(x, 320)[0] >> 256
    words = Forced(0)
    assert _coin(x, border, words)
    assert words.taken >= 1
    assert not _coin(x, border, Forced(2**64 - 1))
    assert _coin(Fraction(0), 2**64 - 1, Forced())


# Rows and choices.


def test_rows_are_taken_with_their_rate_and_one_by_one() -> None:
    taken = below(N, 0.3, seeded(4))
    assert stats.binomtest(taken.size, N, 0.3).pvalue > ALARM
    fewer = below(N - 1, 0.3, seeded(4))
    assert fewer.tolist() == taken[taken < N - 1].tolist()
    assert below(5, 1.0, seeded()).tolist() == [0, 1, 2, 3, 4]
    assert below(5, 0.0, Forced()).tolist() == []
    limit = math.floor(Fraction(0.3) * (1 - Fraction(1, 1 << 40)) * 2**64)
    assert below(2, 0.3, Forced(limit - 1, limit)).tolist() == [0]


def test_choices_have_their_law() -> None:
    exponents, unit = np.array([0, 3, 1, 40, 0, 5]), Fraction(1, 3)
    words = seeded(5)
    seen = np.bincount([draw_one(exponents, unit, words) for _ in range(20_000)], minlength=6)
    weights = np.exp(-exponents / 3)
    assert stats.chisquare(seen, 20_000 * weights / weights.sum()).pvalue > ALARM
    assert stats.chisquare(seen, 20_000 * weights**1.1 / (weights**1.1).sum()).pvalue < ALARM


def test_a_choice_on_a_border_takes_more_bits() -> None:
    """Two places of equal weight: the border is the middle word, and what follows it decides nothing, as it is above."""
    exponents = np.array([0, 0])
    assert draw_one(exponents, Fraction(1), Forced(2**63 - 1)) == 0
    assert draw_one(exponents, Fraction(1), Forced(2**63, 1)) == 1
    # exp(-1) / (1 + exp(-1)) of all is the second place's; the border in 64 and in 128 bits.
    share = 1 / (1 + Decimal(-1).exp())
    border, wide = math.floor(share * 2**64), math.floor(share * 2**128)
    for more, place in ((0, 0), (2**64 - 1, 1), (wide - (border << 64) - 1, 0), (wide - (border << 64) + 1, 1)):
        assert draw_one(np.array([0, 1]), Fraction(1), Forced(border, more)) == place
    assert draw_one(np.array([0]), Fraction(1), Forced(2**64 - 1)) == 0


# Accounting, and where bits come from.


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_the_discrete_gaussian_is_calibrated_by_zcdp(epsilon: float, delta: float) -> None:
    """One count moved by 1: the exact δ, summed up, is within the one that was asked for, and so is the continuous one's; σ is
    at most a third larger than the continuous mechanism's."""
    sigma = discrete_sigma(epsilon, delta)
    assert zcdp_rho(epsilon, delta) == pytest.approx(1 / (2 * sigma**2))
    x = np.arange(-math.ceil(12 * sigma) - 2, math.ceil(12 * sigma) + 3)
    p = np.exp(-(x**2) / (2 * sigma**2))
    p /= p.sum()
    loss = (2 * x - 1) / (2 * sigma**2)  # ln p(x)/p(x - 1), negated
    spent = float((p * -np.expm1(np.minimum(0.0, epsilon + loss))).sum())
    assert 0 < spent <= delta
    assert delta_of(epsilon, sigma) <= delta
    assert analytic_sigma(epsilon, delta) < sigma < 1.35 * analytic_sigma(epsilon, delta)


def test_seeds_give_the_same_words_and_the_system_gives_others() -> None:
    one, other = (exact.discrete_laplace(100, Fraction(50), seeded(7)) for _ in range(2))
    assert np.array_equal(one, other)
    drawn = [exact.discrete_laplace(100, Fraction(50), System()) for _ in range(2)]
    assert not np.array_equal(*drawn)
    assert stats.kstest(System().take(20_000) / 2.0**64, "uniform").pvalue > 1e-9
    assert exact.discrete_laplace(3, Fraction(0), Forced()).tolist() == [0, 0, 0]
    assert discrete_gaussian(3, Fraction(0), Forced()).tolist() == [0, 0, 0]
