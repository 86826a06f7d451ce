"""What a claim of a paper is, and where the paper expects its measure to lie. Plain types, imported by
whoever judges or shows claims.

`claims/ledger.py` reads claims from YAML and checks them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dpbench.errors import UserError

REPRODUCED, CONTRADICTED, OPEN, UNTESTABLE = "reproduced", "contradicted", "open", "not testable"
ON_READING, ON_DATA = "depends on the reading", "depends on the data"
ON_BOTH = "depends on reading and data"
BY_CONSTRUCTION = "by construction"
VERDICTS: Mapping[str, str] = {
    REPRODUCED: "it holds in every admissible reading and world that was tried",
    ON_READING: "it holds in some admissible readings of the text and fails in others",
    ON_DATA: "it holds in some worlds and fails in others",
    ON_BOTH: "it holds in some readings and worlds and fails in others, and both matter",
    CONTRADICTED: "it holds in no reading and no world that was tried, or fails on the original files or by proof",
    OPEN: "neither could be shown: too few trials, or a part is missing",
    BY_CONSTRUCTION: "the generator was given this number, so generated data says nothing about it",
    UNTESTABLE: "nothing that was run can test it",
}
ERRATUM = "erratum"
BASES = {
    "text": "the paper states it",
    "derived": "follows from the paper by algebra",
    "reconstruction": "the paper states it, but the measurement depends on a part that we had to reconstruct",
    ERRATUM: "the paper states it and is known to be wrong",
}
REPLAY = "audit by replay"
COMPUTATION = "computation, nothing measured"
ARITHMETIC = "arithmetic, nothing measured"
Quantity = Literal["loss", "sensitivity"]
Parameters = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Choice:
    """One mechanism with its parameters."""

    mechanism: str
    parameters: Parameters

    @property
    def labels(self) -> dict[str, Any]:
        return {"mechanism": self.mechanism, **dict(self.parameters)}


@dataclass(frozen=True)
class Replay:
    """What to audit for a claim."""

    choices: tuple[Choice, ...]
    epsilon: float
    pairs: int
    """Random pairs of neighbours per choice."""
    step: str = ""
    quantity: Quantity = "loss"
    kind: str = ""
    """Kind of data, if a mechanism accepts several; all of them by default."""


@dataclass(frozen=True)
class Region:
    """Where the paper expects a measure to lie: `< 1`, `between 0.3 % and 6 %`, `about 73 % within 20 %` of it."""

    text: str
    low: float
    high: float
    percent: bool

    @classmethod
    def parse(cls, text: str) -> Region:
        number = r"([-+]?[\d.]+(?:e[-+]?\d+)?) *(%?)"
        if match := re.fullmatch(rf"(<=|<|>=|>|=) *{number}", text):
            value, bound = _number(*match.group(2, 3)), match[1]
            low = {">": float(np.nextafter(value, np.inf)), ">=": value, "=": value}.get(bound, -np.inf)
            high = {"<": float(np.nextafter(value, -np.inf)), "<=": value, "=": value}.get(bound, np.inf)
        elif match := re.fullmatch(rf"between {number} and {number}", text):
            low, high = _number(match[1], match[2]), _number(match[3], match[4])
        elif match := re.fullmatch(rf"about {number} within {number}", text):
            value, off = _number(match[1], match[2]), _number(match[3], match[4])
            reach = abs(value) * off if match[4] else off
            low, high = value - reach, value + reach
        elif match := re.fullmatch(rf"about {number} within a factor {number}", text):
            value, factor = _number(match[1], match[2]), _number(match[3], match[4])
            if not factor > 0:
                raise UserError(f"expect: {text!r} is not valid: expected a factor above 0")
            low, high = value / factor, value * factor
        else:
            raise UserError(
                f"expect: {text!r} is not valid: expected `< 1`, `between 1 and 2` or `about 1 within 10 %`"
            )
        return cls(text, low, high, percent="%" in text.partition("within")[0])

    def judge(self, low: float, high: float) -> str:
        if self.low <= low and high <= self.high:
            return REPRODUCED
        return CONTRADICTED if high < self.low or low > self.high else OPEN

    @property
    def bounded(self) -> bool:
        """Whether it is about a printed number; a comparison has one border."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    def margin(self, value: float) -> float:
        """How far inside the region a value lies; negative outside."""
        return min(value - self.low, self.high - value)

    def show(self, value: float) -> str:
        """A number in the paper's unit."""
        if self.percent and np.isfinite(value):
            return f"{100 * value:.0f} %" if abs(value) >= 10 else f"{100 * value:.3g} %"
        if np.isinf(value):
            return "∞" if value > 0 else "-∞"
        if 1e3 <= abs(value) < 1e6:
            return f"{value:,.0f}"  # a size, whose last digit may be the point
        if 1e-3 <= abs(value) < 1e3 or value == 0:
            return f"{value:.4g}"
        if np.isnan(value):
            return "unknown"
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits}e{int(power)}"


