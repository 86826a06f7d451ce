"""Finds the runs that can decide a claim, and gets a verdict from each.

A claim may have several kinds of evidence: generated data, original files of a dataset, further experiments on files. Each
gives a separate verdict: the claim is judged in every reading and world that the run holds (`decide.py`), and these are
combined (`cases.py`). Claims about privacy and arithmetic need no trials. Imports the ledger and the frame; imported by the
verbs and the report.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbench.claims.cases import FITTED, assumed, combined, evidence_of, given, untried
from dpbench.claims.cells import CellTrials, cells_of
from dpbench.claims.decide import by_audit, by_computation, decide
from dpbench.claims.original_files import of_the_papers
from dpbench.claims.recorded import recorded
from dpbench.claims.scope import MissingResults, Scope, fits
from dpbench.config import catalogue
from dpbench.config.schema import SCALES
from dpbench.model.claim import BY_CONSTRUCTION, OPEN, UNTESTABLE, Claim
from dpbench.model.run import Dataset, Run
from dpbench.model.verdict import Case, Evidence, Verdict
from dpbench.paths import RECORD
from dpbench.storage import commands, frame

DECIDED = {UNTESTABLE: 0, OPEN: 1}
"""How much a verdict decides; any other verdict decides more."""


class Judge:
    """Decides claims from the stored trials of one results folder; reads each run once."""

    def __init__(
        self, results: Path, scale: str | None = None, record: Path | None = RECORD, *, audit: bool = False
    ) -> None:
        """`record`: the folder of recorded verdicts, used for what was not run; None: use none. `audit`: make the audits of the
        record anew where the code has changed since; otherwise its answers are shown, and say so."""
        self.results, self.record, self.audit = results, record, audit
        self.each = Run.each(results, scale)
        """Runs by label: a run on original files has another label than the same experiment on generated data."""
        newest = sorted(self.each.values(), key=lambda run: run.written)
        self.runs = {run.name: run for run in newest if run.name == run.experiment}
        """The newest run of each experiment. Variations and ad-hoc runs have other names and decide no claim."""
        self._cells: dict[str, list[CellTrials]] = {}

    def run_for(self, claim: Claim) -> Run | None:
        """The run that decides a claim: the newest of its experiment, with the original files that the claim needs."""
        run = self.runs.get(claim.experiment)
        if run is None or not claim.original or claim.original in run.original_datasets:
            return run
        fits = [r for r in self.each.values() if r.name == run.name and claim.original in r.original_datasets]
        return max(fits, key=lambda r: r.written, default=run)

    def cells(self, experiment: str) -> list[CellTrials]:
        """The cells of an experiment's newest run: with their trials, or without if none is stored yet."""
        return self._cells_of(self.runs[experiment])

    def _cells_of(self, run: Run) -> list[CellTrials]:
        # `runs` by name, other runs of the experiment by label.
        key = run.name if self.runs.get(run.name) is run else run.label
        if key not in self._cells:
            trials = frame.trials(run)
            cells = cells_of(trials) if not trials.empty else []
            known = {name for cell in cells for name in cell.stored}
            planned = {s.id: s.labels() for s in run.settings if s.id not in known}
            self._cells[key] = [*cells, *(CellTrials(name, labels, {}) for name, labels in planned.items())]
        return self._cells[key]

    def remarks(self, experiment: str) -> list[str]:
        """Remarks about an experiment's run: that it is not as defined, or not finished."""
        return commands.remarks(self.runs[experiment], sum(self._stored(experiment).values()))

    def _stored(self, experiment: str) -> dict[str, int]:
        """How many trials are stored, by the id of the setting."""
        return {name: trials for cell in self.cells(experiment) for name, trials in cell.stored.items()}

    def unfinished(self, experiment: str) -> bool:
        """Whether trials of an experiment are missing: never run, run in part or otherwise, or interrupted."""
        if (run := self.runs.get(experiment)) is None or run.altered:
            return True
        stored = self._stored(experiment)
        for key, values in _axes(experiment).items():
            for value in values:
                if not any(fits(CellTrials(s.id, s.labels(), {}), {key: value}) for s in run.settings):
                    return True
        return any(stored.get(s.id, 0) < run.repetitions_of(s) for s in run.settings)

    def verdict(self, claim: Claim) -> Verdict:
        """The verdict of the strongest evidence, with the other verdicts beside it."""
        verdict = replace(self._verdict(claim), results=self.results)
        if not claim.experiment or claim.untestable:
            return verdict
        beside = self._on_files(claim, self.run_for(claim))
        others = [replace(other, results=self.results) for _, other in beside]
        # Original files of all the claim's datasets are better evidence than generated data. Files of only some of them are
        # shown beside the verdict. So are other experiments, unless they use the paper's own data of exactly these datasets.
        concerned = claim.datasets or {str(g.labels["dataset"]) for g in verdict.groups if "dataset" in g.labels}
        whole = [
            other
            for (name, _), other in zip(beside, others, strict=True)
            if (name == claim.experiment and concerned and concerned <= set(other.files))
            or (claim.datasets == set(other.files) and all(map(of_the_papers, other.files)))
        ]
        if verdict.verdict == UNTESTABLE:  # files of the paper's datasets decide; others are only shown beside
            whole = whole or [
                other for (name, _), other in zip(beside, others, strict=True) if name == claim.experiment
            ]
        others += self._on_generated(claim)
        kept = None if self.record is None else recorded(claim, self.record)
        if kept is not None:
            strongest, *beside_it = (replace(v, results=self.results, others=()) for v in (kept, *kept.others))
            # The user's own run comes first if it decides as much. A small run does not replace a record that does.
            run_here = claim.experiment in self.runs
            if not run_here or DECIDED.get(verdict.verdict, 2) < DECIDED.get(strongest.verdict, 2):
                others += [verdict] if run_here else []
                verdict = strongest
            else:
                others.append(strongest)
            others += beside_it
        ordered = [*whole, verdict, *(v for v in others if v not in whole)]
        return replace(ordered[0], others=tuple(ordered[1:]))

    def _verdict(self, claim: Claim) -> Verdict:
        if claim.untestable:
            return Verdict(claim, UNTESTABLE, claim.untestable)
        if claim.audit is not None:
            return by_audit(claim, claim.audit, None if self.audit else self.record)
        if claim.compute:
            return by_computation(claim)
        if not claim.experiment:
            return replace(decide(claim, Scope([], claim.numbers)), evidence=Evidence.PROOF)
        run = self.run_for(claim)
        if run is None:
            return Verdict(claim, UNTESTABLE, f"{claim.experiment} was not run")
        return replace(self._by_run(claim, run), scale=run.scale)

    def _by_run(self, claim: Claim, run: Run) -> Verdict:
        if claim.original and claim.original not in run.original_datasets:
            where = f"dataset.{claim.original}.path=FOLDER"
            return Verdict(claim, UNTESTABLE, f"needs the original files: {where}")
        cells = self._cells_of(run)
        if not any(cell.values for cell in cells):
            return Verdict(claim, UNTESTABLE, f"{claim.experiment} has no finished trials")
        cells, lacking = _of_the_paper(claim, cells)
        small = _too_small(run, claim)
        large = [cell for cell in cells if cell.labels.get("dataset") not in small]
        concerned = {str(cell.labels["dataset"]) for cell in _about(claim, cells) if "dataset" in cell.labels}
        if concerned and concerned <= small:
            return Verdict(claim, UNTESTABLE, f"needs scale={claim.scale}, was run at {run.scale}")
        if concerned & small:
            lacking.append(f"{', '.join(sorted(concerned & small))}: needs scale={claim.scale}")
        files = tuple(sorted(concerned)) if concerned and concerned <= set(run.original_datasets) else ()
        return _as_defined(replace(_judged(claim, run, large, lacking, files), files=files), run)

    def _on_generated(self, claim: Claim) -> list[Verdict]:
        """The verdicts from generated data alone, if the deciding run read some of its datasets from original files."""
        decider = self.run_for(claim)
        if decider is None or not decider.original_datasets:
            return []
        same = [r for r in self.each.values() if r.name == decider.name and not r.original_datasets]
        verdicts = [replace(self._by_run(claim, run), scale=run.scale, results=self.results) for run in same]
        return [verdict for verdict in verdicts if verdict.verdict != UNTESTABLE]

    def _on_files(self, claim: Claim, decider: Run | None) -> list[tuple[str, Verdict]]:
        """The verdicts from original files, by this experiment and by those in `claim.also`; the newest run of each counts."""
        verdicts: dict[tuple[str, ...], tuple[str, Verdict]] = {}
        names = (claim.experiment, *claim.also)
        for run in sorted(self.each.values(), key=lambda run: run.written):
            files = set(run.original_datasets)
            if run.name not in names or run.name != run.experiment or not files:
                continue
            if run is decider and files == set(run.datasets):
                continue  # it is already the verdict
            cells = [cell for cell in self._cells_of(run) if cell.labels.get("dataset") in files]
            epsilons = {key: values for key, values in _axes(run.experiment).items() if key == "epsilon"}
            cells = [cell for cell in cells if fits(cell, epsilons)]
            asked = claim if run.name == claim.experiment else claim.elsewhere
            about = tuple(sorted({str(cell.labels["dataset"]) for cell in _about(asked, cells) if cell.values}))
            if not about:
                continue
            verdict = replace(_judged(asked, run, cells, (), about), claim=claim)
            if verdict.verdict != UNTESTABLE:
                verdicts[about] = (run.name, _as_defined(replace(verdict, files=about, scale=run.scale), run))
        return list(verdicts.values())


