"""Exact noise through `release`: who has it, who refuses and why, whole numbers, and the same utility as with float noise.

Utility is compared by the means of one error over trials, at a false-alarm rate of 1e-5 for each variant (4.42 standard errors,
fewer than fifty variants). The slow form repeats until the standard error is 1.4 % of the mean: a difference of 10 % is then
found with a probability above 99 %; the normal form sees a factor of about 2 only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import dpbench
from dpbench import Counts, Incidence, Mechanism, Noise
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.numerics.gaussian import discrete_sigma
from dpbench.privacy import INEXACT

from support.examples import CONSTANT, EXAMPLES, VARIANTS, example_of, incidence

CASES = [
    pytest.param(name, kind, parameters, id="-".join([name, kind, *(f"{k}={v}" for k, v in parameters.items())]))
    for name, cls in MECHANISMS.items()
    for kind in cls.kinds
    for parameters in VARIANTS.get(name, [{}])
]
every_mechanism = pytest.mark.parametrize(("name", "kind", "parameters"), CASES)
EXACT = [case for case in CASES if not dpbench.mechanism(case.values[0], **case.values[2]).inexact()]
exact_ones = pytest.mark.parametrize(("name", "kind", "parameters"), EXACT)
SAME_UTILITY = [case for case in EXACT if case.values[0] != "stability_laplace"]
"""Its threshold is the next whole number, which tells: test_histograms_stable.py compares it with its own law."""
of_same_utility = pytest.mark.parametrize(("name", "kind", "parameters"), SAME_UTILITY)
REFUSE = {"fpa", "linf", "pf_peeling", "joint_topk", "synthesizer", "dpsense_s"}
REFUSE |= {"knorm_counts", "gaussian_correlated", "clipped_gaussian", "gshm", "alp", "dawa", "sqrt_matrix"}
REFUSE |= {"gumbel_topk", "gumbel_topk_delta", "gumbel_topk_unknown", "canonical_topk", "discovery_topk"}
SHORTCUTS = {"filter", "threshold", "priority", "filter_priority"}
ALARM = 4.42


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@every_mechanism
def test_who_has_exact_noise_and_who_refuses(name, kind, parameters) -> None:
    """The fact that `list` and the plan show is what happens."""
    mechanism, data = dpbench.mechanism(name, **parameters), example_of(name, kind).data()
    refuses = name in REFUSE or (name in SHORTCUTS and not parameters.get("laborious"))
    assert bool(mechanism.inexact()) == refuses
    if refuses:
        with pytest.raises(UserError, match=f"{name} has no exact noise: "):
            mechanism.release(data, 1.0, rng(), noise="exact")
        return
    release = mechanism.release(data, 1.0, rng(), noise="exact")
    assert (release.noise, release.randomness) == ("exact", "seeded generator")
    again = mechanism.release(data, 1.0, rng(), noise="exact")
    assert np.array_equal(release.published(), again.published(), equal_nan=True)
    other = mechanism.release(data, 1.0, rng(1), noise="exact")
    assert np.array_equal(release.published(), other.published(), equal_nan=True) == (name in CONSTANT)
    plain = mechanism.release(data, 1.0, rng())
    assert (plain.noise, plain.randomness) == ("float", "seeded generator")


@exact_ones
def test_a_secure_release_says_so_and_is_never_the_same(name, kind, parameters) -> None:
    mechanism, data = dpbench.mechanism(name, **parameters), example_of(name, kind).data()
    epsilon = 1.0 if name == "stability_laplace" else 0.1  # below it, nothing is shown
    releases = [
        mechanism.release(data, epsilon=epsilon, rng="secure", noise="exact", allow_not_private=True) for _ in range(4)
    ]  # two of a single group are equal once in some 400
    assert {release.randomness for release in releases} == {"operating system"}
    first, *others = (release.published() for release in releases)
    same = all(np.array_equal(first, other, equal_nan=True) for other in others)
    assert same == (name in CONSTANT)
    with pytest.raises(UserError, match='rng="secure" is for a real release, which needs noise="exact"'):
        mechanism.release(data, 1.0, "secure")
    with pytest.raises(UserError, match="rng='secrue' is not valid: did you mean 'secure'"):
        mechanism.release(data, 1.0, "secrue", noise="exact")
    with pytest.raises(UserError, match=r"rng=0\.5 is not valid: expected a numpy Generator"):
        mechanism.release(data, 1.0, 0.5)


def test_what_is_published_lies_on_the_grid() -> None:
    """Counts are whole; averages of a group times its size; rows cut to θ in parts of 2^-24."""
    data = incidence()
    for name, unit in {"lpa": 1, "gaussian": 1, "alpa": 24, "dpsense": 2**24, "hpa_popularity": 1, "sra": 1}.items():
        counts = dpbench.mechanism(name).release(data, 1.0, rng(), noise="exact").counts * unit
        assert np.allclose(counts, np.rint(counts), rtol=0, atol=1e-9), name
    grouped = dpbench.mechanism("gs", w=5).release(data, 1.0, rng(), noise="exact").counts
    averages, sizes = np.unique(grouped, return_counts=True)
    assert sorted(sizes) == [5, 5, 5, 9]
    assert np.allclose(averages * sizes, np.rint(averages * sizes), rtol=0, atol=1e-9)
    table = dpbench.mechanism("geometric").release(EXAMPLES["contingency"].data(), 1.0, rng(), noise="exact")
    assert np.array_equal(table.weights, np.rint(table.weights))


def test_limited_rows_move_counts_by_theta_at_most() -> None:
    """Cut to parts of 2^-24: exactly, where doubles could be off in their last bit."""
    from dpbench.mechanisms.sensitivity._limits import PARTS, normalised_counts, normalised_parts

    generator = rng(3)
    for theta in (1, 2, 3, 5):
        data = Incidence.from_rows(
            [generator.choice(40, generator.integers(1, 30), replace=False) for _ in range(50)], columns=40
        )
        less = Incidence.from_rows([data.indices[data.indptr[i] : data.indptr[i + 1]] for i in range(49)], columns=40)
        limited, before = (normalised_parts(d.indptr, d.indices, d.counts, theta) for d in (data, less))
        moved = limited - before
        assert moved.min() >= 0
        assert moved.sum() <= theta
        assert np.array_equal(limited * PARTS, np.rint(limited * PARTS))
        assert np.allclose(limited, normalised_counts(data.indptr, data.indices, data.counts, theta), atol=50 / PARTS)


def test_gaussian_has_its_own_calibration() -> None:
    data, mechanism = incidence(), dpbench.mechanism("gaussian", bound=6)
    chosen = mechanism.release(data, 1.0, rng(), noise="exact").chosen["sigma"]
    assert chosen == pytest.approx(math.sqrt(6) * discrete_sigma(1.0, 1e-6))
    assert chosen > mechanism.release(data, 1.0, rng()).chosen["sigma"]


# A user's own class.


@dataclass(frozen=True, kw_only=True)
class Halves(Mechanism):
    """Half of every count, as real numbers or as parts."""

    how: str = "integers"

    def publish(self, data, epsilon: float, noise: Noise) -> Counts:
        scale = data.largest_row / epsilon
        if self.how == "integers":
            return Counts(counts=noise.laplace(data.counts, scale=scale) / 2)
        if self.how == "parts":
            return Counts(counts=noise.laplace(data.counts / 2, scale=scale / 2, parts=2))
        if self.how == "real":
            return Counts(counts=noise.laplace(data.counts / 2, scale=scale / 2, sensitivity=data.largest_row / 2))
        return Counts(counts=noise.laplace(data.counts / 2, scale=scale / 2))


@dataclass(frozen=True, kw_only=True)
class Drawn(Mechanism):
    def publish(self, data, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=noise.draw(None))


def test_a_users_class_says_what_its_numbers_are() -> None:
    data = incidence()
    for how in ("integers", "parts", "real"):
        counts = [Halves(how=how).release(data, 1.0, rng(s), noise="exact").counts for s in range(300)]
        error = float(np.abs(np.array(counts) - data.counts / 2).mean())
        assert error == pytest.approx(3.0, rel=0.08)  # scale 3; four standard errors of 7200 draws are 5 %
    with pytest.raises(UserError, match="exact noise needs to know what numbers these are"):
        Halves(how="unsaid").release(data, 1.0, rng(), noise="exact")
    assert Halves(how="unsaid").release(data, 1.0, rng()).counts.size == 24
    assert Drawn().inexact() == INEXACT["draw"]
    with pytest.raises(
        UserError, match="Drawn has no exact noise: the distribution is drawn with floating-point numbers"
    ):
        Drawn().release(data, 1.0, rng(), noise="exact")


# Utility.


def errors(mechanism: Mechanism, kind: str, form: str, seeds: range) -> np.ndarray:
    example = EXAMPLES[kind]
    data = _DATA.setdefault(kind, example.data())
    return np.array([example.error(data, mechanism.release(data, 0.3, rng(s), noise=form)) for s in seeds])


_DATA: dict[str, object] = {}


def compared(name: str, kind: str, parameters, trials: int, most: int) -> tuple[float, float]:
    """The difference of the two mean errors, and its standard error, both over the mean with float noise."""
    mechanism = dpbench.mechanism(name, **parameters)
    known: dict[str, list[float]] = {"float": [], "exact": []}
    while True:
        done = len(known["float"])
        for offset, (form, found) in enumerate(known.items()):
            found += errors(mechanism, kind, form, range(offset * 10**6 + done, offset * 10**6 + trials)).tolist()
        one, other = (np.array(found) for found in known.values())
        if name in ("gaussian", "gaussian_sketch"):  # which draw more, by their own accounting
            data = _DATA[kind]
            other = other * mechanism.sigma(data, 0.3) / mechanism.sigma(data, 0.3, "exact")
        spread = math.hypot(one.std(ddof=1), other.std(ddof=1)) / math.sqrt(trials) / one.mean()
        if spread < 0.014 or trials >= most:
            return float(other.mean() / one.mean() - 1), spread
        trials = min(most, math.ceil(1.1 * trials * (spread / 0.014) ** 2))


@of_same_utility
def test_utility_is_about_that_of_float_noise(name, kind, parameters) -> None:
    difference, spread = compared(name, kind, parameters, 20, 20)
    assert abs(difference) <= ALARM * spread


@pytest.mark.slow
@of_same_utility
def test_utility_is_that_of_float_noise(name, kind, parameters) -> None:
    difference, spread = compared(name, kind, parameters, 400, 30_000)
    assert spread < 0.015, "too few trials to see 10 %"
    assert abs(difference) <= ALARM * spread


@pytest.mark.slow
def test_noise_a_tenth_too_large_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: every exact scale is 1.1 times what it should be."""
    from dpbench.privacy import exact

    right = exact._draw
    monkeypatch.setattr(exact, "_draw", lambda size, scale, words: right(size, 1.1 * scale, words))
    difference, spread = compared("lpa", "incidence", {}, 400, 30_000)
    assert difference > ALARM * spread
