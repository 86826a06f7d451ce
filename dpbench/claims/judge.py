"""Whether the stored trials bear out what the papers say.

A verdict compares a 95 % interval of a claim's measure with the region where the paper expects it. Intervals are about
the mechanisms' noise: the data are one fixed draw. Claims of privacy need no trials: `privacy.py` decides them. Imports the
ledger and the frame; the verbs and the report import it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.claims.cells import Cell, cells_of
from dpbench.claims.expression import Missing, Scope, evaluate, fits
from dpbench.claims.ledger import CONTRADICTED, INCONCLUSIVE, REPRODUCED, UNTESTABLE, Claim, Region
from dpbench.claims.privacy import by_audit
from dpbench.claims.verdicts import RANK, Group, Verdict, describe
from dpbench.config import catalogue
from dpbench.config.schema import SCALES
from dpbench.errors import UserError
from dpbench.results import commands, frame
from dpbench.results.run import DatasetUse, Run

CONFIDENCE = 0.95


class Judge:
    """Decides claims from the stored trials of one results folder; reads each experiment once."""

    def __init__(self, results: Path, scale: str | None = None) -> None:
        self.results = results
        self.each = Run.each(results, scale)
        """By label: a run on original files stands beside the one on generated data."""
        newest = sorted(self.each.values(), key=lambda run: run.written)
        self.runs = {run.name: run for run in newest if run.name == run.experiment}
        """The newest run of each experiment. Variations and ad-hoc runs, which have other names, decide no claim."""
        self._cells: dict[str, list[Cell]] = {}

    def run_for(self, claim: Claim) -> Run | None:
        """The run that decides a claim: the newest of its experiment, with the original files that the claim needs."""
        run = self.runs.get(claim.experiment)
        if run is None or not claim.original or claim.original in run.original_datasets:
            return run
        fits = [r for r in self.each.values() if r.name == run.name and claim.original in r.original_datasets]
        return max(fits, key=lambda r: r.written, default=run)

    def cells(self, experiment: str) -> list[Cell]:
        """The cells of an experiment's newest run: with their trials, or without any where none is stored yet."""
        return self._cells_of(self.runs[experiment])

    def _cells_of(self, run: Run) -> list[Cell]:
        # By name what `runs` has, by label what stands beside it.
        key = run.name if self.runs.get(run.name) is run else run.label
        if key not in self._cells:
            trials = frame.trials(run)
            found = cells_of(trials) if not trials.empty else []
            known = {cell.id for cell in found}
            planned = {s.id: s.labels() for s in run.settings if s.id not in known}
            self._cells[key] = [*found, *(Cell(name, labels, {}) for name, labels in planned.items())]
        return self._cells[key]

    def remarks(self, experiment: str) -> list[str]:
        """What one must know of an experiment's run: that it is not as defined, or not finished."""
        trials = {cell.id: cell.trials for cell in self.cells(experiment)}
        return commands.remarks(self.runs[experiment], sum(trials.values()))

    def unfinished(self, experiment: str) -> bool:
        """Whether trials of an experiment are missing: never run, run in part or otherwise, or interrupted."""
        if (run := self.runs.get(experiment)) is None or run.altered:
            return True
        stored = {cell.id: cell for cell in self.cells(experiment)}
        for key, values in _axes(experiment).items():
            for value in values:
                if not any(fits(Cell(s.id, s.labels(), {}), {key: value}) for s in run.settings):
                    return True
        return any(s.id not in stored or stored[s.id].trials < run.repetitions for s in run.settings)

    def verdict(self, claim: Claim) -> Verdict:
        return replace(self._verdict(claim), results=self.results)

    def _verdict(self, claim: Claim) -> Verdict:
        if claim.untestable:
            return Verdict(claim, UNTESTABLE, claim.untestable)
        if claim.audit is not None:
            return by_audit(claim, claim.audit)
        if not claim.experiment:
            return self._decide(claim, Scope([], claim.numbers), "", [])
        run = self.run_for(claim)
        if run is None:
            return Verdict(claim, UNTESTABLE, f"{claim.experiment} was not run")
        scale = run.scale
        if claim.original and claim.original not in run.original_datasets:
            where = f"dataset.{claim.original}.path=FOLDER"
            return Verdict(claim, UNTESTABLE, f"needs the original files: {where}", scale=scale)
        cells = self._cells_of(run)
        if not any(cell.values for cell in cells):
            return Verdict(claim, UNTESTABLE, f"{claim.experiment} has no finished trials", scale=scale)
        cells, lacking = _of_the_paper(claim, cells)
        small = _too_small(run, claim)
        large = [cell for cell in cells if cell.labels.get("dataset") not in small]
        concerned = {str(cell.labels["dataset"]) for cell in _about(claim, cells) if "dataset" in cell.labels}
        if concerned and concerned <= small:
            return Verdict(claim, UNTESTABLE, f"needs scale={claim.scale}, was run at {scale}", scale=scale)
        if concerned & small:
            lacking.append(f"{', '.join(sorted(concerned & small))}: needs scale={claim.scale}")
        found = self._decide(claim, Scope(large, claim.numbers), scale, lacking, made=_generated(run, concerned))
        if run.altered and found.verdict != UNTESTABLE:
            reason = f"{found.verdict} by a run that is not as defined ({'; '.join(run.altered)})"
            return replace(found, verdict=INCONCLUSIVE, reason=reason)
        return found

    def _decide(self, claim: Claim, scope: Scope, scale: str, lacking: list[str], made: bool = False) -> Verdict:
        """`lacking`: what the claim is about too, but could not be measured in this run."""
        try:
            found, holes = _measure(claim, scope)
        except Missing as problem:
            return Verdict(claim, UNTESTABLE, "; ".join([str(problem), *lacking]), scale=scale)
        except UserError as error:
            raise UserError(f"claim {claim.id}: {error}") from None
        trials = min((cell.trials for cell in scope.used.values()), default=0)
        groups = tuple(_group(claim.region, labels, draws, len(found)) for labels, draws in found)
        if trials == 1 and not claim.exact:
            reason = "one trial gives no interval"
            return Verdict(claim, INCONCLUSIVE, reason, groups, groups[0], scale, trials)
        order: Callable[[Group], Any] = lambda g: (RANK[g.verdict], claim.region.margin(g.value))  # noqa: E731
        decider = max(groups, key=order) if claim.some else min(groups, key=order)
        lacking = lacking + holes
        if lacking and decider.verdict != (REPRODUCED if claim.some else CONTRADICTED):
            reason = f"{decider.verdict} where it could be tested; {'; '.join(lacking)}"
            return Verdict(claim, INCONCLUSIVE, reason, groups, decider, scale, trials)
        reason = "the data are generated, and fitted to this" if claim.made and made else ""
        return Verdict(claim, decider.verdict, reason, groups, decider, scale, trials)