def _judged(
    claim: Claim, run: Run, cells: Sequence[CellTrials], lacking: Sequence[str], files: tuple[str, ...]
) -> Verdict:
    """The verdict over all readings and worlds that a run holds. `files`: the datasets, if all are from original files."""
    about = _about(claim, cells)
    judged: dict[tuple[str, ...], Verdict] = {}
    datasets: set[str] = set()
    for case in assumed(claim, run.experiment, about, cells):
        scope, asked = Scope([*case.cells], claim.numbers), case.asked(claim)
        verdict = replace(decide(asked, scope, lacking), claim=claim)
        key = (asked.measure, *sorted(scope.used))
        if judged and (verdict.verdict == UNTESTABLE or key in judged):
            continue  # this case was not run, or changes nothing of this claim
        generated = {str(cell.labels["dataset"]) for cell in scope.used.values() if "dataset" in cell.labels}
        generated -= set(run.original_datasets)
        datasets |= generated
        if verdict.decider is not None and generated and given(claim, sorted(generated), case):
            verdict = replace(verdict, verdict=BY_CONSTRUCTION, reason=FITTED)
        outcome = Case(case.reading, case.world, verdict.verdict, where=verdict.where, trials=verdict.trials)
        if (group := verdict.decider) is not None:
            outcome = replace(outcome, value=group.value, low=group.low, high=group.high)
        judged[key] = replace(verdict, cases=(outcome,))
    outcomes = list(judged.values())
    if outcomes[0].verdict == UNTESTABLE:
        return outcomes[0]
    cases = [one.cases[0] for one in outcomes]
    evidence = Evidence.FILES if files else evidence_of(sorted(datasets), cases)
    return replace(combined(claim, outcomes, evidence), untried=untried(run.experiment, about))


