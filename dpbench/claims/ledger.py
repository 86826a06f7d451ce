"""The ledger of claims: what the papers say, as data. One YAML per paper in conf/claims. Reads no results.

A claim names its experiment, a measure over the results (`expression.py`) and what the paper expects. A claim about privacy
names an audit instead (`replays.py`). A claim about a lemma or a formula names a computation
(`formulas.py`). Both need no results.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.claims.expression import parse
from dpbench.claims.formulas import COMPUTATIONS
from dpbench.claims.replays import BadAudit, Replay, read_audit
from dpbench.claims.scope import choices
from dpbench.config import catalogue
from dpbench.config.catalogue import SCALES
from dpbench.errors import UserError, one_of, unknown

REPRODUCED, CONTRADICTED = "reproduced", "contradicted"
INCONCLUSIVE, UNTESTABLE = "inconclusive", "not testable"
VERDICTS = (REPRODUCED, CONTRADICTED, INCONCLUSIVE, UNTESTABLE)
BASES = {
    "text": "the paper states it",
    "derived": "follows from the paper by algebra",
    "reconstruction": "the paper states it, but the measurement depends on a part that we had to reconstruct",
    "erratum": "the paper states it and is known to be wrong",
}


REPLAY = "audit by replay"
COMPUTATION = "computation, nothing measured"
ARITHMETIC = "arithmetic, nothing measured"


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
        if found := re.fullmatch(rf"(<=|<|>=|>|=) *{number}", text):
            value, bound = _number(*found.group(2, 3)), found[1]
            low = {">": float(np.nextafter(value, np.inf)), ">=": value, "=": value}.get(bound, -np.inf)
            high = {"<": float(np.nextafter(value, -np.inf)), "<=": value, "=": value}.get(bound, np.inf)
        elif found := re.fullmatch(rf"between {number} and {number}", text):
            low, high = _number(found[1], found[2]), _number(found[3], found[4])
        elif found := re.fullmatch(rf"about {number} within {number}", text):
            value, off = _number(found[1], found[2]), _number(found[3], found[4])
            reach = abs(value) * off if found[4] else off
            low, high = value - reach, value + reach
        elif found := re.fullmatch(rf"about {number} within a factor {number}", text):
            value, factor = _number(found[1], found[2]), _number(found[3], found[4])
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
        return CONTRADICTED if high < self.low or low > self.high else INCONCLUSIVE

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
    because: str = ""
    """Where the borders of `expect` come from: the paper's rounding, the resolution of its figure, its wording."""
    set_after: bool = False
    """Whether the borders were set or changed after numbers had been seen."""
    note: str = ""

    def __post_init__(self) -> None:
        one_of(f"claim {self.id}: basis", self.basis, BASES)
        one_of(f"claim {self.id}: scale", self.scale, SCALES)
        self._check_where("where", self.where)
        self._check_where("also_where", self.also_where)
        if self.also_where and not self.also:
            raise UserError(f"claim {self.id}: also_where has no effect without `also`")
        for number, value in self.numbers.items():
            if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e300:
                raise UserError(f"claim {self.id}: numbers: {number}={value!r} is not valid: expected a number")
        if self.each and self.some:
            raise UserError(f"claim {self.id}: give `each` or `some`, not both")
        if self.audit is not None:
            idle = [
                f.name for f in dataclasses.fields(self) if f.name in _RUNS and getattr(self, f.name) != _RUNS[f.name]
            ]
            if idle:
                raise UserError(f"claim {self.id}: {idle[0]} has no effect beside `audit`")
            if not self.expect:
                raise UserError(f"claim {self.id}: needs `expect` beside `audit`")
            _ = self.region
        elif self.compute:
            if self.compute not in COMPUTATIONS:
                raise UserError(f"claim {self.id}: {unknown('computation', self.compute, COMPUTATIONS)}")
            if idle := [f for f in _RUNS if getattr(self, f) != _RUNS[f]]:
                raise UserError(f"claim {self.id}: {idle[0]} has no effect beside `compute`")
            if not self.expect:
                raise UserError(f"claim {self.id}: needs `expect` beside `compute`")
            _ = self.region
        elif not self.untestable:
            if not self.measure or not self.expect:
                raise UserError(f"claim {self.id}: needs `measure` and `expect`, or `untestable` with the reason")
            _ = self.region
            try:
                parse(self.measure)
            except UserError as error:
                raise UserError(f"claim {self.id}: {error}") from None

    def _check_where(self, key: str, given: Any) -> None:
        for choice in _alternatives(given):
            if not isinstance(choice, Mapping):
                raise UserError(f"claim {self.id}: {key}={given!r} is not valid: expected labels, or a list of such")
            for label, wanted in choice.items():
                if not all(value is None or isinstance(value, str | int | float) for value in choices(wanted)):
                    raise UserError(
                        f"claim {self.id}: {key} {label}={wanted!r} is not valid: expected words or numbers"
                    )

    @cached_property
    def region(self) -> Region:
        try:
            return Region.parse(self.expect)
        except UserError as error:
            raise UserError(f"claim {self.id}: {error}") from None

    @property
    def alternatives(self) -> tuple[Mapping[str, Any], ...]:
        """`where` as a list of alternatives, one of which a cell must fit."""
        return _alternatives(self.where)

    @property
    def elsewhere(self) -> Claim:
        """The claim with the cells of the experiments in `also`, which may decide it too."""
        return dataclasses.replace(self, where=self.also_where, also_where={}) if self.also_where else self

    @property
    def axes(self) -> set[str]:
        """The labels for each value of which the claim must hold."""
        return {*self.each, *self.some, *re.findall(r"\bover=(\w+)", self.measure)}

    @property
    def evidence(self) -> str:
        """What decides it: an experiment, an audit, or no measurement."""
        if self.experiment or self.untestable:
            return self.experiment
        if self.compute:
            return COMPUTATION
        return ARITHMETIC if self.audit is None else REPLAY


