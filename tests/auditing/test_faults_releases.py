"""What a user's release can hide: in its own class, in what it holds, in how it is shown, in errors and warnings, and behind a
secure generator. All are found, and releases that hide nothing hold."""

from __future__ import annotations

import collections
import dataclasses
import decimal
import functools
import math
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas
import pytest

from dpbench import Counts, Mechanism, Noise
from dpbench.auditing.values import as_bytes
from dpbench.data.release import PRIVATE
from dpbench.errors import UserError

from support.released import Planted, cases, must_be_found, verdicts

FOUND: list[type] = []
SAID: dict[type, str] = {}
HARMLESS: list[type] = []


def found(cls: type) -> type:
    FOUND.append(cls)
    return cls


def harmless(cls: type) -> type:
    HARMLESS.append(cls)
    return cls


@harmless
@dataclass(frozen=True, kw_only=True)
class Right(Mechanism):
    """The private mechanism that the others break."""

    bound: int = 3

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return self.made(data, self.noisy(data, epsilon, noise))

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return noise.laplace(data.counts, scale=self.bound / epsilon)

    def made(self, data: Any, noisy: Any) -> Any:
        return Counts(counts=noisy)


@dataclass(frozen=True, kw_only=True, eq=False)
class More(Counts):
    more: Any = None


@dataclass(frozen=True, kw_only=True)
class Extra(Right):
    """A release with a field of its own."""

    def made(self, data: Any, noisy: Any) -> Any:
        return More(counts=noisy, more=self.extra(data))

    def extra(self, data: Any) -> Any:
        return None


# Classes of releases that say what is public.


class SaysPrivate(More):
    @classmethod
    def private_fields(cls) -> dict[str, Any]:
        return {**super().private_fields(), "more": None}

    def publishable(self) -> Any:
        return self


class LeavesOut(More):
    numbers = ("counts", "edges", "more")

    def parts(self) -> Any:
        return {"counts": self.counts}


class Keeps(Counts):
    """A secure release keeps its diagnostics."""

    def publishable(self) -> Any:
        return self


class Shows(Counts):
    def __repr__(self) -> str:
        return f"Shows({self.diagnostics})"


class ShowsInNotebooks(Counts):
    def _repr_html_(self) -> str:
        return f"<b>{self.diagnostics}</b>"


class ShowsAsText(Counts):
    def _repr_markdown_(self) -> str:
        return f"**{self.diagnostics}**"


class Formats(Counts):
    def __format__(self, how: str) -> str:
        return str(self.diagnostics)


class Pickles(Counts):
    def __getstate__(self) -> Any:
        return dict(vars(self))


class Copies(Counts):
    def __reduce__(self) -> Any:
        return _again, (dict(self.diagnostics),)


def _again(diagnostics: Any) -> Any:
    return Counts(counts=np.zeros(1), diagnostics=diagnostics)


@dataclass(frozen=True, kw_only=True, eq=False)
class Memo(Counts):
    _memo: Any = None


class Cached(Counts):
    @cached_property
    def total(self) -> int:
        return 0


class Odd(Counts):
    pass


@found
class FieldCalledPrivate(Extra):
    def made(self, data: Any, noisy: Any) -> Any:
        return SaysPrivate(counts=noisy, more=data.ones)


@found
class FieldLeftOut(Extra):
    def made(self, data: Any, noisy: Any) -> Any:
        return LeavesOut(counts=noisy, more=np.array([data.ones]))


@dataclass(frozen=True, kw_only=True)
class Diagnosed(Right):
    """Diagnostics of a class that shows them."""

    def made(self, data: Any, noisy: Any) -> Any:
        return self.shown()(counts=noisy, diagnostics={"ones": int(data.ones)})

    def shown(self) -> type[Counts]:
        return Counts


for cls in (Keeps, Shows, ShowsInNotebooks, ShowsAsText, Formats, Pickles, Copies):
    found(type(f"Diagnosed{cls.__name__}", (Diagnosed,), {"shown": lambda self, cls=cls: cls}))
harmless(Diagnosed)


@found
class NamedLikeACache(Right):
    def made(self, data: Any, noisy: Any) -> Any:
        return Memo(counts=noisy, _memo=int(data.ones))


@found
class AttributeLikeACache(Right):
    def made(self, data: Any, noisy: Any) -> Any:
        release = Counts(counts=noisy)
        object.__setattr__(release, "_memo", int(data.ones))
        return release


@found
class CachedOtherwise(Right):
    """The stored result of a property is not what the property computes."""

    def made(self, data: Any, noisy: Any) -> Any:
        release = Cached(counts=noisy)
        vars(release)["total"] = int(data.ones)
        return release


# What numbers do not show.


