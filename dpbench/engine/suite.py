"""Runs experiments for other verbs and for Python: `claims --run` what it is missing, `check` all of them, `dpbench.run` what a
program asks for. Prints nothing itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from dpbench.config.catalogue import options
from dpbench.config.compose import compose
from dpbench.config.words import Value
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.runner import Result, execute
from dpbench.engine.together import execute_all
from dpbench.errors import Failed, UserError
from dpbench.results.run import Run
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
    for account in run_experiments(
        [experiment], results=results, scale=scale, jobs=jobs, overrides=overrides, folders=folders, say=say
    ):
        return account
    raise AssertionError("one experiment was asked for")


def run_experiments(
    names: Sequence[str],
    *,
    results: Path,
    scale: str,
    jobs: int = -1,
    overrides: Mapping[str, Value] | None = None,
    folders: Sequence[Path] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[Plan, Result]]:
    """Several experiments with the same workers, each given back as soon as it is done."""
    settings = {"results": results, "runner.jobs": jobs, **QUIET, **(overrides or {})}
    plans = [make_plan(compose(name, scale, settings, folders), say=say) for name in names]
    for account in execute_all(plans, say, begin=lambda plan: plan.run.save()):
        if account.problem:
            raise Failed(account.problem)
        yield account.plan, account.result


def run(
    experiment: str | None = None,
    *,
    scale: str | None = None,
    dataset: Sequence[str] | str | None = None,
    mechanism: Sequence[str] | str | None = None,
    task: Sequence[str] | str | None = None,
    name: str | None = None,
    results: Path | str = "results",
    jobs: int = -1,
    overrides: Mapping[str, Value] | None = None,
    **settings: Value,
) -> Run:
    """`dpbench.run("gs/fig9", scale="smoke")`: what the verb `run` does, without tables, figures and MLflow.

    Datasets, mechanisms and tasks by name; without an experiment they make an ad-hoc run. `settings` are those of `run --help`
    (`trials=5`, `epsilon=[0.1, "ln2"]`), `overrides` those with dots in their names (`{"mechanism.gs.w": 10}`).
    """
    chosen: dict[str, Value] = {}
    for group, given in (("dataset", dataset), ("mechanism", mechanism), ("task", task)):
        if given is not None:
            names = [given] if isinstance(given, str) else list(given)
            for one in names:
                if not isinstance(one, str):
                    raise UserError(f"{group}={one!r} is not valid: expected the name of a {group}")
            chosen[group] = names
    given_settings = {"results": Path(results), "runner.jobs": jobs, **QUIET, **settings, **(overrides or {}), **chosen}
    plan = make_plan(compose(experiment, scale, {**given_settings, **({"name": name} if name else {})}))
    if not plan.run.settings:
        reasons = "; ".join(f"{setting}: {reason}" for setting, reason in plan.run.left_out)
        raise UserError(f"nothing fits together in this run: {reasons}")
    plan.run.save()
    result = execute(plan, Store(plan.run.results))
    if result.failed:
        first = next(iter(result.failures.values()))[0].error
        warnings.warn(f"{result.failed} trials of {plan.run.name} failed: {first}", stacklevel=2)
    return plan.run
