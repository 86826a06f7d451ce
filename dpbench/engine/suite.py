"""Runs experiments for other verbs: `claims --run` runs what is missing, `check` all of them. Prints nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from dpbench.config.catalogue import options
from dpbench.config.compose import compose
from dpbench.config.words import Value
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.runner import Result
from dpbench.engine.together import execute_all
from dpbench.errors import Failed

QUIET: Mapping[str, Value] = {"tracking": "none", "figure": False}


def experiments() -> list[str]:
    """The names of all experiments."""
    return options("experiment")


def run_experiment(
    experiment: str,
    *,
    results: Path,
    scale: str,
    jobs: int = -1,
    overrides: Mapping[str, Value] | None = None,
    folders: Sequence[Path] = (),
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Plan, Result]:
    """Plan and compute one experiment as `run` does, without tracking, tables and figures."""
    for account in run_experiments(
        [experiment], results=results, scale=scale, jobs=jobs, overrides=overrides, folders=folders, say=say
    ):
        return account
    raise AssertionError("one experiment was requested")


def run_experiments(
    names: Sequence[str],
    *,
    results: Path,
    scale: str,
    jobs: int = -1,
    overrides: Mapping[str, Value] | None = None,
    trials: Mapping[str, int] | None = None,
    folders: Sequence[Path] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[Plan, Result]]:
    """Several experiments with the same workers, each given back as soon as it is done.

    trials: of single experiments; all others have those of their scale, or of `overrides`.
    """
    settings = {"results": results, "runner.jobs": jobs, **QUIET, **(overrides or {})}
    own: dict[str, dict[str, Value]] = {name: {"trials": number} for name, number in (trials or {}).items()}
    plans = [make_plan(compose(name, scale, settings | own.get(name, {}), folders), say=say) for name in names]
    for account in execute_all(plans, say, begin=lambda plan: plan.run.save()):
        if account.problem:
            raise Failed(account.problem)
        yield account.plan, account.result