@dataclass(frozen=True, kw_only=True)
class Choosing(Right):
    def made(self, data: Any, noisy: Any) -> Any:
        return Counts(counts=noisy, chosen=self.chosen(data))

    def chosen(self, data: Any) -> Any:
        return {}


@found
class LowBits(Choosing):
    def chosen(self, data: Any) -> Any:
        return {"token": 2**60 + int(data.ones)}


@found
class Order(Choosing):
    def chosen(self, data: Any) -> Any:
        return {"a": 1.0, "b": 2.0} if data.ones % 2 else {"b": 2.0, "a": 1.0}


@found
class Types(Choosing):
    def chosen(self, data: Any) -> Any:
        return {"a": 1.0 if data.ones % 2 else 1}


@found
class ByClass(Right):
    def made(self, data: Any, noisy: Any) -> Any:
        return (Odd if data.ones % 2 else Counts)(counts=noisy)


@found
class ByShape(Right):
    def made(self, data: Any, noisy: Any) -> Any:
        return Counts(counts=noisy, edges=noisy.reshape((1, -1) if data.ones % 2 else (-1, 1)))


@found
class ViewOfMore(Right):
    """Beyond the end of a view are the exact counts."""

    def made(self, data: Any, noisy: Any) -> Any:
        return Counts(counts=np.concatenate([noisy, data.counts.astype(float)])[: noisy.size])


# What objects hold.


class Thing:
    def __init__(self, value: Any) -> None:
        self.value = value

    def tell(self) -> Any:
        return self.value


class Text(str):
    pass


def with_attribute(ones: int) -> Text:
    text = Text("text")
    text.ones = ones  # type: ignore[attr-defined]
    return text


def deep(ones: Any) -> Any:
    for _ in range(40):
        ones = [ones]
    return ones


HOLDING: dict[str, Any] = {
    "a closure": lambda ones: lambda: ones,
    "a default": lambda ones: lambda given=ones: given,
    "a partial function": lambda ones: functools.partial(int, ones),
    "a method": lambda ones: Thing(ones).tell,
    "a generator": lambda ones: (ones for _ in range(1)),
    "an iterator": lambda ones: iter([ones]),
    "a class": lambda ones: type("Made", (), {"ones": ones}),
    "a decimal number": decimal.Decimal,
    "a range": range,
    "a queue": lambda ones: collections.deque([ones]),
    "a dict with a default": lambda ones: collections.defaultdict(functools.partial(int, ones)),
    "a mask": lambda ones: np.ma.masked_array(np.arange(2.0), mask=[ones % 2 == 0, False]),
    "the index of a table": lambda ones: pandas.DataFrame({"a": [1.0]}, index=[ones]),
    "the name of a column": lambda ones: pandas.DataFrame({f"a{ones}": [1.0]}),
    "deep inside": deep,
    "the attribute of a text": with_attribute,
    "the state of a generator": np.random.default_rng,
    "the metadata of a type": lambda ones: np.zeros(1, dtype=np.dtype("f8", metadata={"ones": ones})),
    "many digits": lambda ones: np.longdouble(1) + np.longdouble(ones) * np.longdouble(1e-18),
}


@dataclass(frozen=True, kw_only=True)
class Holding(Extra):
    what: str = ""

    def extra(self, data: Any) -> Any:
        return HOLDING[self.what](int(data.ones))


# Errors, warnings and printed texts.