def _alternatives(where: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(where) if isinstance(where, list | tuple) else (where,)


# Keys of a claim about runs, with their defaults: they have no effect together with an audit.
_RUNS: dict[str, Any] = {
    "experiment": "",
    "scale": "smoke",
    "where": {},
    "each": (),
    "some": (),
    "measure": "",
    "numbers": {},
    "original": "",
    "exact": False,
    "made": False,
    "untestable": "",
    "certain": (),
    "also": (),
    "also_where": {},
}


def ledger(papers: list[str] | None = None, folder: Path | None = None) -> list[Claim]:
    """All claims of some papers (default: all, and the user's own), in the order of their files."""
    files = catalogue.claims(folder)
    for paper in papers or []:
        if paper not in files:
            raise unknown("paper", paper, files)
    claims = []
    for paper, path in files.items():
        if not papers or paper in papers:
            document = catalogue.read(path)
            if not isinstance(document.body, dict):
                raise UserError(f"{path}: expected claims by name")
            claims += [_claim(paper, str(name), entry, document) for name, entry in document.body.items()]
    return claims


# The types of a claim's values; those not listed are text.
_TYPES: dict[str, tuple[type, ...]] = {
    "where": (dict, list),
    "also_where": (dict, list),
    "each": (str, list),
    "some": (str, list),
    "audit": (dict,),
    "numbers": (dict,),
    "exact": (bool,),
    "made": (bool,),
    "set_after": (bool,),
    "certain": (str, list),
    "also": (str, list),
}
_EXPECTED = {dict: "keys and values", list: "a list", str: "a text", bool: "true or false"}


def _claim(paper: str, name: str, entry: Any, document: catalogue.Document) -> Claim:
    valid = [f.name for f in dataclasses.fields(Claim) if f.name not in ("id", "paper")]
    at = ""  # the key that is wrong, if known
    try:
        if not isinstance(entry, dict):
            raise UserError(f"{entry!r} is not a claim: expected {', '.join(valid[:2])} and so on")
        for at, value in entry.items():
            if at not in valid:
                raise unknown("key", at, valid)
            if not isinstance(value, _TYPES.get(at, (str,))):
                expected = " or ".join(_EXPECTED[kind] for kind in _TYPES.get(at, (str,)))
                raise UserError(f"{at}={value!r} is not valid: expected {expected}")
        at = ""
        if missing := [key for key in ("place", "says") if key not in entry]:
            raise UserError(f"needs `{'` and `'.join(missing)}`: where a paper says it, and what it says")
        given = dict(entry)
        if "audit" in given:
            given["audit"] = read_audit(given["audit"])
        for key in ("each", "some", "certain", "also"):
            value = given.get(key, [])
            given[key] = tuple(map(str, [value] if isinstance(value, str) else value))
        return Claim(id=f"{paper}/{name}", paper=paper, **given)
    except BadAudit as error:
        raise UserError(f"claim {paper}/{name}: {error} ({document.place(name, 'audit', error.key)})") from None
    except UserError as error:
        told = str(error).removeprefix(f"claim {paper}/{name}: ")
        at = at or next((key for key in valid if re.match(rf"(cannot read the )?{key}\b", told)), "")
        raise UserError(f"claim {paper}/{name}: {told} ({document.place(name, at)})") from None
