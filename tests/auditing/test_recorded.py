"""Classes that call OpenDP or diffprivlib, replayed: private ones hold, faults are found, and what is not recorded is said.

False alarms of the tests of samplers: 1e-9 each. The libraries draw from the system's randomness.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpbench import Incidence
from dpbench.auditing.judge import AuditedVariant, Options, findings
from dpbench.auditing.record_opendp import _Projection
from dpbench.auditing.recorded import Recorded
from dpbench.mechanisms.peers.base import load, missing

Way = Callable[[Incidence, float, np.random.Generator], Any]

pytestmark = pytest.mark.skipif(
    bool(missing("opendp") or missing("diffprivlib")), reason="a library is not installed, or does not work"
)


@dataclass(frozen=True)
class Own:
    way: Way
    privacy: str = "ε"
    delta: float = 1e-6
    bound: int = 3

    def release(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        return self.way(data, epsilon, rng)


def found(way: Way, privacy: str = "ε", libraries: tuple[str, ...] = ("numpy", "opendp", "diffprivlib")) -> Any:
    subject = AuditedVariant("own", Recorded(Own(way, privacy), libraries))
    (finding,) = findings([subject], Options(pairs=21, seconds=3))
    return finding


def machines() -> Any:
    load("diffprivlib")
    return importlib.import_module("diffprivlib.mechanisms")


def diffprivlib(name: str, sensitivity: float = 3, kind: type = float, **more: Any) -> Way:
    def release(data: Incidence, epsilon: float, rng: np.random.Generator) -> list[Any]:
        seed = int(rng.integers(2**32))
        machine = getattr(machines(), name)(epsilon=epsilon, sensitivity=sensitivity, random_state=seed, **more)
        return [machine.randomise(kind(count)) for count in data.counts]

    return release


def chosen(data: Incidence, epsilon: float, rng: np.random.Generator, times: int = 1) -> Any:
    scores = data.counts.tolist()
    machine = machines().Exponential(epsilon=epsilon, sensitivity=1, utility=scores, monotonic=True)
    return [machine.randomise() for _ in range(times)]


def after_choice(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
    """A fault behind one outcome of the choice."""
    (column,) = chosen(data, epsilon, rng)
    return column, int(data.counts[column]) if column == data.columns - 1 else 0


def opendp(scale: float = 3.0, number: type = int) -> Way:
    def release(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        dp: Any = load("opendp")
        atoms = dp.atom_domain(T=int) if number is int else dp.atom_domain(T=float, nan=False)
        space = dp.vector_domain(atoms), dp.l1_distance(T=number)
        return (space >> dp.m.then_laplace(scale=scale / epsilon))(data.counts.astype(number).tolist())

    return release


def chained(data: Incidence, epsilon: float, rng: np.random.Generator, times: int = 1) -> Any:
    """Counts of categories twice, each with half the budget, in one composition."""
    dp: Any = load("opendp")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    count = dp.t.make_count_by_categories(*space, categories=list(range(data.columns)), null_category=False)
    one = count >> dp.m.then_laplace(scale=6 / epsilon)
    return dp.c.make_composition([one] * (2 * times))(data.indices.tolist())


def opendp_gaussian(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
    dp: Any = load("opendp")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    made = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=9.0 / epsilon))
    return made(data.counts.tolist())


def alp(scale: float = 3.0) -> Way:
    def release(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        dp: Any = load("opendp")
        entries = dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int))
        distance = dp.l01inf_distance(dp.absolute_distance(T=int))
        made = dp.m.make_alp_queryable(entries, distance, scale=epsilon / scale, total_limit=500, value_limit=50)
        answers = made({column: int(n) for column, n in enumerate(data.counts) if n})
        return [answers(column) for column in range(data.columns)]

    return release


PRIVATE: dict[str, Way] = {
    "diffprivlib Laplace": diffprivlib("Laplace"),
    "diffprivlib truncated geometric": diffprivlib("GeometricTruncated", kind=int, lower=0, upper=20),
    "diffprivlib folded Laplace": diffprivlib("LaplaceFolded", lower=0, upper=20),
    "diffprivlib exponential": chosen,
    "OpenDP integers": opendp(),
    "OpenDP floats": opendp(number=float),
    "OpenDP chain in a composition": chained,
}
FAULTS: dict[str, Way] = {
    "diffprivlib Laplace, too little": diffprivlib("Laplace", 2.9),
    "diffprivlib geometric, too little": diffprivlib("Geometric", 2, int),
    "diffprivlib twice": lambda data, e, rng: [diffprivlib("Laplace")(data, e, rng) for _ in range(2)],
    "diffprivlib, its scale from the data": lambda data, e, rng: diffprivlib("Laplace", 3 + data.ones)(data, e, rng),
    "diffprivlib, an exact total": lambda data, e, rng: [*diffprivlib("Laplace")(data, e, rng), data.ones],
    "diffprivlib, bounds from the data": lambda data, e, rng: diffprivlib(
        "LaplaceTruncated", lower=0, upper=int(data.ones)
    )(data, e, rng),
    "diffprivlib, two choices": lambda data, e, rng: chosen(data, e, rng, 2),
    "diffprivlib, a leak after a choice": after_choice,
    "OpenDP, too little": opendp(2.9),
    "OpenDP twice": lambda data, e, rng: [opendp()(data, e, rng), opendp()(data, e, rng)],
    "OpenDP, four times in a composition": lambda data, e, rng: chained(data, e, rng, 2),
    "OpenDP, only non-zero counts": lambda data, e, rng: opendp()(data, e, rng)[: int((data.counts > 0).sum())],
}


@pytest.mark.parametrize("name", PRIVATE)
def test_private_classes_hold(name: str) -> None:
    finding = found(PRIVATE[name])
    assert (finding.method, finding.verdict, finding.pairs) == ("replay", "holds", 21), finding
    assert finding.loss == pytest.approx(1.0)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(name: str) -> None:
    assert found(FAULTS[name]).verdict == "violated"


def test_gaussian_noise_holds_with_its_delta() -> None:
    finding = found(opendp_gaussian, "(ε, δ)")
    assert (finding.method, finding.verdict) == ("replay", "holds")
    assert 0.5 < finding.loss < 1


def test_opendp_projection_holds_by_its_bound() -> None:
    finding = found(alp())
    assert (finding.method, finding.verdict, finding.at_most) == ("replay", "holds", True)
    assert 0.5 < finding.loss <= 1
    little = found(alp(2.0))
    assert (little.verdict, little.at_most) == ("inconclusive", True)
    assert little.loss > 1


@pytest.mark.parametrize(("one", "two"), [(0, 1), (1, 3), (2, 3), (5, 4)])
def test_the_bound_of_the_projection_is_the_worst_outcome(one: int, two: int) -> None:
    """All bits of one value without collisions, enumerated."""
    given = {"scale": 0.9, "alpha": 2, "total_limit": 9}
    laws = [_Projection({0: n}, given, lambda: None) for n in (one, two)]
    flip = 1 / 4

    def bits(value: int) -> dict[tuple[int, ...], float]:
        set_bits = value * 0.9 / 2
        chances = [flip + (1 - 2 * flip) * min(1.0, max(0.0, set_bits - place)) for place in range(4)]
        outcomes = itertools.product((0, 1), repeat=4)
        return {each: math.prod(p if b else 1 - p for p, b in zip(chances, each, strict=True)) for each in outcomes}

    first, second = bits(one), bits(two)
    worst = max(abs(math.log(first[each] / second[each])) for each in first)
    assert laws[0].bound(laws[1]) == pytest.approx(worst)
    assert worst <= 0.9 * abs(one - two)


def test_a_wrong_sampler_of_the_library_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machines().Laplace
    sampler = machine._laplace_sampler
    monkeypatch.setattr(machine, "_laplace_sampler", staticmethod(lambda *given: 0.8 * sampler(*given)))
    (finding,) = findings(
        [AuditedVariant("own", Recorded(Own(diffprivlib("Laplace")), ("diffprivlib",)))], Options(pairs=5)
    )
    assert finding.verdict == "violated"
    assert "does not have the distribution it states" in finding.reason


@pytest.mark.parametrize(
    ("way", "said"),
    [
        (diffprivlib("Snapping", lower=0, upper=9), "diffprivlib's `Snapping`"),
        (lambda data, e, rng: [*opendp()(data, e, rng), rng.random()], "`rng.random`"),
        (lambda data, e, rng: [*opendp()(data, e, rng), rng.integers(2**31)], "`rng.integers`"),
        (lambda data, e, rng: [*opendp()(data, e, rng), rng.integers(3)], "`rng.integers`"),
        (
            lambda data, e, rng: [*opendp()(data, e, rng), np.random.Generator(rng.bit_generator).random()],
            "`rng.bit_generator`",
        ),
    ],
    ids=["a mechanism", "numbers", "a seed that is not used", "a choice", "the bits"],
)
def test_what_is_not_recorded_is_said(way: Way, said: str) -> None:
    finding = found(way)
    assert finding.verdict == "inconclusive"
    assert said in finding.reason


def test_only_the_chosen_library_is_recorded() -> None:
    both = lambda data, e, rng: data.counts + rng.laplace(0, 3 / e, data.columns)  # noqa: E731
    finding = found(both, libraries=("opendp",))
    assert finding.verdict == "inconclusive"
    assert "replay cannot follow it" in finding.reason


def test_every_deviation_of_an_array_counts() -> None:
    """Little noise on the last column only."""

    def release(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        sigmas = np.full(data.columns, 30 / epsilon)
        sigmas[-1] = 0.01
        return data.counts + rng.normal(0, sigmas)

    assert found(release, "(ε, δ)").verdict == "violated"


def test_the_libraries_are_left_as_they_were() -> None:
    load("opendp")
    core = importlib.import_module("opendp.core")
    before = machines().Laplace.randomise, core.measurement_invoke
    found(lambda data, e, rng: 1 / 0)
    assert (machines().Laplace.randomise, core.measurement_invoke) == before