@found
class FailsInWords(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        if data.columns == 5:
            raise ValueError("odd" if data.ones % 2 else "even")
        return super().noisy(data, epsilon, noise)


class FailsAtLargeBudgets(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        if epsilon > 5:
            raise UserError(f"holds {data.ones} ones")
        return super().noisy(data, epsilon, noise)


SAID[FailsAtLargeBudgets] = "replay cannot follow it (publish: it fails on a pair: UserError: holds"


@found
class UnfitRaises(Right):
    def unfit(self, data: Any) -> str:
        raise ValueError(f"{data.ones} ones")


@found
class RefusalRaises(Right):
    def refusal(self, data: Any, epsilon: float) -> str:
        if data.ones > 5:
            raise KeyError("many")
        return ""


@found
class Warns(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        if (data.counts > 2).any():
            warnings.warn("a count is larger than 2", stacklevel=2)
        return super().noisy(data, epsilon, noise)


@found
class Prints(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        print("rows:", data.indptr.size - 1, file=sys.stderr)
        return super().noisy(data, epsilon, noise)


@found
class BudgetOfZcdp(Right):
    def zcdp(self, data: Any, epsilon: float) -> float:
        return epsilon**2 / 2 / (1 + int(data.ones))


# Behind a secure generator.


@found
class NoSecureNoise(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return data.counts.astype(float) if noise.secure else super().noisy(data, epsilon, noise)


@found
class LittleSecureNoise(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        return noise.laplace(data.counts, scale=self.bound / epsilon / (3 if noise.secure else 1))


@found
class NoNoiseUnlessSecure(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        exact_and_seeded = noise.form == "exact" and "system" not in noise.randomness
        return noise.laplace(data.counts, scale=self.bound / epsilon / (3 if exact_and_seeded else 1))


@found
class SecureWithASeed(Right):
    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        drawn = Noise(np.random.default_rng(5), "exact") if noise.secure else noise
        return drawn.laplace(data.counts, scale=self.bound / epsilon)


# Distributions of independent parts.


@dataclass(frozen=True, eq=False)
class Bits:
    """Each bit is the true one with a chance; another is stated."""

    bits: Any
    chance: float
    states: float = 0.5

    def stated(self, chance: float) -> Any:
        return np.where(self.bits, chance, 1 - chance)

    def draw(self, rng: np.random.Generator) -> Any:
        return (rng.random(self.bits.size) < self.stated(self.chance)).astype(int)

    def independent(self) -> Any:
        return np.column_stack([1 - self.stated(self.states), self.stated(self.states)])

    def outcomes(self) -> Iterator[Any]:
        raise NotImplementedError("too many outcomes")

    def log_probability(self, outcome: Any) -> float:
        return float(np.log(self.independent()[np.arange(len(outcome)), outcome]).sum())


@found
class PartsDrawnOtherwise(Right):
    chance = 0.9

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        bits = np.resize(data.counts % 2, 20).astype(bool)
        return Counts(counts=noise.draw(Bits(bits, self.chance)).astype(float))


@found
class PartsDrawnSlightlyOtherwise(PartsDrawnOtherwise):
    chance = 0.53


@harmless
class PartsDrawnAsStated(PartsDrawnOtherwise):
    chance = 0.5


# Nothing is hidden here.


@harmless
class FromTheNoisy(Right):
    """Everything else is computed from noisy counts."""

    def made(self, data: Any, noisy: Any) -> Any:
        release = Shown(counts=noisy, more={"largest": noisy.max(initial=0.0), "table": pandas.Series(noisy)})
        object.__setattr__(release, "total", noisy.sum())
        return release


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown(More):
    exact: Any = dataclasses.field(default=None, repr=False, metadata=PRIVATE)

    @cached_property
    def doubled(self) -> Any:
        return 2 * self.counts

    def __repr__(self) -> str:
        return f"Shown({self.counts.sum():.3f})"

    def _repr_html_(self) -> str:
        return f"<p>{self.doubled.tolist()}</p>"


@harmless
class WithAStudy(Right):
    """A private field, as studies need it: never handed over."""

    def made(self, data: Any, noisy: Any) -> Any:
        return Shown(counts=noisy, exact=data.counts, more=Thing(float(noisy.sum())))


@harmless
class SaysTheSame(Right):
    """A constant warning and a constant refusal of some public shapes."""

    def noisy(self, data: Any, epsilon: float, noise: Noise) -> Any:
        warnings.warn("a prototype", stacklevel=2)
        print("releasing", data.columns, "columns")
        if data.columns == 4:
            raise UserError("four columns are not supported")
        return super().noisy(data, epsilon, noise)


FAULTS = [
    *(Planted(cls.__name__, lambda patch, cls=cls: cls(), quick=True) for cls in FOUND),
    *(Planted(what, lambda patch, what=what: Holding(what=what), quick=True) for what in HOLDING),
    *(Planted(cls.__name__, lambda patch, cls=cls: cls(), said=SAID[cls], quick=True) for cls in SAID),
]


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_what_a_release_hides_is_found(fault: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    must_be_found(fault, monkeypatch)


@pytest.mark.parametrize("cls", HARMLESS)
def test_releases_that_hide_nothing_hold(cls: type) -> None:
    (finding,) = verdicts(cls())
    assert finding.verdict == "holds", finding


def test_equal_values_give_equal_bytes() -> None:
    """Also objects that hold themselves, and numbers with gaps in their bytes."""
    loop: list[Any] = [1]
    loop.append(loop)
    again: list[Any] = [1]
    again.append(again)
    alike = [
        (loop, again),
        (Thing(np.arange(3)), Thing(np.arange(3))),
        (np.longdouble(1) / 3, np.longdouble(1) / 3),
        (pandas.DataFrame({"a": [1, 2]}), pandas.DataFrame({"a": [1, 2]})),
        ({3, 1, 2}, {2, 1, 3}),
        (math.nan, math.nan),
        (np.arange(6)[::2], np.arange(6)[::2]),
        (object(), object()),
    ]
    for one, other in alike:
        assert as_bytes(one) == as_bytes(other), one
    different = [(0.0, -0.0), (1, True), (1, 1.0), ([1], (1,)), (np.float32(1), np.float64(1)), ([], [[]]), (b"a", "a")]
    for one, other in different:
        assert as_bytes(one) != as_bytes(other), one
