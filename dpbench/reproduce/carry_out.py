"""Runs the experiments of some papers together and records each as soon as it is done. Imported by the verb."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from dpbench.claims.at_hand import runs_on_files
from dpbench.claims.ledger import ledger
from dpbench.config import catalogue
from dpbench.config.compose import compose
from dpbench.config.words import Value
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.suite import QUIET
from dpbench.engine.together import Advance, execute_all
from dpbench.errors import UserError, unknown
from dpbench.figures.draw import CannotDraw, draw, save
from dpbench.reproduce.costs import Meter
from dpbench.reproduce.take import take, thinned
from dpbench.results.record import Record
from dpbench.results.run import Run

PAPERS = ("gs", "sparse", "analytics", "sensitivity", "epicrec")
CROSS = "cross"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Reproduced:
    """One experiment that was run."""

    run: Run
    record: Record | None
    """None if it could not be drawn, if trials failed, or for runs on original files: the record has one run per experiment."""
    numbers: pd.DataFrame | None
    files: tuple[Path, ...] = ()
    problem: str = ""


def experiments_of(asked: Sequence[str]) -> list[str]:
    """The experiments of papers, or experiments named directly; those of the five papers by default."""
    every = catalogue.options("experiment")
    by_paper = {paper: [name for name in every if name.startswith(f"{paper}/")] for paper in (*PAPERS, CROSS)}
    found: dict[str, None] = {}
    for word in asked or PAPERS:
        if word not in by_paper and word not in every:
            raise unknown("paper or experiment", word, [*by_paper, *every])
        found |= dict.fromkeys(by_paper.get(word) or [word])
    return list(found)


def plans_of(
    experiments: Sequence[str], *, scale: str, results: Path, jobs: int, overrides: Mapping[str, Value], say: Say
) -> Iterator[Plan | UserError]:
    """The plan of each experiment, with its data built. UserError if there is nothing to run, for example for lack of files."""
    for name in experiments:
        yield _plan(name, scale, {"results": results, "runner.jobs": jobs, **overrides}, say)


def plans_on_files(
    experiments: Sequence[str], *, scale: str, results: Path, jobs: int, overrides: Mapping[str, Value], say: Say
) -> Iterator[Plan | UserError]:
    """The plans of the same experiments on those of the papers' original files that are here: further evidence for claims."""
    asked = [claim for claim in ledger() if claim.experiment in experiments]
    for name, dataset in runs_on_files(asked):
        if dataset is not None:
            words = {**overrides, f"dataset.{dataset}.source": "files"}
            yield _plan(name, scale, {"results": results, "runner.jobs": jobs, **words}, say)


def _plan(name: str, scale: str, words: Mapping[str, Value], say: Say) -> Plan | UserError:
    try:
        plan = make_plan(compose(name, scale, {**QUIET, **words}), say=say)
        if not plan.run.settings:
            raise UserError("; ".join(f"{what}: {why}" for what, why in plan.run.left_out) or "nothing to run")
    except UserError as problem:
        return UserError(f"{name}: {problem}")
    return plan


def carry_out(
    plans: Sequence[Plan], *, say: Say, advance: Advance, evidence: Sequence[Plan] = ()
) -> Iterator[Reproduced]:
    """Compute what is missing of all plans; shared settings are computed once. Each experiment is drawn as soon as it is done.

    `evidence`: plans of the same experiments on original files, computed first and not recorded by themselves.
    """
    began: dict[str, float] = {}
    own = {plan.run.label for plan in plans}
    evidence = [plan for plan in evidence if plan.run.label not in own]  # an experiment may read the files by itself
    further = {plan.run.label for plan in evidence}

    def begin(plan: Plan) -> None:
        began[plan.run.label] = time.perf_counter()
        plan.run.save()

    with Meter() as meter:
        for account in execute_all([*evidence, *plans], say, begin=begin, advance=advance):
            plan, result = account.plan, account.result
            seconds = time.perf_counter() - began[plan.run.label]
            run = replace(plan.run, seconds=seconds)
            run.save()
            memory = meter.peak()
            failed = f"{result.failed} trials failed" if result.failed else ""
            if problem := account.problem or failed:
                yield Reproduced(run, None, None, problem=problem)
                continue
            made = _made(run, None if result.found else seconds, memory)
            yield replace(made, record=None) if run.label in further else made


def _made(run: Run, seconds: float | None, memory: int | None) -> Reproduced:
    try:
        drawing = draw(run)
        files, _ = save(run, drawing)
    except CannotDraw as problem:
        return Reproduced(run, None, None, problem=str(problem))
    numbers = thinned(drawing.numbers)
    return Reproduced(run, take(run, numbers, seconds=seconds, memory=memory), numbers, tuple(files))