def _number(digits: str, percent: str) -> float:
    try:
        return float(digits) / (100 if percent else 1)
    except ValueError:
        raise UserError(f"expect: {digits!r} is no number") from None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One sentence of a paper."""

    id: str
    paper: str
    place: str
    """Section, figure or table."""
    says: str
    """The claim, in our words."""
    basis: str = "text"
    experiment: str = ""
    """The experiment whose trials decide it; empty for an audit or arithmetic."""
    scale: str = "smoke"
    """Smallest scale at which it can be decided. If a smaller scale has data of the same size, that also decides it."""
    where: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default_factory=dict)
    """The values that the labels of its cells must have. It may be a list of alternatives, of which a cell must fit one.
    null stands for cells without that label: `l: [10, null]` also keeps mechanisms that have no l."""
    each: tuple[str, ...] = ()
    """The claim must hold for each value of these labels."""
    some: tuple[str, ...] = ()
    """The claim must hold for at least one value of these labels ("up to")."""
    audit: Replay | None = None
    """The audit that decides a claim about privacy; the measure is the loss, or the sensitivity, that it finds."""
    measure: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """Constants of the measure."""
    expect: str = ""
    original: str = ""
    """A dataset that must be read from its original files: generated data proves nothing here."""
    exact: bool = False
    """The measure has no noise: one trial decides."""
    made: bool = False
    """Generated data is fitted to this number: on it the claim tests the generator, on original files it tests the paper."""
    untestable: str = ""
    """Why it cannot be decided at all."""
    compute: str = ""
    """What decides a lemma or a formula: a computation of `formulas.py`, whose worst value is the measure."""
    certain: tuple[str, ...] = ()
    """Metrics of the measure without noise: if they are equal in all trials, that is their value."""
    also: tuple[str, ...] = ()
    """Further experiments, on original files of other datasets, that decide it too: each with a separate verdict."""
    also_where: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default_factory=dict)
    """The cells of those further experiments, which have other datasets; empty: as `where`."""
    copy_of: str = ""
    """The claim that this one repeats with a mechanism of ours instead of the paper's: shown, but not counted again."""
    same_as: str = ""
    """The claim that states the same fact: both are shown, and the fact is counted once, there."""
    ours: bool = False
    """Our own hypothesis or note, not a sentence of the paper: shown in a section of its own, never counted."""
    quote: str = ""
    """The paper's own words, where they are short."""
    by: str = ""
    """If it is contradicted: by what, in a sentence, such as "no world consistent with Table 2 gives it"."""
    because: str = ""
    """Where the borders of `expect` come from: the paper's rounding, the resolution of its figure, its wording."""
    set_after: bool = False
    """Whether the borders were set or changed after numbers had been seen."""
    note: str = ""

    @cached_property
    def region(self) -> Region:
        try:
            return Region.parse(self.expect)
        except UserError as error:
            raise UserError(f"claim {self.id}: {error}") from None

    @property
    def alternatives(self) -> tuple[Mapping[str, Any], ...]:
        """`where` as a list of alternatives, one of which a cell must fit."""
        return alternatives(self.where)

    @property
    def elsewhere(self) -> Claim:
        """The claim with the cells of the experiments in `also`, which may decide it too."""
        return dataclasses.replace(self, where=self.also_where, also_where={}) if self.also_where else self

    @property
    def datasets(self) -> set[str]:
        """The datasets that it names; empty if it is about all of its experiment."""
        if not all("dataset" in choice for choice in self.alternatives):
            return set()
        named = (choice["dataset"] for choice in self.alternatives)
        return {str(name) for given in named for name in (given if isinstance(given, list | tuple) else [given])}

    @property
    def axes(self) -> set[str]:
        """The labels for each value of which the claim must hold."""
        return {*self.each, *self.some, *re.findall(r"\bover=(\w+)", self.measure)}

    @property
    def counted(self) -> bool:
        """Whether it is a statement of the paper that no other claim makes. Known errata are counted apart."""
        return not (self.ours or self.copy_of or self.same_as)

    @property
    def decided_by(self) -> str:
        """What decides it: an experiment, an audit, or no measurement."""
        if self.experiment or self.untestable:
            return self.experiment
        if self.compute:
            return COMPUTATION
        return ARITHMETIC if self.audit is None else REPLAY


def alternatives(where: Any) -> tuple[Mapping[str, Any], ...]:
    """`where` of a claim as a list of alternatives."""
    return tuple(where) if isinstance(where, list | tuple) else (where,)
