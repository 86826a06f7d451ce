"""What a reading is: a choice for everything that a paper's text leaves open.

A reading is a point on the grid of ordinary parameters, so nothing of it is stored: `Reading.fits` says from the labels of a
setting whether the setting belongs to it. Settings that a reading does not touch belong to every reading.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dpbench.errors import unknown
from dpbench.model.setting import Value

DEFAULT, ALL = "default", "all"
JOINED = "+"
EPSILON = "epsilon"


@dataclass(frozen=True)
class AdmissibleValue:
    """One way to fill in what a text leaves open."""

    name: str
    because: str
    sets: Mapping[str, Value] = field(default_factory=dict)
    """Parameters, such as `mechanism.gs.scale_up`; the default value sets none."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """Metrics that are read in place of others, such as `kl_reverse` for `kl`. Both are stored, so nothing is run for it."""
    datasets: tuple[str, ...] = ()
    """The datasets on which it is admissible; empty: all. On the others the default stays."""


@dataclass(frozen=True)
class Unknown:
    """Something that a paper's text leaves open, with its admissible values."""

    name: str
    says: str
    """What the text says, and where."""
    default: str
    values: tuple[AdmissibleValue, ...]
    experiments: tuple[str, ...] = ()
    """The experiments in which it is open; empty: all that have the parameters."""

    def value(self, name: str) -> AdmissibleValue:
        """The admissible value of this name; UserError if there is none."""
        for value in self.values:
            if value.name == name:
                return value
        raise unknown(f"value of {self.name}", name, [value.name for value in self.values])

    def others(self) -> list[AdmissibleValue]:
        """All values but the default."""
        return [value for value in self.values if value.name != self.default]


@dataclass(frozen=True)
class Reading:
    """A choice for every unknown of a paper."""

    name: str
    """`default`, `UNKNOWN.VALUE`, several of these joined by `+`, or a name of its own."""
    choices: Mapping[str, str]
    """The chosen value of every unknown."""
    sets: Mapping[str, Value] = field(default_factory=dict)
    """The parameters that differ from the default reading."""
    others: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """What other readings set, by parameter."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """The metrics that are read in place of others."""
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The datasets on which a parameter is set, if not on all."""

    def fits(self, labels: Mapping[str, Any]) -> bool:
        """Whether a setting with these labels belongs to this reading. A label that is absent has its default value."""
        mine = {path: value for path, value in self.sets.items() if self._sets(path, labels)}
        for path, value in mine.items():
            if not _same(labels.get(_label(path, labels)), value):
                return False
        for path, values in self.others.items():
            label = _label(path, labels)
            if label and path not in mine and any(_same(labels.get(label), value) for value in values):
                return False
        return True

    def touches(self, labels: Mapping[str, Any]) -> bool:
        """Whether this reading sets a parameter of a setting with these labels. If not, other readings have it, too."""
        return any(self._sets(path, labels) for path in self.sets)

    def _sets(self, path: str, labels: Mapping[str, Any]) -> bool:
        return bool(_label(path, labels)) and labels.get("dataset") in self.only.get(path, (labels.get("dataset"),))

    def measure(self, text: str) -> str:
        """A measure with the metrics that this reading reads in place of others."""
        for old, new in self.metrics.items():
            text = re.sub(rf"\b{old}\(", f"{new}(", text)
        return text

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets that this reading changes, if not all."""
        restricted = [self.only.get(path) for path in self.sets]
        return tuple(dict.fromkeys(name for names in restricted if names for name in names)) if all(restricted) else ()


@dataclass(frozen=True)
class PrintedNumber:
    """A number that a paper prints, or a border that it states, and the claim whose measure is ours."""

    name: str
    claim: str
    """The id of the claim."""
    value: float
    low: float
    """The smallest number that is printed so; the lower end of a printed range."""
    high: float
    run: bool = False
    """Whether it comes from one run, not from an average: then it fits if a run at least as extreme is not unlikely."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """What it is about, in place of the claim's own cells; empty: as the claim."""
    measure: str = ""
    """What is compared with it, in place of the claim's own measure; empty: as the claim."""


