"""Runs the experiments of some papers together and records each as soon as it is done. Imported by the verb."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpbench.claims.ledger import ledger
from dpbench.claims.original_files import runs_on_files
from dpbench.config import catalogue
from dpbench.engine.plan import Plan, plan_experiment
from dpbench.engine.progress import Progress
from dpbench.errors import UserError, unknown
from dpbench.figures.draw import CannotDraw, draw, save
from dpbench.model.record import Record
from dpbench.model.run import Run
from dpbench.ranking.rounds import execute
from dpbench.reproduce.costs import Meter
from dpbench.reproduce.make_record import take, thinned

PAPERS = ("gs", "sparse", "analytics", "sensitivity", "epicrec")
CROSS = "cross"


@dataclass(frozen=True)
class Reproduced:
    """One experiment that was run."""

    run: Run
    record: Record | None = None
    """None if it could not be drawn, if trials failed, or for runs on original files: the record has one run per experiment."""
    numbers: pd.DataFrame | None = None
    problem: str = ""


def experiments_of(asked: Sequence[str]) -> list[str]:
    """The experiments of papers, or experiments named directly; those of the five papers by default."""
    every = catalogue.options("experiment")
    by_paper = {paper: [name for name in every if name.startswith(f"{paper}/")] for paper in (*PAPERS, CROSS)}
    experiments: dict[str, None] = {}
    for word in asked or PAPERS:
        if word not in by_paper and word not in every:
            raise unknown("paper or experiment", word, [*by_paper, *every])
        experiments |= dict.fromkeys(by_paper.get(word) or [word])
    return list(experiments)


def plans_of(
    experiments: Sequence[str], paths: Mapping[str, str] | None = None, **options: Any
) -> Iterator[Plan | UserError]:
    """The plan of each experiment, with its data built. UserError if there is nothing to run, for example for lack of files.

    `options`: those of `plan_experiment`; without a scale, each experiment has its standard one. `paths`: where the original
    files of datasets are, for the experiments that are about original files.
    """
    for name in experiments:
        own = {f"dataset.{dataset}.path": path for dataset, path in (paths or {}).items() if reads(name, dataset)}
        yield _plan(name, {**options, "overrides": {**options.get("overrides", {}), **own}})


def reads(experiment: str, dataset: str) -> bool:
    """Whether an experiment is about original files, and a dataset one of its own. `check` does not guard such experiments."""
    return not catalogue.guarded(experiment) and dataset in catalogue.axes(experiment).datasets


def cases_of(experiment: str, scale: str) -> dict[str, str]:
    """The overrides with which the claims on an experiment of a paper are judged in all readings and worlds: at the size of the
    paper, because verdicts are recorded there. An experiment that chooses its own readings or worlds keeps them."""
    if scale != "paper" or experiment.partition("/")[0] not in PAPERS:
        return {}
    given = catalogue.chain(experiment)
    return {key: "all" for key in ("reading", "world") if not any(document.has(key) for document in given)}


def plans_on_files(experiments: Sequence[str], **options: Any) -> Iterator[Plan | UserError]:
    """The plans of the same experiments on those of the papers' original files that are here: further evidence for claims."""
    asked = [claim for claim in ledger() if claim.experiment in experiments]
    for name, dataset in runs_on_files(asked):
        if dataset is not None:
            words = {**options.get("overrides", {}), f"dataset.{dataset}.source": "files"}
            yield _plan(name, {**options, "overrides": words})


def _plan(name: str, options: Mapping[str, Any]) -> Plan | UserError:
    scale = options.get("scale") or catalogue.standard(name)
    words = {**cases_of(name, scale), **options.get("overrides", {})}
    options = {**options, "scale": scale, "overrides": words}
    try:
        plan = plan_experiment(name, **options)
        if not plan.run.settings:
            raise UserError("; ".join(f"{what}: {why}" for what, why in plan.run.left_out) or "nothing to run")
    except UserError as problem:
        return UserError(f"{name}: {problem}")
    return plan


def carry_out(
    plans: Sequence[Plan], *, progress: Progress | None = None, evidence: Sequence[Plan] = ()
) -> Iterator[Reproduced]:
    """Compute what is missing of all plans; shared settings are computed once. Each experiment is drawn as soon as it is done.

    `evidence`: plans of the same experiments on original files, computed first and not recorded by themselves.
    """
    own = {plan.run.label for plan in plans}
    evidence = [plan for plan in evidence if plan.run.label not in own]  # an experiment may read the files by itself
    further = {plan.run.label for plan in evidence}
    with Meter() as meter:
        for result in execute([*evidence, *plans], progress):
            run, memory, drawing = result.run, meter.peak(), None
            problem = result.problem or (f"{result.failed} trials failed" if result.failed else "")
            if not problem:
                try:
                    drawing = draw(run)
                    save(run, drawing)
                except CannotDraw as error:
                    problem = str(error)
            if problem or drawing is None or run.label in further:
                yield Reproduced(run, problem=problem)
                continue
            numbers = thinned(drawing.numbers)
            seconds = None if result.found else result.seconds
            yield Reproduced(run, take(run, numbers, seconds=seconds, memory=memory), numbers)
