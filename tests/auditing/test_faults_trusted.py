"""Users' classes that override what an audit could trust: each is found, or the verdict says what could not be followed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import dpbench
from dpbench import Counts, Mechanism, Noise
from dpbench.privacy import Cost, RandomStep

from support.released import Planted, cases, must_be_found, verdicts


@dataclass(frozen=True, kw_only=True)
class Right(Mechanism):
    """The private mechanism that the others break."""

    bound: int = 3

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return Counts(counts=self.noisy(data, epsilon, noise))

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return noise.laplace(data.counts, scale=self.bound / epsilon)


class Bare(Right):
    """No noise at all; `stepwise` returns another mechanism."""

    def stepwise(self) -> Mechanism:
        return dpbench.mechanism("lpa", bound=self.bound)

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return data.counts


class HalfNoise(Bare):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return noise.laplace(data.counts, scale=self.bound / epsilon / 2)


class Private(Right):
    """Private, with a `stepwise` of its own: not a plain "holds"."""

    def stepwise(self) -> Mechanism:
        return dpbench.mechanism("lpa", bound=self.bound)


class UnfitLeaks(Right):
    def unfit(self, data: Any) -> str:
        return super().unfit(data) or ("the first column is empty" if data.columns and data.counts[0] == 0 else "")


class UnfitTells(Right):
    def unfit(self, data: Any) -> str:
        return f"holds {data.ones} ones" if data.ones > 3 else ""


class RefusalLeaks(Right):
    def refusal(self, data: Any, epsilon: float) -> str:
        return "too few ones" if data.ones < 4 else ""


class RefusalTells(Right):
    def refusal(self, data: Any, epsilon: float) -> str:
        return f"{data.ones} ones"


class RefusalAtSmallBudgets(Right):
    def refusal(self, data: Any, epsilon: float) -> str:
        return f"{data.ones} ones" if epsilon < 0.5 else ""


class NoExactNoise(Right):
    """Publishes without noise where the noise is exact."""

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return data.counts if noise.form == "exact" else super().noisy(data, epsilon, noise)


class LittleExactNoise(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return noise.laplace(data.counts, scale=self.bound / epsilon / (2 if noise.form == "exact" else 1))


class ExactTies(Right):
    """In the exact form, equal noisy counts are put in the order of the true ones."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        noisy = self.noisy(data, epsilon, noise)
        order = np.lexsort((data.counts, noisy)) if noise.form == "exact" else np.argsort(noisy, kind="stable")
        return Counts(counts=noisy, chosen={"largest": float(order[-1]) if order.size else -1.0})


# Releases with more than the known fields.


@dataclass(frozen=True, kw_only=True, eq=False)
class More(Counts):
    more: Any = None


class Long(Right):
    """A long array in a field: its repr is truncated."""

    def extra(self, data: Any) -> Any:
        return np.concatenate([np.zeros(3000), data.counts, np.zeros(3000)])

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return More(counts=self.noisy(data, epsilon, noise), more=self.extra(data))


class Nested(Long):
    def extra(self, data: Any) -> Any:
        return {"a": [({"b": data.ones},)]}


class Hidden:
    """An object whose repr says nothing."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Hidden"


class InObject(Long):
    def extra(self, data: Any) -> Any:
        return Hidden(int(data.ones))


class InSlots:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "InSlots"


class Slotted(Long):
    def extra(self, data: Any) -> Any:
        return InSlots(int(data.ones))


class ByType(Long):
    def extra(self, data: Any) -> Any:
        return 3 if data.ones % 2 else np.int64(3)


class ByOrder(Long):
    def extra(self, data: Any) -> Any:
        return {"a": 1, "b": 2} if data.ones % 2 else {"b": 2, "a": 1}


class ByDtype(Long):
    def extra(self, data: Any) -> Any:
        return np.zeros(2, dtype=np.int64 if data.ones % 2 else np.float64)


class Attribute(Right):
    """An attribute that no field declares."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        release = super().publish(data, epsilon, noise)
        object.__setattr__(release, "total", int(data.ones))
        return release


