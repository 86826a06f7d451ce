"""What `run` prints about plans: the settings of a dry run, the part of one shard, and how to continue. Imported by `run`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpbench.cli.run_tables import marked, print_left_out
from dpbench.config.schema import RunConfig
from dpbench.engine.estimate import describe_time
from dpbench.engine.execute import todo
from dpbench.engine.plan import Plan
from dpbench.engine.shards import done, overview, stored_trials, trials_of
from dpbench.storage.commands import RESULTS
from dpbench.storage.store import Store

MOST_SETTINGS = 2_000  # largest number of rows of a plan
MOST_ROWS = 100  # largest number of rows of the overview of shards


def print_plans(console: Console, plans: Sequence[Plan], say: Callable[[str], None]) -> None:
    """Print the plans of a dry run and, if a shard is requested, all shards. `say` is told about damaged files."""
    counts = [print_plan(console, plan, Store(plan.run.results, say)) for plan in plans]
    if len(plans) > 1:
        settings, trials = map(sum, zip(*counts, strict=True))
        console.print(f"{len(plans)} experiments: {settings} settings, {trials} trials. Nothing was computed.")
    _print_overview(console, plans)


def print_plan(console: Console, plan: Plan, store: Store) -> tuple[int, int]:
    """Print the settings of a dry run, or of the requested shard, and how many of their trials are stored. Returns how many
    settings and trials there are."""
    run, shard = plan.run, plan.config.runner.part
    work, finished = todo(plan, store.done)
    table = Table(title=f"Plan of {run.name} at scale {run.scale}" + (f", shard {shard}" if shard else ""))
    several = len(run.data_seeds) > 1
    for name in ("dataset", *(["data seed"] * several), "mechanism", "parameters", "ε", "task", "trials", "done"):
        table.add_column(name)
    missing: dict[str, int] = {}
    for chunk in work:
        # A stored trial that must be repeated for its partner (see `pair_variance`) counts as done.
        fresh = {*chunk.trials} - store.named(chunk.setting.id)
        missing[chunk.setting.id] = missing.get(chunk.setting.id, 0) + len(fresh)
    trials = trials_of(plan, shard)
    settings = [setting for setting in run.settings if trials[setting.key]]
    for setting in settings[:MOST_SETTINGS]:
        wanted = len(trials[setting.key])
        stored = max(0, wanted - missing.get(setting.id, 0)) if setting.id else 0
        draw = "" if setting.dataset.original else str(setting.dataset.seed)
        row = (marked(setting), setting.parameters, f"{setting.epsilon:.4g}", setting.task.name)
        table.add_row(escape(setting.dataset.name), *([draw] * several), *map(escape, row), str(wanted), str(stored))
    console.print(table)
    if len(settings) > MOST_SETTINGS:
        console.print(f"and {len(settings) - MOST_SETTINGS} more settings")
    print_left_out(console, run)
    if plan.unbuilt:
        console.print(f"Not built yet: {', '.join(dict.fromkeys(plan.unbuilt))}")
    total = sum(len(trials[setting.key]) for setting in settings)
    console.print(f"{len(settings)} settings, {total} trials, {finished} done already. Nothing was computed.")
    console.print(describe_time(plan, missing, store))
    return len(settings), total


def is_whole(plan: Plan) -> bool:
    """Whether an executed run is over: all of it was executed, or no other shard misses a trial."""
    if plan.config.runner.part is None:
        return True
    stored, wanted = done(trials_of(plan), stored_trials(plan, Store(plan.run.results)))
    return stored == wanted


def print_part(console: Console, plan: Plan) -> None:
    """Print the part of this shard, and how much of the whole run is done."""
    shard = plan.config.runner.part
    trials, named = trials_of(plan, shard), stored_trials(plan, Store(plan.run.results))
    mine, part = done(trials, named)
    stored, wanted = done(trials_of(plan), named)
    settings = sum(map(bool, trials.values()))
    console.print(
        f"shard {shard}: {mine} of its {part} trials, in {settings} settings; "
        f"{stored} of {wanted} trials of the run are stored"
    )


def print_next(console: Console, config: RunConfig) -> None:
    """Print which shard draws and logs the whole run."""
    where = [] if config.results == RESULTS else ["--results", str(config.results)]
    wanted = [("figures", "draws the figure")] if config.figure else []
    wanted += [("track", "logs to MLflow")] if config.tracking.enabled else []
    if wanted:
        commands = [shlex.join(["python", "-m", "dpbench", verb, config.name, *where]) for verb, _ in wanted]
        console.print(
            f"The shard that completes the run {' and '.join(what for _, what in wanted)}; "
            f"at any other time: {'; '.join(commands)}"
        )


def _print_overview(console: Console, plans: Sequence[Plan]) -> None:
    """Print every part of one plan, or of several together, if a shard is requested."""
    shard = plans[0].config.runner.part if plans else None
    if shard is None:
        return
    name = plans[0].run.name if len(plans) == 1 else f"{len(plans)} experiments"
    table = Table(title=f"The {shard.count} parts of {name}")
    for column in ("shard", "trials", "done"):
        table.add_column(column, justify="right")
    parts = [overview(plan, Store(plan.run.results), shard.count) for plan in plans]
    for number, part in enumerate([*zip(*parts, strict=True)][:MOST_ROWS], 1):
        own = " (this one)" if number == shard.number else ""
        stored, trials = map(sum, zip(*part, strict=True))
        table.add_row(f"{number}/{shard.count}{own}", str(trials), str(stored))
    if shard.count > MOST_ROWS:
        table.caption = f"and {shard.count - MOST_ROWS} more"
    console.print(table)
