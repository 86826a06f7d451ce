"""The readings and worlds in which a claim is judged, and the one verdict that follows from all of them.

A reading is an admissible choice for what the text leaves open; a world is one stand-in for a dataset. One unknown is changed
at a time: a case has one reading, and at most one dataset in another world than its default. Imported by the judge.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dpbench.claims.cells import CellTrials
from dpbench.claims.expression import ERROR
from dpbench.config import catalogue
from dpbench.config.readings import of_experiment, readings
from dpbench.model.claim import (
    BY_CONSTRUCTION,
    CONTRADICTED,
    ERRATUM,
    ON_BOTH,
    ON_DATA,
    ON_READING,
    OPEN,
    REPRODUCED,
    Claim,
)
from dpbench.model.reading import DEFAULT, PaperReadings, Reading
from dpbench.model.verdict import RANK, Case, Evidence, Group, Verdict
from dpbench.model.world import LABEL, World, default_of
from dpbench.sources import cards

FITTED = "generated data was given this number"
ALONE = "one stand-in cannot contradict a printed number: how far stand-ins differ is not known from one"


@dataclass(frozen=True)
class Assumed:
    """The cells of a run in one reading and in one choice of worlds."""

    read: Reading
    changed: tuple[str, str] | None
    """The dataset and its world, if one is not in its default world."""
    cells: Sequence[CellTrials]

    @property
    def reading(self) -> str:
        return self.read.name

    def asked(self, claim: Claim) -> Claim:
        """The claim with the metrics that the reading reads."""
        certain = tuple(self.read.metrics.get(name, name) for name in claim.certain)
        return replace(claim, measure=self.read.measure(claim.measure), certain=certain)

    def world_of(self, dataset: str) -> str:
        """The world in which a dataset is here; empty if it has no worlds."""
        if self.changed and self.changed[0] == dataset:
            return self.changed[1]
        return default_of(worlds_of(dataset).values())

    @property
    def world(self) -> str:
        return ": ".join(self.changed) if self.changed else DEFAULT


@functools.cache
def readings_of(experiment: str) -> PaperReadings:
    """The readings that change something in an experiment."""
    paper = experiment.partition("/")[0]
    known = experiment in catalogue.options("experiment")
    return of_experiment(experiment, paper=_paper(paper)) if known else PaperReadings(paper)


_paper = functools.cache(readings)


@functools.cache
def worlds_of(dataset: str) -> Mapping[str, World]:
    """The worlds of a dataset by name; none if it has no YAML, or no worlds."""
    return catalogue.dataset(dataset).worlds if dataset in catalogue.options("dataset") else {}


@functools.cache
def has_original(dataset: str) -> bool:
    """Whether a dataset stands in for another one. Data that a paper draws itself does not."""
    card = cards.load(dataset)
    return not card.title or bool(card.publisher or card.page or card.files)


def assumed(
    claim: Claim, experiment: str, about: Sequence[CellTrials], cells: Sequence[CellTrials]
) -> Iterator[Assumed]:
    """Every reading and world that a run holds cells of, the defaults first. `about`: the cells that the claim is about."""
    changed = [
        (dataset, world)
        for dataset, world in dict.fromkeys((_dataset(cell), _world(cell)) for cell in about if cell.values)
        if world
    ]
    for reading in readings_of(experiment).all():
        other_metric = reading.measure(claim.measure) != claim.measure
        if reading.name != DEFAULT and not other_metric and not any(_held(reading, cell) for cell in about):
            continue
        read = [cell for cell in cells if reading.fits(cell.labels)]
        for change in (None, *changed):
            kept = [
                cell for cell in read if _world(cell) == (change[1] if change and change[0] == _dataset(cell) else "")
            ]
            yield Assumed(reading, change, kept)


def untried(experiment: str, about: Sequence[CellTrials]) -> tuple[str, ...]:
    """The admissible readings that would change a cell of a claim, and of which this run has none."""
    return tuple(
        reading.name
        for reading in readings_of(experiment).all()
        if reading.name != DEFAULT
        and any(reading.touches(cell.labels) for cell in about)
        and not any(_held(reading, cell) for cell in about)
    )


def unread(claim: Claim) -> tuple[str, ...]:
    """The admissible readings that would change something that a claim names, for a record of the default reading alone."""
    words = f"{claim.measure} {claim.where}"

    def named(path: str) -> bool:
        group, _, rest = path.partition(".")
        name = rest.partition(".")[0]
        return not name or group not in words or re.search(rf"\b{re.escape(name)}\b", words) is not None

    found = readings_of(claim.experiment).all()
    return tuple(
        reading.name
        for reading in found
        if any(map(named, reading.sets)) or reading.measure(claim.measure) != claim.measure
    )


def _held(reading: Reading, cell: CellTrials) -> bool:
    return bool(cell.values) and reading.touches(cell.labels) and reading.fits(cell.labels)


def _dataset(cell: CellTrials) -> str:
    return str(cell.labels.get("dataset", ""))


def _world(cell: CellTrials) -> str:
    return str(cell.labels.get(LABEL) or "")


def given(claim: Claim, datasets: Sequence[str], case: Assumed) -> bool:
    """Whether a claim is true by construction in a case: the world of one of its datasets was made to give its number."""
    worlds = (worlds_of(dataset).get(case.world_of(dataset)) for dataset in datasets)
    return claim.made or any(world is not None and world.was_given(claim.id) for world in worlds)


def evidence_of(datasets: Sequence[str], cases: Sequence[Case]) -> Evidence:
    """What generated data of these datasets is worth: all worlds of each, or not."""
    seen = {case.world for case in cases}
    for dataset in datasets:
        worlds = worlds_of(dataset)
        default = default_of(worlds.values())
        if has_original(dataset) and len(worlds) < 2:
            return Evidence.STAND_IN
        if any(f"{dataset}: {name}" not in seen for name in worlds if name != default):
            return Evidence.STAND_IN
    return Evidence.WORLDS if datasets else Evidence.STAND_IN


def can_contradict(claim: Claim, evidence: Evidence) -> bool:
    """Whether this evidence is enough against a claim. A printed number may miss one stand-in: the original data is another one.
    What is known as an erratum is argued in its note, and counted apart."""
    return evidence is not Evidence.STAND_IN or claim.basis == ERRATUM or not claim.region.bounded


def combined(claim: Claim, judged: Sequence[Verdict], evidence: Evidence) -> Verdict:
    """One verdict from those of several cases, each with one entry in `cases`."""
    if evidence is Evidence.FILES and len(judged) == 1:
        return replace(judged[0], evidence=evidence)
    cases = tuple(case for one in judged for case in one.cases)
    free = [one for one in judged if one.verdict != BY_CONSTRUCTION]
    if not free:
        return replace(judged[0], cases=cases, evidence=evidence)
    if claim.region.bounded:
        free = _across_worlds(claim, free)
    found = {(one.cases[0].reading, one.cases[0].world): one for one in free}
    word, reason = _word(found)
    if word == CONTRADICTED and not can_contradict(claim, evidence):
        word, reason = OPEN, ALONE
    shown = _representative(claim, word, list(found.values()))
    if word == shown.verdict:
        reason = reason or shown.reason
    return replace(shown, verdict=word, reason=reason, cases=cases, evidence=evidence)


def _across_worlds(claim: Claim, judged: Sequence[Verdict]) -> list[Verdict]:
    """A printed number, judged over the range that the worlds span: one verdict per reading.

    It is reproduced if a world gives it, or if one world is certainly not above it and another certainly not below. It is
    contradicted if all worlds lie on one side of it.
    """
    merged = []
    for reading in dict.fromkeys(one.cases[0].reading for one in judged):
        mine = [one for one in judged if one.cases[0].reading == reading]
        if len(mine) == 1 or any(not one.groups for one in mine):
            merged += mine
            continue
        by_labels: dict[str, list[Group]] = {}
        for group in (group for one in mine for group in one.groups):
            by_labels.setdefault(str(group.labels), []).append(group)
        groups = [_spanned(claim, same) for same in by_labels.values()]
        order = lambda g: (RANK[g.verdict], claim.region.margin(g.value))  # noqa: E731
        decider = (max if claim.some else min)(groups, key=order)
        low, high = (pick(end) for pick, end in ((min, [g.low for g in groups]), (max, [g.high for g in groups])))
        span = f"the intervals of all worlds span {claim.region.show(low)} to {claim.region.show(high)}"
        reason = span if len(groups) == 1 else ""
        error = max(one.error for one in mine)
        closest = replace(mine[0], verdict=decider.verdict, groups=tuple(groups), decider=decider)
        merged.append(replace(closest, reason=reason or mine[0].reason, error=error))
    return merged


def _spanned(claim: Claim, groups: Sequence[Group]) -> Group:
    """The range over worlds of the measure in one group of settings."""
    region = claim.region
    low, high = min(group.low for group in groups), max(group.high for group in groups)
    if any(group.verdict == OPEN and region.judge(group.low, group.high) != OPEN for group in groups):
        verdict = OPEN  # too few trials
    elif min(group.high for group in groups) <= region.high and max(group.low for group in groups) >= region.low:
        verdict = REPRODUCED
    else:
        verdict = CONTRADICTED if low > region.high or high < region.low else OPEN
    closest = max(groups, key=lambda group: region.margin(group.value))
    return Group(groups[0].labels, closest.value, low, high, verdict)


def _word(found: Mapping[tuple[str, str], Verdict]) -> tuple[str, str]:
    """The verdict over cases by reading and world, with a reason.

    Cases that disagree need a correction, because among many cases some are wrong by chance: each side must be firm. Where all
    cases agree, none is needed.
    """
    words = {one.verdict for one in found.values()}
    if len(words) == 1:
        return words.pop(), ""
    sides = {word: _firm(found, word) for word in (REPRODUCED, CONTRADICTED)}
    holds, fails = sides[REPRODUCED], sides[CONTRADICTED]
    if not (holds and fails):
        count = sum(one.verdict == OPEN for one in found.values())
        return (
            OPEN,
            f"open in {count} of {len(found)} cases" if count else "the cases disagree, and none is firm enough",
        )
    by_reading = any(a[1] == b[1] for a in holds for b in fails)
    by_world = any(a[0] == b[0] for a in holds for b in fails)
    if by_reading == by_world:
        return ON_BOTH, ""
    return (ON_READING if by_reading else ON_DATA), ""


def _firm(found: Mapping[tuple[str, str], Verdict], word: str) -> list[tuple[str, str]]:
    """The cases with a verdict that are not all wrong, with the usual error: k of n cases must have at most k / n of it (Simes).

    This holds for cases that depend on each other as those do that share trials.
    """
    errors = sorted((one.error, key) for key, one in found.items() if one.verdict == word)
    enough = [k for k, (error, _) in enumerate(errors, 1) if error <= ERROR * k / len(found)]
    return [key for _, key in errors[: max(enough, default=0)]]


def _representative(claim: Claim, word: str, judged: Sequence[Verdict]) -> Verdict:
    """The case that is shown: the one that comes closest to another verdict, or the default one where cases disagree."""
    same = [one for one in judged if one.verdict == word and one.decider is not None]
    if not same:
        return judged[0]
    sign = -1 if word == CONTRADICTED else 1
    return min(same, key=lambda one: sign * claim.region.margin(one.decider.value if one.decider else 0.0))
