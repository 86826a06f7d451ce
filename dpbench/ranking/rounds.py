"""Executes plans, boards in two rounds: a few trials of every setting, then the rest of those that are not out of reach.

The rule is in `look`; this saves the work. The numbers are the same if all trials are computed, as the shards of a run do: a
reader applies the rule, too. Imported by the verbs that run experiments, in place of the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dpbench.engine import execute as engine
from dpbench.engine.execute import Result
from dpbench.engine.plan import Plan
from dpbench.engine.progress import Progress
from dpbench.errors import UserError
from dpbench.model.finding import Finding
from dpbench.model.run import Run

if TYPE_CHECKING:
    from dpbench.ranking.views import View


def execute(plans: Sequence[Plan], progress: Progress | None = None) -> Iterator[Result]:
    """As `engine.execute`. The results of a board count both rounds."""
    views = {plan.run.label: view for plan in plans if (view := view_of(plan))}
    first: dict[str, Result] = {}
    if early := [replace(plan, run=first_round(plan.run)) for plan in plans if plan.run.label in views]:
        first = {result.plan.run.label: result for result in engine.execute(early, progress)}
    rest = (
        replace(plan, run=after_look(plan.run, views[plan.run.label])) if plan.run.label in views else plan
        for plan in plans
    )
    for result in engine.execute([*rest], progress):
        if (before := first.get(result.plan.run.label)) is not None:
            result.computed += before.computed
            result.found -= before.computed
            result.seconds += before.seconds
        if result.run.look and result.plan.config.runner.part is None:
            from dpbench.ranking.memory import measure

            measure(result.run)
        yield result


def execute_one(plan: Plan, progress: Progress | None = None) -> Result:
    """The same for a single plan. Failed if finished trials are gone."""
    (result,) = execute([plan], progress)
    result.require_done()
    return result


def view_of(plan: Plan) -> View | None:
    """The view of a board that is looked at before its end; None for all other plans. A shard computes its part of all."""
    from dpbench.ranking.look import look_of

    if not plan.run.look or plan.config.runner.part is not None:
        return None
    view = _view(plan.run.experiment or plan.run.name)
    if view is None:
        raise UserError(f"look={plan.run.look} has no effect: {plan.run.name} is no board, such as cross/leaderboard")
    return view if look_of(plan.run) else None


def view_named(experiment: str) -> View:
    """The view of a board; UserError for an experiment that is none."""
    view = _view(experiment)
    if view is None:
        raise UserError(f"{experiment} is no board: expected one such as cross/leaderboard")
    return view


def _view(experiment: str) -> View | None:
    from dpbench.figures.draw import load_script, script

    path = script(experiment)
    return None if path is None else getattr(load_script(path), "BOARD", None)


def first_round(run: Run) -> Run:
    """The trials before the first look."""
    return replace(run, repetitions=min(run.look, run.repetitions))


def after_look(run: Run, view: View, findings: Sequence[Finding] | None = None) -> Run:
    """All of it, without the further trials of settings that the first look stops."""
    trials = first_round(run).trials()
    gone = view.stopped(trials, run, findings) if not trials.empty else frozenset[str]()
    return replace(run, stopped={s.key: run.look for s in run.settings if s.id in gone})