@dataclass(frozen=True)
class PaperReadings:
    """The unknowns of one paper, and the readings that are worth a run."""

    paper: str
    unknowns: tuple[Unknown, ...] = ()
    joint: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Readings with a name of their own that choose values of several unknowns."""
    grids: tuple[tuple[str, ...], ...] = ()
    """Unknowns that are combined with each other in every way."""
    worlds: Mapping[str, str] = field(default_factory=dict)
    """What the text says about a dataset whose worlds differ in what it leaves open. conf/dataset has the worlds."""
    printed: tuple[PrintedNumber, ...] = ()
    """The numbers that the paper prints and that a reading should give."""
    sentences: tuple[str, ...] = ()
    """Ids of further claims that a reading should satisfy together with these numbers."""

    def unknown(self, name: str) -> Unknown:
        """The unknown of this name; UserError if there is none."""
        for one in self.unknowns:
            if one.name == name:
                return one
        raise unknown(f"unknown of {self.paper}", name, [one.name for one in self.unknowns])

    @property
    def names(self) -> list[str]:
        """The names of all readings: the default, each other value alone, the joint ones, and those of the grids."""
        single = [f"{one.name}.{value.name}" for one in self.unknowns for value in one.others()]
        return list(dict.fromkeys([DEFAULT, *single, *self.joint, *self._grid_names()]))

    def _grid_names(self) -> Iterator[str]:
        for grid in self.grids:
            values = [[None, *(f"{name}.{value.name}" for value in self.unknown(name).others())] for name in grid]
            for chosen in itertools.product(*values):
                yield JOINED.join(filter(None, chosen)) or DEFAULT

    def all(self) -> list[Reading]:
        """Every reading that `names` lists, the default first."""
        return [self.named(name) for name in self.names]

    def named(self, name: str) -> Reading:
        """The reading of this name; UserError if there is none."""
        chosen = self.joint.get(name)
        if chosen is None:
            chosen = {} if name == DEFAULT else dict(self._choice(part, name) for part in name.split(JOINED))
        values = [one.value(chosen.get(one.name, one.default)) for one in self.unknowns]
        choices = {one.name: value.name for one, value in zip(self.unknowns, values, strict=True)}
        others: dict[str, tuple[Value, ...]] = {}
        for one in self.unknowns:
            for value in one.others():
                for path, given in value.sets.items():
                    others[path] = (*others.get(path, ()), given)
        sets = {path: given for value in values for path, given in value.sets.items()}
        metrics = {old: new for value in values for old, new in value.metrics.items()}
        only = {path: value.datasets for value in values for path in value.sets if value.datasets}
        return Reading(name, choices, sets, others, metrics, only)

    def _choice(self, part: str, name: str) -> tuple[str, str]:
        """The unknown and its value, of `UNKNOWN.VALUE`."""
        for one in self.unknowns:
            if part.startswith(f"{one.name}.") and part not in (f"{one.name}.{one.default}",):
                return one.name, one.value(part.removeprefix(f"{one.name}.")).name
        raise unknown(f"reading of {self.paper}", name, self.names)

    def within(self, paths: Sequence[str], experiment: str = "") -> PaperReadings:
        """The same for an experiment in which only these parameters can be set: what touches nothing of it is left out."""
        unknowns = []
        for one in self.unknowns:
            if experiment and one.experiments and experiment not in one.experiments:
                continue
            values = [replace(value, sets={p: v for p, v in value.sets.items() if p in paths}) for value in one.values]
            kept = tuple(value for value in values if value.sets or value.metrics or value.name == one.default)
            if len(kept) > 1:
                unknowns.append(replace(one, values=kept))
        known = {one.name: {value.name for value in one.values} for one in unknowns}
        joint = {
            name: {key: value for key, value in chosen.items() if value in known.get(key, ())}
            for name, chosen in self.joint.items()
        }
        grids = tuple(tuple(name for name in grid if name in known) for grid in self.grids)
        return replace(
            self,
            unknowns=tuple(unknowns),
            joint={k: v for k, v in joint.items() if v},
            grids=tuple(filter(None, grids)),
        )

    @property
    def paths(self) -> list[str]:
        """Every parameter that some reading sets."""
        return list(dict.fromkeys(path for one in self.unknowns for value in one.values for path in value.sets))


def _label(path: str, labels: Mapping[str, Any]) -> str:
    """The label that a parameter has in the settings it belongs to: `mechanism.scale_up` of `mechanism.gs.scale_up`. Empty for
    the labels of another mechanism, dataset or task."""
    if path == EPSILON:
        return EPSILON
    group, name, parameter = path.split(".", 2)
    return f"{group}.{parameter}" if labels.get(group) == name else ""


def _same(label: Any, value: Value) -> bool:
    """Whether a label has this value. In a frame, NaN stands for an absent label; True is not 1."""
    if label is None or label != label:
        return value is None
    return bool(label == value) and isinstance(label, bool) == isinstance(value, bool)