def _of_the_paper(claim: Claim, cells: list[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells on the datasets and budgets that the experiment itself has, and what the run left out of the claim's.

    Without the first, a claim about every dataset would be about those that a user added; without the second, the one
    that was run would decide it.
    """
    named = {key for choice in claim.alternatives for key in choice}
    axes = {key: values for key, values in _axes(claim.experiment).items() if key not in named}
    kept = [cell for cell in cells if fits(cell, axes)]
    wanted = {key: values for key, values in axes.items() if key in claim.axes}
    lists = [(key, value) for choice in (*claim.alternatives, wanted) for key, value in choice.items()]
    gone = [
        f"{key}={value}: not in this run"
        for key, values in lists
        if isinstance(values, list)
        for value in values
        if value is not None and not any(fits(cell, {key: value}) for cell in kept)
    ]
    return kept, list(dict.fromkeys(gone))


@functools.cache
def _axes(experiment: str) -> dict[str, list[Any]]:
    """The datasets and budgets of an experiment, as its YAML and those it builds upon give them."""
    own = catalogue.axes(experiment)
    found: dict[str, list[Any]] = {"dataset": list(own.datasets), "epsilon": list(own.epsilons)}
    return {key: values for key, values in found.items() if values}


def _generated(run: Run, datasets: set[str]) -> bool:
    return any(not dataset.original for name, dataset in run.datasets.items() if name in datasets)


def _about(claim: Claim, cells: list[Cell]) -> list[Cell]:
    """The cells that a claim is about."""
    try:
        return Scope(cells).any_of(claim.alternatives).cells if cells else []
    except Missing:
        return []


def _too_small(run: Run, claim: Claim) -> set[str]:
    """The datasets of a run that are not of the size which the claim's scale gives them; original files always are."""
    if SCALES.index(run.scale) >= SCALES.index(claim.scale):
        return set()
    return {
        name for name, dataset in run.datasets.items() if not dataset.original and not _has_size(dataset, claim.scale)
    }


def _has_size(dataset: DatasetUse, scale: str) -> bool:
    if dataset.name not in catalogue.options("dataset"):
        return False
    sizes = catalogue.dataset(dataset.name).sizes.get(scale, {})
    return all(
        dataset.params.get(key) in (value if isinstance(value, list) else [value]) for key, value in sizes.items()
    )


def _measure(claim: Claim, scope: Scope) -> tuple[list[tuple[dict[str, Any], np.ndarray]], list[str]]:
    """The measure's draws in every group that has what it needs, and what the others lack."""
    if claim.experiment:
        scope = scope.any_of(claim.alternatives)
    axes = claim.each or claim.some
    if not axes:
        return [({}, evaluate(claim.measure, scope))], []
    found, holes = [], []
    for labels in scope.groups(axes):
        try:
            found.append((labels, evaluate(claim.measure, scope.where(labels))))
        except Missing as missing:
            holes.append(f"{describe(labels)}: {missing}")
    if not found:
        raise Missing(holes[0].partition(": ")[2] if holes else f"no cell has {' and '.join(axes)}")
    return found, holes


def _group(region: Region, labels: dict[str, Any], draws: np.ndarray, groups: int) -> Group:
    """Intervals of several groups hold together: each gets its share of the error (Bonferroni)."""
    value = float(draws[0])
    if not np.isfinite(value):
        return Group(labels, value, -np.inf, np.inf, INCONCLUSIVE)
    tail = (1 - CONFIDENCE) / groups / 2
    rest = draws[1:] if np.ptp(draws) > 0 else draws[:1]
    # One of the draws, none between two: some may be infinite.
    low, high = (float(q) for q in np.nanquantile(rest, [tail, 1 - tail], method="nearest"))
    return Group(labels, value, low, high, region.judge(low, high))
