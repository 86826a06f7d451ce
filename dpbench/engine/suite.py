"""Runs experiments for other verbs: `claims --run` what it is missing, `check` all of them. Prints nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dpbench.config.compose import compose_run, options
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.runner import Result, execute
from dpbench.results.store import Store


def experiments() -> list[str]:
    """Every experiment there is."""
    return options("experiment")


def run_experiment(
    experiment: str,
    *,
    results: Path,
    scale: str,
    jobs: int = -1,
    overrides: tuple[str, ...] = (),
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Plan, Result]:
    """Plan and compute one experiment as `run` does, without tracking, tables and figures."""
    words = [f"experiment={experiment}", f"scale={scale}", f"results={results}", f"runner.jobs={jobs}", *overrides]
    plan = make_plan(compose_run([*words, "tracking=none", "figure=false"]), say=say)
    plan.run.save()
    return plan, execute(plan, Store(results, say=say))
