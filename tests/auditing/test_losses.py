"""The cost of one step, against closed forms and brute force over outputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpbench.auditing.enumeration import NotEnumerable, Samplers, TooMany, enumerate_laws
from dpbench.auditing.losses import (
    amplified,
    choice,
    cost,
    gaussian_delta,
    gaussian_epsilon,
    law_epsilon,
    renyi_total,
    total,
    worst_ratio,
)
from dpbench.auditing.recording import Step
from dpbench.mechanisms.baselines._topk import Joint, Peeling
from dpbench.mechanisms.sparse._synthesis import Posterior
from dpbench.numerics.gaussian import analytic_sigma, zcdp_rho
from dpbench.privacy import Cost


def step(kind: str, values, **parameters) -> Step:
    return Step(kind, kind, np.array(values), {key: np.array(value) for key, value in parameters.items()}, None)


def loss(kind: str, one, other, **parameters) -> float:
    return cost(step(kind, one, **parameters), step(kind, other, **parameters)).pure


def test_laplace_is_the_sum_of_the_moves_over_their_scales() -> None:
    assert loss("laplace", [1.0, 2.0], [3.0, 2.5], scale=2.0) == pytest.approx(2.5 / 2)
    assert loss("laplace", [1, 2], [0, 2], scale=[4.0, 1.0]) == pytest.approx(0.25)
    assert loss("laplace", 5, 5, scale=0.0) == 0
    assert loss("laplace", [5, 1], [5, 2], scale=[0.0, 1.0]) == 1
    assert loss("laplace", 5, 6, scale=0.0) == math.inf
    # By brute force: the log ratio of the densities, at many outputs.
    outputs = np.linspace(-20, 20, 4001)
    ratio = stats.laplace.logpdf(outputs, 1.0, 2.0) - stats.laplace.logpdf(outputs, 3.0, 2.0)
    assert loss("laplace", 1.0, 3.0, scale=2.0) == pytest.approx(np.abs(ratio).max())


def test_geometric_counts_whole_steps_and_nothing_else() -> None:
    assert loss("geometric", [3, 0], [1, 1], alpha=math.exp(-0.5)) == pytest.approx(1.5)
    assert loss("geometric", [3.0], [3.5], alpha=0.5) == math.inf


def test_choose_is_the_worst_log_ratio_of_the_probabilities() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        one, other = rng.normal(size=(2, 6)) * 5
        exponent = 0.7
        p, q = (np.exp(exponent * s) / np.exp(exponent * s).sum() for s in (one, other))
        assert loss("choose", one, other, exponent=exponent) == pytest.approx(np.abs(np.log(p / q)).max())
    assert loss("choose", [1e6, 0], [1e6 + 1, 0], exponent=1.0) == pytest.approx(1.0)


def test_balls_measure_by_their_norm() -> None:
    assert loss("ball", [0, 0, 0], [1, -2, 0.5], norm="inf", epsilon=0.5) == pytest.approx(1.0)
    assert loss("ball", [0, 0, 0], [1, -2, 0.5], norm="counts", epsilon=0.5) == pytest.approx(1.5)


def test_gaussian_distance_is_that_of_the_covariance() -> None:
    rng = np.random.default_rng(2)
    for shared in (0.0, 0.7):
        one, other = rng.normal(size=(2, 5))
        covariance = 1.3**2 * np.eye(5) + shared**2
        expected = (one - other) @ np.linalg.inv(covariance) @ (one - other)
        both = (step("gaussian", values, sigma=1.3, shared=shared) for values in (one, other))
        assert cost(*both).squared == pytest.approx(expected)
    alike = [step("gaussian", [x, x], sigma=0.0, shared=2.0) for x in (0.0, 1.0)]
    assert cost(*alike).squared == pytest.approx(0.25)
    apart = [step("gaussian", [x, 0.0], sigma=0.0, shared=2.0) for x in (0.0, 1.0)]
    assert cost(*apart).squared == math.inf


def test_gaussian_loss_is_the_epsilon_of_the_calibration() -> None:
    for epsilon, delta in ((1.0, 1e-6), (0.1, 1e-3), (3.0, 0.01)):
        sigma = analytic_sigma(epsilon, delta)
        assert gaussian_epsilon(1 / sigma**2, delta) == pytest.approx(epsilon, abs=1e-9)
        assert total([Cost(squared=1 / sigma**2), Cost(0.25)], delta) == pytest.approx(epsilon + 0.25, abs=1e-9)
        assert gaussian_delta(epsilon, 1 / sigma**2) == pytest.approx(delta)
    assert gaussian_epsilon(1.0, 0.0) == math.inf
    assert gaussian_epsilon(1e-20, 0.1) == 0


def test_sampling_amplifies_as_the_mixture_does() -> None:
    """Against the worst log ratio of a mixture of two Laplace densities over many outputs, both directions."""
    outputs = np.linspace(-40, 40, 80001)
    for rate, moved in ((0.1, 3.0), (0.5, 1.0), (1.0, 2.0)):
        without, within = stats.laplace.pdf(outputs), stats.laplace.pdf(outputs, moved)
        ratio = np.log((1 - rate) * without + rate * within) - np.log(without)
        assert amplified(0.0, moved, rate) == pytest.approx(np.abs(ratio).max(), abs=1e-6)
    assert amplified(0.0, math.inf, 0.1) == math.inf
    assert amplified(0.3, 5.0, 0.0) == 0.3


def test_law_epsilon_solves_the_hockey_stick() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        p, q = rng.dirichlet(np.ones(6), 2)
        delta = float(rng.choice([1e-3, 0.05, 0.3]))
        epsilon = law_epsilon(p, q, delta)
        spent = np.maximum(0, p - math.exp(epsilon) * q).sum()
        assert spent <= delta + 1e-12
        assert epsilon == 0 or spent == pytest.approx(delta)
    assert law_epsilon(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.5) == math.inf
    assert worst_ratio(np.array([0.5, 0.5]), np.array([0.25, 0.75])) == pytest.approx(math.log(2))
    assert worst_ratio(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == math.inf


ORDER, COUNTS = np.array([2, 0, 1, 3]), np.array([6, 4, 4, 1])


@pytest.mark.parametrize(
    "law",
    [
        Peeling(ORDER, COUNTS, 2, 2.0),
        Joint(ORDER, COUNTS, 2, 1.0),
        Posterior(np.array([0, 4, 5]), np.array([1, 2, 1]), 3, 0.5),
    ],
    ids=["peeling", "joint", "posterior"],
)
def test_every_outcome_is_listed_once_and_draws_follow_the_law(law) -> None:
    """False alarm below 1e-6: a uniform number for each of 2000 draws, seed fixed."""
    laws = enumerate_laws(law, law)
    assert laws.one.sum() == pytest.approx(1)
    assert len(laws.at) == laws.one.size == len(list(law.outcomes()))
    rng = np.random.default_rng(4)
    samplers = Samplers(np.random.default_rng(5))
    for _ in range(2000):
        samplers.note("draw", laws.one, laws.place(law.draw(rng)))
    assert samplers.wrong(1e-6) == ""


def test_a_draw_that_takes_the_best_is_found() -> None:
    law = Peeling(ORDER, COUNTS, 2, 2.0)
    laws = enumerate_laws(law, law)
    samplers = Samplers(np.random.default_rng(5))
    for _ in range(50):
        samplers.note("draw", laws.one, laws.place(np.array([2, 0])))
    assert samplers.wrong() == "draw"


def test_what_cannot_be_enumerated_says_why() -> None:
    class Silent:
        def log_probability(self, outcome):
            return 0.0

    with pytest.raises(NotEnumerable, match="does not list"):
        enumerate_laws(Silent(), Silent())
    large = Peeling(np.arange(40), np.arange(40)[::-1], 3, 1.0)
    with pytest.raises(TooMany, match="more than"):
        enumerate_laws(large, large)

    class Wrong(Peeling):
        def log_probability(self, outcome):
            return super().log_probability(outcome) + 0.1

    with pytest.raises(NotEnumerable, match="add up to"):
        enumerate_laws(Wrong(ORDER, COUNTS, 2, 2.0), Wrong(ORDER, COUNTS, 2, 2.0))


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.01])
@pytest.mark.parametrize("rho", [0.02, 0.5, 20.0])
def test_gaussian_steps_alone_cost_what_zcdp_says(rho: float, delta: float) -> None:
    assert zcdp_rho(renyi_total([], 2 * rho, delta), delta) == pytest.approx(rho, rel=1e-6)


def random_choices(rng: np.random.Generator, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    scores = [rng.normal(size=(2, 3)) * rng.choice([0.1, 1.0]) for _ in range(count)]
    return [choice(*(step("choose", each, exponent=0.4) for each in pair)) for pair in scores]


@pytest.mark.parametrize("seed", range(12))
def test_choices_beside_gaussian_noise_cost_at_least_their_exact_loss_and_little_more(seed: int) -> None:
    """The exact δ at the stated ε, over all outcomes of the choices and with the Gaussian's for each, in both directions."""
    rng = np.random.default_rng(seed)
    choices, squared, delta = random_choices(rng, 4), float(rng.choice([0.01, 0.3])), 1e-4
    epsilon = renyi_total(choices, squared, delta)

    def exact_delta(epsilon: float, back: int) -> float:
        p, q = np.zeros(1), np.zeros(1)
        for pair in choices:
            p, q = (np.add.outer(law, each).ravel() for law, each in ((p, pair[back]), (q, pair[1 - back])))
        near, far = (sign * math.sqrt(squared) / 2 - (epsilon - p + q) / math.sqrt(squared) for sign in (1, -1))
        return float((np.exp(p) * stats.norm.cdf(near) - np.exp(epsilon + q) * stats.norm.cdf(far)).sum())

    assert max(exact_delta(epsilon, back) for back in (0, 1)) <= delta
    assert max(exact_delta(0.7 * epsilon, back) for back in (0, 1)) > delta


def test_choices_alone_cost_no_more_than_their_range_promises() -> None:
    """An exponential mechanism of ε is ε²/8-zCDP: also all scores moved by the most, up or down."""
    one, other = np.array([0.0, 0.0, 0.0]), np.array([1.0, -1.0, 1.0])
    pair = choice(*(step("choose", each, exponent=0.3 / 2) for each in (one, other)))
    for count in (1, 30, 200):
        found = renyi_total([pair] * count, 0.0, 1e-6)
        assert zcdp_rho(found, 1e-6) <= count * 0.3**2 / 8
        assert count == 1 or found > 0.8 * renyi_total([], 2 * count * 0.3**2 / 8, 1e-6)
