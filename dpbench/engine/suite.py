"""Runs experiments for other verbs: `claims --run` what it is missing, `check` all of them. Prints nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dpbench.config.catalogue import options
from dpbench.config.compose import Value, compose
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.runner import Result, execute
from dpbench.results.store import Store

QUIET: Mapping[str, Value] = {"tracking": "none", "figure": False}


def experiments() -> list[str]:
    """Every experiment there is."""
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
    settings = {"results": results, "runner.jobs": jobs, **QUIET, **(overrides or {})}
    plan = make_plan(compose(experiment, scale, settings, folders), say=say)
    plan.run.save()
    return plan, execute(plan, Store(results, say=say))
