"""`run` with several experiments: one process plans all of them, and one set of workers computes them.

Each is its own run, saved, printed, drawn and logged as soon as it is done. A problem with one does not stop the others.
Imported by `run`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from rich.console import Console
from rich.markup import escape

from dpbench.cli import common, run_shards
from dpbench.cli import run_tables as tables
from dpbench.cli.progress import preparing, progress_bar, told
from dpbench.cli.run import check_folder, counts, finish, warning
from dpbench.config.schema import RunConfig
from dpbench.engine.plan import Plan, make_plan, require_settings
from dpbench.engine.runner import Result
from dpbench.engine.shards import trials_of
from dpbench.engine.together import execute_all
from dpbench.errors import Failed, UserError
from dpbench.results.store import Store


def run_together(configs: Mapping[str, RunConfig | UserError], *, verbose: bool = False) -> int:
    """Run all experiments whose configuration is valid. Returns 1 if a trial failed, or an experiment could not be run."""
    console, notes = common.console(), common.notes()
    began = time.perf_counter()
    problems = {name: str(config) for name, config in configs.items() if isinstance(config, UserError)}
    plans = _plans([config for config in configs.values() if isinstance(config, RunConfig)], problems, notes)
    if any(plan.config.dry for plan in plans):
        _print_plans(plans, console)
    else:
        total = _carry_out(plans, problems, (console, notes), verbose)
        seconds = time.perf_counter() - began
        console.print(f"{len(plans)} experiments: {counts(total)}; {seconds:.1f} s", highlight=False)
        if total.failed:
            problems.setdefault("", "")
    for name, problem in problems.items():
        if name:
            notes.print(f"[red]not run[/]: {name}: {escape(problem)}", soft_wrap=True)
    return 1 if problems else 0


def _plans(configs: list[RunConfig], problems: dict[str, str], notes: Console) -> list[Plan]:
    """The plans of all experiments, made before any trial: data is built once, and what cannot be run is known early."""
    plans = []
    for folder in dict.fromkeys(config.results for config in configs):
        check_folder(folder, notes)
    with preparing(notes) as say:
        for config in configs:
            if not config.datasets:  # original files are missing: not an error
                names = ", ".join(name for name, _ in config.left_out)
                notes.print(f"left out: {config.name}: the files of {names} are missing", soft_wrap=True)
                continue
            try:
                plan = make_plan(config, say=say)
                require_settings(plan)
                plans.append(plan)
            except (UserError, Failed, OSError) as problem:
                problems[config.name] = str(problem)
    return plans


def _carry_out(plans: list[Plan], problems: dict[str, str], consoles: tuple[Console, Console], verbose: bool) -> Result:
    """Execute the plans. Returns the total counts."""
    notes = consoles[1]
    total = Result()
    began: dict[str, float] = {}

    def begin(plan: Plan) -> None:
        began[plan.run.name] = time.perf_counter()
        plan.run.save()

    with progress_bar(told(plans), sum(run_shards.planned(plan) for plan in plans), notes) as (advance, status):
        more = lambda _, trials: advance(trials)  # noqa: E731
        for account in execute_all(plans, warning(notes), begin=begin, advance=more, status=status):
            plan, result = account.plan, account.result
            run = replace(plan.run, seconds=time.perf_counter() - began[plan.run.name])
            total.computed += result.computed
            total.found += result.found
            for setting, failures in result.failures.items():
                total.failures.setdefault(f"{run.name} {setting}", []).extend(failures)
            try:
                if account.problem:
                    raise Failed(account.problem)
                finish(run, result, Store(run.results), plan, consoles, verbose=verbose)
            except (UserError, Failed, OSError) as problem:
                problems[run.name] = str(problem)
    return total


def _print_plans(plans: list[Plan], console: Console) -> None:
    settings = trials = 0
    for plan in plans:
        tables.print_plan(console, plan, Store(plan.run.results))
        mine = trials_of(plan, plan.config.runner.part)
        settings += sum(len(mine[setting.key]) > 0 for setting in plan.run.settings)
        trials += run_shards.planned(plan)
    console.print(f"{len(plans)} experiments: {settings} settings, {trials} trials. Nothing was computed.")
    run_shards.print_overview(console, plans)