class NotARelease(Right):
    """An object of its own, whose `published()` does not show everything."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        own = Hidden(int(data.ones))
        noisy = self.noisy(data, epsilon, noise)
        own.published = lambda: noisy  # type: ignore[attr-defined]
        return own


# Distributions and steps that state what is not so.


@dataclass(frozen=True, eq=False)
class Coin:
    """0 or 1; a row moves the chance. What it states and what it draws can differ."""

    chance: float
    states: float
    bounded: bool = False

    def draw(self, rng: np.random.Generator) -> int:
        return int(rng.random() < self.chance)

    def log_probability(self, outcome: int) -> float:
        return math.log(self.states if outcome else 1 - self.states)

    def outcomes(self) -> Iterator[int]:
        return iter((0, 1))


class Bounding(Coin):
    """Cannot be listed, and states that it costs nothing."""

    def bound(self, other: Any) -> float:
        return 0.0

    def outcomes(self) -> Iterator[int]:
        raise NotImplementedError("too many outcomes")


class Drawing(Right):
    def law(self, data: Any, epsilon: float) -> Any:
        return Coin(0.9 if data.ones % 2 else 0.1, 0.5)

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return Counts(counts=np.zeros(1), chosen={"coin": float(noise.draw(self.law(data, epsilon)))})


class DrawsOtherwise(Drawing):
    """Draws slightly otherwise than it states."""

    def law(self, data: Any, epsilon: float) -> Any:
        return Coin(0.53, 0.5)


class StatesABound(Drawing):
    def law(self, data: Any, epsilon: float) -> Any:
        return Bounding(0.9 if data.ones % 2 else 0.1, 0.5)


class AddsUpToLess(Drawing):
    """States a probability for each outcome that never adds up to one."""

    def law(self, data: Any, epsilon: float) -> Any:
        law = Coin(0.5, 0.5)
        return dataclasses.replace(law, states=0.5) if not data.ones % 2 else Lossy(0.5, 0.5)


class Lossy(Coin):
    def log_probability(self, outcome: int) -> float:
        return math.log(0.45)


@dataclass(frozen=True, eq=False)
class FreeStep(RandomStep, kind="free test step"):
    """A kind of step that states to cost nothing."""

    values: Any

    def parameters(self) -> Mapping[str, Any]:
        return {}

    def draw(self, rng: np.random.Generator) -> Any:
        return self.values + rng.laplace(0, 1e-6, self.values.shape)

    def draw_exact(self, words: Any) -> Any:
        return self.values

    @classmethod
    def cost(cls, values: Any, others: Any, parameters: Any) -> Cost:
        return Cost()


class Free(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return noise.take(FreeStep(data.counts.astype(float)))


# Generators of their own.


class OwnGenerator(Right):
    """Private, with numpy's noise: replay has nothing to follow."""

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return data.counts + np.random.default_rng().laplace(0, self.bound / epsilon, data.columns)


class OwnSeed(Right):
    """Noise from a fixed seed."""

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return data.counts + np.random.default_rng(5).laplace(0, self.bound / epsilon, data.columns)


class OwnLittle(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return data.counts + np.random.default_rng().laplace(0, self.bound / epsilon / 3, data.columns)


class FromStream(Right):
    """Noise from a stream, which is for choices that cost no budget."""

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return data.counts + noise.stream("mine").laplace(0, self.bound / epsilon / 4, data.columns)


@dataclass(frozen=True, kw_only=True)
class Remembers(Right):
    """State between releases: the second release has noise of the first one's budget."""

    scales: dict[str, float] = field(default_factory=dict, compare=False)

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return noise.laplace(data.counts, scale=self.scales.setdefault("scale", self.bound / epsilon))


class Memo(Right):
    """A memo of the data that is keyed without ε."""

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return noise.laplace(data.counts, scale=data.memo("scale of mine", lambda: self.bound / epsilon))


class OwnRelease(Right):
    """Does more in `release` than in `publish`."""

    def release(self, data: Any, epsilon: float, rng: Any, *given: Any, **more: Any) -> Any:
        release = super().release(data, epsilon, rng, *given, **more)
        return dataclasses.replace(release, chosen={"ones": float(data.ones)})


BYPASSES = "its noise bypasses `noise`"
BREAKING = [
    *(Bare, HalfNoise, UnfitLeaks, UnfitTells, RefusalLeaks, RefusalTells, RefusalAtSmallBudgets),
    *(NoExactNoise, LittleExactNoise, Long, Nested, InObject, Slotted, ByType, ByOrder, ByDtype),
    *(
        Attribute,
        NotARelease,
        Drawing,
        DrawsOtherwise,
        OwnSeed,
        OwnLittle,
        FromStream,
        Remembers,
        Memo,
        OwnRelease,
        AddsUpToLess,
    ),
]
SAID = {
    Private: "its own `stepwise`",
    StatesABound: "the bound of draw, which Bounding states itself",
    Free: "the cost of free test step",
    OwnGenerator: BYPASSES,
    ExactTies: "replay cannot follow it",  # the releases show too little of it
}
QUICK = (
    Bare,
    UnfitLeaks,
    RefusalTells,
    NoExactNoise,
    Long,
    Attribute,
    DrawsOtherwise,
    Memo,
    Private,
    StatesABound,
    Free,
)
FAULTS = [
    Planted(cls.__name__, lambda patch, cls=cls: cls(), said=SAID.get(cls, ""), quick=cls in QUICK)
    for cls in [*BREAKING, *SAID]
]


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_what_could_be_trusted_is_not(fault: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    must_be_found(fault, monkeypatch)


def test_the_right_one_holds() -> None:
    (found,) = verdicts(Right())
    assert (found.verdict, found.forms) == ("holds", "float, exact"), found
