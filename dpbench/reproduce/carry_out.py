"""Runs the experiments of some papers together and records each as soon as it is done. Imported by the verb."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from dpbench.config import catalogue
from dpbench.config.compose import compose
from dpbench.config.words import Value
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.suite import QUIET
from dpbench.engine.together import execute_all
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
    """None if it could not be drawn, or trials failed."""
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
    """The plan of each experiment, its data built; an error if there is nothing to run, for example because files are missing."""
    settings = {"results": results, "runner.jobs": jobs, **QUIET, **overrides}
    for name in experiments:
        try:
            plan = make_plan(compose(name, scale, settings), say=say)
            if not plan.run.settings:
                raise UserError("; ".join(f"{what}: {why}" for what, why in plan.run.left_out) or "nothing to run")
        except UserError as problem:
            yield UserError(f"{name}: {problem}")
        else:
            yield plan


def carry_out(plans: Sequence[Plan], *, say: Say, advance: Callable[[int], None]) -> Iterator[Reproduced]:
    """Compute what is missing of all plans; shared settings are computed once. Each is drawn as soon as it is done."""
    began: dict[str, float] = {}

    def begin(plan: Plan) -> None:
        began[plan.run.name] = time.perf_counter()
        plan.run.save()

    with Meter() as meter:
        for account in execute_all(plans, say, begin=begin, advance=advance):
            plan, result = account.plan, account.result
            seconds = time.perf_counter() - began[plan.run.name]
            run = replace(plan.run, seconds=seconds)
            run.save()
            memory = meter.peak()
            failed = f"{result.failed} trials failed" if result.failed else ""
            if problem := account.problem or failed:
                yield Reproduced(run, None, None, problem=problem)
                continue
            yield _made(run, None if result.found else seconds, memory)


def _made(run: Run, seconds: float | None, memory: int | None) -> Reproduced:
    try:
        drawing = draw(run)
        files, _ = save(run, drawing)
    except CannotDraw as problem:
        return Reproduced(run, None, None, problem=str(problem))
    numbers = thinned(drawing.numbers)
    return Reproduced(run, take(run, numbers, seconds=seconds, memory=memory), numbers, tuple(files))
