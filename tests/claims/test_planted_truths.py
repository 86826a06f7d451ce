"""How often a verdict is right or open where the truth is planted: comparisons, the best of many groups, numbers, cases.

The truth lies at the border, where a wrong verdict is most likely, and the errors are the worst that mechanisms have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from claims.test_cases import READINGS, WORLDS

from dpbench.claims import cases
from dpbench.claims.cells import CellTrials
from dpbench.model.claim import CONTRADICTED, ON_DATA, ON_READING, OPEN, REPRODUCED, Claim

from support.verdicts import Stored, claim

Draw = Callable[[np.random.Generator, int], np.ndarray]


def squared(rng: np.random.Generator, n: int) -> np.ndarray:
    """The square of one Laplace draw, with a mean of 1: the longest tail of a mechanism's error."""
    return rng.laplace(size=n) ** 2 / 2


def disasters(rng: np.random.Generator, n: int) -> np.ndarray:
    """One trial in twenty is thirty times worse; the mean is 1."""
    return (1 + 29 * (rng.random(n) < 0.05)) * rng.uniform(0.9, 1.1, n) / 2.45


def two_values(rng: np.random.Generator, n: int) -> np.ndarray:
    """0.25 or, in one trial in ten, 7.75; the mean is 1."""
    return np.where(rng.random(n) < 0.1, 7.75, 0.25)


@dataclass(frozen=True)
class Planted:
    """A claim, the cells that it is judged on, and the verdict that would be wrong."""

    claim: Claim
    cells: Callable[[np.random.Generator, int], list[CellTrials]]
    wrong: frozenset[str]


def one(draw: Draw) -> Callable[[np.random.Generator, int], list[CellTrials]]:
    return lambda rng, n: [CellTrials("a", {"dataset": "none"}, {"mae": draw(rng, n)})]


def expected(rng: np.random.Generator, n: int) -> list[CellTrials]:
    """Expected values of two mechanisms, skewed by the choices before the last noise; both means are 1."""
    return [
        CellTrials(
            name, {"dataset": "none", "mechanism": name}, {"mae": rng.gamma(4, 0.25, n)}, expected=frozenset({"mae"})
        )
        for name in "ab"
    ]


def ratio(draw: Draw) -> Callable[[np.random.Generator, int], list[CellTrials]]:
    return lambda rng, n: [
        CellTrials(name, {"dataset": "none", "mechanism": name}, {"mae": draw(rng, n)}) for name in "ab"
    ]


def groups(draw: Draw, count: int) -> Callable[[np.random.Generator, int], list[CellTrials]]:
    return lambda rng, n: [
        CellTrials(f"c{w}", {"dataset": "none", "w": w}, {"mae": draw(rng, n)}) for w in range(count)
    ]


def in_cases(means: tuple[float, ...]) -> Callable[[np.random.Generator, int], list[CellTrials]]:
    """By reading and world, as in `test_cases.grid`."""
    names = [("", ""), ("", "heavy"), ("mean", ""), ("mean", "heavy")]

    def make(rng: np.random.Generator, n: int) -> list[CellTrials]:
        found = []
        for (reading, world), mean in zip(names, means, strict=True):
            labels = {"dataset": "one", "mechanism": "gs"} | ({"dataset.world": world} if world else {})
            labels |= {"mechanism.scale_up": reading} if reading else {}
            found.append(CellTrials(f"{reading}/{world}", labels, {"mae": mean * squared(rng, n)}))
        return found

    return make


def planted(
    expect: str, cells: Callable[[np.random.Generator, int], list[CellTrials]], *wrong: str, **more: object
) -> Planted:
    return Planted(claim(measure=more.pop("measure", "mae()"), expect=expect, **more), cells, frozenset(wrong))  # type: ignore[arg-type]