def _as_defined(verdict: Verdict, run: Run) -> Verdict:
    """A run with other parameters than the experiment's decides nothing."""
    if not run.altered or verdict.verdict == UNTESTABLE:
        return verdict
    reason = f"{verdict.verdict} by a run that is not as defined ({'; '.join(run.altered)})"
    return replace(verdict, verdict=OPEN, reason=reason)


def _of_the_paper(claim: Claim, cells: list[CellTrials]) -> tuple[list[CellTrials], list[str]]:
    """The cells on the experiment's own datasets and budgets, and which of those that the claim covers were not run.

    Without the restriction, a claim about every dataset would also cover datasets that a user added. Without the list, a run
    on one dataset would decide a claim about all of them.
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
    """The datasets and budgets of an experiment, from its YAML and from the YAMLs that it is based on."""
    own = catalogue.axes(experiment)
    axes: dict[str, list[Any]] = {"dataset": list(own.datasets), "epsilon": list(own.epsilons)}
    return {key: values for key, values in axes.items() if values}


def _about(claim: Claim, cells: Sequence[CellTrials]) -> list[CellTrials]:
    """The cells that a claim is about."""
    try:
        return Scope([*cells]).any_of(claim.alternatives).cells if cells else []
    except MissingResults:
        return []


def _too_small(run: Run, claim: Claim) -> set[str]:
    """The datasets of a run that are smaller than at the claim's scale. Original files always have their full size."""
    if SCALES.index(run.scale) >= SCALES.index(claim.scale):
        return set()
    return {
        name for name, dataset in run.datasets.items() if not dataset.original and not _has_size(dataset, claim.scale)
    }


def _has_size(dataset: Dataset, scale: str) -> bool:
    if dataset.name not in catalogue.options("dataset"):
        return False
    sizes = catalogue.dataset(dataset.name).sizes.get(scale, {})
    return all(
        dataset.params.get(key) in (value if isinstance(value, list) else [value]) for key, value in sizes.items()
    )
