"""What `run` prints about shards: the part of one shard, the progress of the whole run, and how to continue."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from dpbench.cli.progress import told
from dpbench.config.schema import RunConfig
from dpbench.engine.plan import Plan
from dpbench.engine.shards import overview, progress, trials_of
from dpbench.results.commands import RESULTS
from dpbench.results.store import Store

MOST_ROWS = 100  # largest number of rows of the overview


def planned(plan: Plan) -> int:
    """The number of trials that this process should finish."""
    return sum(map(len, trials_of(plan, plan.config.runner.part).values()))


def complete(plan: Plan, store: Store) -> bool:
    """Whether every trial of the whole run is stored."""
    stored, wanted = progress(plan, store, trials_of(plan))
    return stored == wanted


def print_part(console: Console, plan: Plan, store: Store) -> None:
    """Print the part of this shard, and how much of the whole run is done."""
    trials = trials_of(plan, plan.config.runner.part)
    mine, part = progress(plan, store, trials)
    stored, wanted = progress(plan, store, trials_of(plan))
    settings = sum(len(one) > 0 for one in trials.values())
    console.print(
        f"shard {plan.config.runner.part}: {mine} of its {part} trials, in {settings} settings; "
        f"{stored} of {wanted} trials of the run are stored",
        highlight=False,
        soft_wrap=True,
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
            f"at any other time: {'; '.join(commands)}",
            highlight=False,
            soft_wrap=True,
        )


def print_overview(console: Console, plans: Sequence[Plan]) -> None:
    """Print every part of one plan, or of several together, if a shard is requested."""
    shard = plans[0].config.runner.part if plans else None
    if shard is None:
        return
    table = Table(title=f"The {shard.count} parts of {told(plans)}")
    for column in ("shard", "trials", "done"):
        table.add_column(column, justify="right")
    parts = [overview(plan, Store(plan.run.results), shard.count) for plan in plans]
    for number, part in enumerate([*zip(*parts, strict=True)][:MOST_ROWS], 1):
        own = " (this one)" if number == shard.number else ""
        done, trials = map(sum, zip(*part, strict=True))
        table.add_row(f"{number}/{shard.count}{own}", str(trials), str(done))
    if shard.count > MOST_ROWS:
        table.caption = f"and {shard.count - MOST_ROWS} more"
    console.print(table)