JUST_BELOW = "< 0.99999"
"""The mean of 1 lies just outside: to reproduce it is wrong."""
RATIO = "mae(mechanism=a) / mae(mechanism=b)"
KINDS = {
    "a comparison that fails": planted(JUST_BELOW, one(squared), REPRODUCED),
    "a comparison that holds": planted("< 1.00001", one(squared), CONTRADICTED),
    "a ratio that fails": planted(JUST_BELOW, ratio(squared), REPRODUCED, measure=RATIO),
    "a ratio that holds": planted("< 1.00001", ratio(squared), CONTRADICTED, measure=RATIO),
    "a ratio of expected values": planted(JUST_BELOW, expected, REPRODUCED, measure=RATIO),
    "some of five, and none does": planted(JUST_BELOW, groups(squared, 5), REPRODUCED, some=("w",)),
    "some of forty, and none does": planted(JUST_BELOW, groups(squared, 40), REPRODUCED, some=("w",)),
    "some of forty above": planted("> 1.00001", groups(squared, 40), REPRODUCED, some=("w",)),
    "each of forty, and all do": planted("< 1.00001", groups(squared, 40), CONTRADICTED, each=("w",)),
    "each of forty above": planted("> 0.99999", groups(squared, 40), CONTRADICTED, each=("w",)),
    "a printed number": planted("between 0.5 and 0.99999", one(squared), REPRODUCED),
    "two values": planted(JUST_BELOW, one(two_values), REPRODUCED),
    "rare disasters": planted(JUST_BELOW, one(disasters), REPRODUCED),
    "a ratio of rare disasters": planted(JUST_BELOW, ratio(disasters), REPRODUCED, measure=RATIO),
    "rare disasters below the line": planted("> 1.00001", ratio(disasters), REPRODUCED, measure=RATIO),
    "rare disasters in some of forty": planted(JUST_BELOW, groups(disasters, 40), REPRODUCED, some=("w",)),
    "rare disasters in each of forty": planted("< 1.00001", groups(disasters, 40), CONTRADICTED, each=("w",)),
    "no case holds": planted(JUST_BELOW, in_cases((1, 1, 1, 1)), REPRODUCED, ON_READING, ON_DATA),
    "every case holds": planted("< 1.00001", in_cases((1, 1, 1, 1)), CONTRADICTED, ON_READING, ON_DATA),
    "one reading holds": planted("< 1", in_cases((0.3, 0.3, 3, 3)), REPRODUCED, CONTRADICTED, ON_DATA),
    "one world holds": planted("< 1", in_cases((0.3, 3, 0.3, 3)), REPRODUCED, CONTRADICTED, ON_READING),
    "worlds on one side of a number": planted(
        "between 0.5 and 0.99999", in_cases((1, 2, 1, 2)), REPRODUCED, ON_READING
    ),
}


@pytest.fixture(autouse=True)
def open_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "readings_of", lambda experiment: READINGS)
    monkeypatch.setattr(cases, "worlds_of", lambda dataset: WORLDS if dataset == "one" else {})


def right_or_open(kind: str, trials: int, samples: int) -> tuple[float, float]:
    """The shares of samples whose verdict is not wrong, and of those that are open."""
    case = KINDS[kind]
    rng = np.random.default_rng([trials, len(kind), 28])
    words = [Stored(case.cells(rng, trials)).verdict(case.claim).verdict for _ in range(samples)]
    return np.mean([word not in case.wrong for word in words]), np.mean([word == OPEN for word in words])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "forty" not in kind])
def test_few_verdicts_are_wrong_in_a_few_samples(kind: str) -> None:
    """With 5 % of wrong verdicts, more than 3 of 15 have a probability of 0.5 %."""
    assert right_or_open(kind, 5, 2) == (1, 1), "five trials decide nothing"
    assert right_or_open(kind, 60, 15)[0] >= 0.8


def test_many_groups_need_more_trials() -> None:
    """Twenty trials are too few for forty intervals that hold together: a sixth of the verdicts was wrong."""
    for kind in (kind for kind in KINDS if "forty" in kind):
        assert right_or_open(kind, 50, 1) == (1, 1)


def test_verdicts_are_not_right_because_they_are_always_open() -> None:
    for expect, wanted in (("< 3", REPRODUCED), ("< 0.3", CONTRADICTED)):
        rng = np.random.default_rng(3)
        found = [
            Stored(one(squared)(rng, 200)).verdict(claim(measure="mae()", expect=expect)).verdict for _ in range(20)
        ]
        assert found == [wanted] * 20


@pytest.mark.slow
@pytest.mark.parametrize("trials", [5, 8, 20, 40, 58, 60, 120, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_few_verdicts_are_wrong(kind: str, trials: int) -> None:
    assert right_or_open(kind, trials, 400)[0] >= 0.93
