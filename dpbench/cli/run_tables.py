"""What `run` prints about results: their table with its marks, notes, failures and what was left out. Imported by `run`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from dpbench.engine.execute import Result
from dpbench.model.run import FLOAT, Run, Setting
from dpbench.model.trial import Failure
from dpbench.storage.commands import several_draws
from dpbench.storage.failures import ranges
from dpbench.storage.frame import EXPECTED, METRIC, PAIRS, SECONDS
from dpbench.storage.numbers import MARK, plain, with_error
from dpbench.storage.store import Store

MOST_ROWS = 100  # largest number of rows of a printed table
MOST_NUMBERS = 10  # largest number of failed trials that a line lists
LEAST = 10  # smallest width, in characters, of a column of wrapped names
NONE: Mapping[str, Sequence[Failure]] = {}
NO_RHO: Mapping[str, float] = {}
LEFT = ("dataset", "mechanism", "parameters", "failed")


def results(
    run: Run, failures: Mapping[str, Sequence[Failure]], releases: int = 1, rho: Mapping[str, float] = NO_RHO
) -> Table:
    """Mean and standard error of the chosen metrics, one row per setting; with failures, how many and why. `rho`: the budgets
    of zCDP that settings were given, by key.

    A setting on several draws of the data has one row: the mean of the draws' means, and its standard error.
    """
    store = Store(run.results)
    metrics = _metrics(run, store)
    heads = ["dataset", "mechanism", "parameters", "ρ", "ε", "draws", "trials", *metrics]
    if not any(setting.parameters for setting in run.settings):
        heads.remove("parameters")
    if len(run.data_seeds) < 2:
        heads.remove("draws")
    if not rho:
        heads.remove("ρ")
    several = f"ε of {releases} releases"
    if releases > 1:
        heads.insert(heads.index("trials"), several)
    if failures:
        heads.append("failed")
    table = Table(title=run.title or run.name)
    for head in heads:  # text may be wrapped, numbers may not
        number = head not in LEFT
        table.add_column(head, justify="right" if number else "left", no_wrap=number, overflow="fold")
    # Settings with failures are always shown.
    groups = run.draws()
    shown = [group for i, group in enumerate(groups) if i < MOST_ROWS or any(s.id in failures for s in group)]
    for group in shown:
        setting = group[0]
        draws = [rows for s in group if (rows := store.read(s.id, run.repetitions_of(s))) is not None]
        failed = [failure for s in group for failure in failures.get(s.id, [])]
        values = {"dataset": setting.dataset.name, "mechanism": marked(setting), "parameters": setting.parameters}
        values["ρ"] = f"{rho[setting.key]:.4g}" if setting.key in rho else ""
        values |= {"ε": f"{setting.epsilon:.4g}", "trials": str(sum(rows.num_rows for rows in draws))}
        values["draws"] = "" if setting.dataset.original else str(len(draws))
        values |= {name: _mean(draws, _column(draws, name)) for name in metrics}
        if releases > 1:
            values[several] = _composed(setting, releases)
        values["failed"] = f"{len(failed)}: {failed[0].error}" if failed else ""
        table.add_row(*(escape(values[head]) for head in heads))
    if len(groups) > len(shown):
        table.caption = f"and {len(groups) - len(shown)} more; all of them are in the figure's CSV"
    for column in table.columns:
        if str(column.header) in LEFT:  # may be wrapped, but keeps a minimum width
            longest = _longest(column)
            column.min_width, column.no_wrap = min(LEAST, longest), longest <= LEAST
    return table


def _longest(column: Column) -> int:
    return max(cell_len(str(cell)) for cell in (column.header, *column.cells))


def print_results(
    console: Console,
    run: Run,
    failures: Mapping[str, Sequence[Failure]] = NONE,
    releases: int = 1,
    rho: Mapping[str, float] = NO_RHO,
) -> None:
    """The table or, if the screen is too narrow for its numbers, one paragraph per row: no number is ever truncated."""
    table = results(run, failures, releases, rho)
    # Each column has a space on both sides and a line. Computed here, because rich reports the screen's width as the minimum.
    least = 1 + sum((column.min_width or _longest(column)) + 3 for column in table.columns)
    if least <= console.width:
        console.print(table)
        return
    console.print(str(table.title), style="italic", highlight=False)
    heads = [str(column.header) for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        row = {head: str(cell) for head, cell in zip(heads, cells, strict=True) if str(cell)}
        first = f"{row.pop('mechanism')} on {row.pop('dataset')}"
        console.print(first, *(f"  {head} {cell}" for head, cell in row.items()), sep="\n", highlight=False)
    if table.caption:
        console.print(str(table.caption), style="dim italic", highlight=False)


def marked(setting: Setting) -> str:
    """The mechanism's name, with a mark if it is not private as run."""
    return f"{setting.mechanism.name}{MARK if setting.caveat else ''}"


def check_releases(run: Run, releases: int) -> None:
    """UserError, before hours of work, if what several releases cost cannot be computed here."""
    if releases > 1:
        for setting in {setting.mechanism.cls: setting for setting in run.settings}.values():
            _composed(setting, releases)


def _composed(setting: Setting, releases: int) -> str:
    """What several releases of a setting cost together, by their privacy loss distribution."""
    if not setting.private:
        return ""
    from dpbench.mechanisms.base import MECHANISMS
    from dpbench.privacy.exchange import composed

    mechanism = setting.mechanism.make(MECHANISMS)
    delta = 0.0 if setting.guarantee == "ε" else float(getattr(mechanism, "delta", 0.0))
    epsilon, at = composed(setting.epsilon, delta, releases, bool(delta and getattr(mechanism, "only_gaussian", False)))
    return f"{epsilon:.4g} (δ = {at:.2g})"


def _metrics(run: Run, store: Store) -> list[str]:
    """The requested metrics that were measured; otherwise the task's first two."""
    # One setting at a time: a run may have more trials than fit into memory.
    tables = (store.read(setting.id, run.repetitions_of(setting)) for setting in run.settings)
    columns: list[str] = next((table.column_names for table in tables if table is not None), [])
    names = [c.removeprefix(METRIC) for c in columns if c.startswith(METRIC)]
    asked = [m for m in run.metrics if m in (*names, SECONDS)]
    return asked or [name for name in names if name not in PAIRS][:2]


def _column(draws: Sequence[Any], name: str) -> str:
    """Where the table takes a metric from: its expectations, if every trial has them."""
    expected = EXPECTED + name
    known = all(expected in rows.column_names and not rows[expected].null_count for rows in draws)
    return SECONDS if name == SECONDS else expected if known and draws else METRIC + name


def _mean(draws: Sequence[Any], name: str) -> str:
    """The mean over the trials of one draw of the data, or over the means of several, with its standard error."""
    each = [rows[name].drop_null().to_numpy() for rows in draws if name in rows.column_names]
    each = [values for values in each if values.size]
    if not each:
        return ""
    values = each[0] if len(each) == 1 else np.array([values.mean() for values in each])
    if values.size < 2:
        return plain(float(values[0]))
    return with_error(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(values.size))


def print_notes(console: Console, run: Run) -> None:
    """Print where the data comes from, how noise is drawn, what is not private, and what lacks the noise that it should have."""
    for origin in run.origins():
        console.print(f"Data of {escape(origin)}")
    if len(run.data_seeds) > 1:
        console.print(several_draws(run).capitalize())
    if run.noise != FLOAT:
        console.print(f"{run.noise.capitalize()} noise, drawn with integers only")
    alike: dict[str, list[str]] = {}
    for mechanism, reason in run.caveats.items():
        alike.setdefault(reason, []).append(mechanism)
    for reason, mechanisms in alike.items():
        text = f"{MARK} not private as run: {', '.join(mechanisms)}: {reason}"
        console.print(escape(text))
    _print_bounds(console, run)
    for setting in run.settings:
        if setting.private and _exact(run, setting):
            console.print(
                f"[yellow]{escape(str(setting))} states {escape(setting.guarantee)} and publishes exact numbers: "
                "every error is zero. It adds no noise."
            )


def _print_bounds(console: Console, run: Run) -> None:
    """Print which bound to declare for a user's own data: noise scaled to a declared bound does not depend on the data."""
    lacking = [name for name, reason in run.caveats.items() if "declare `bound`" in reason]
    if lacking and any(use.own for use in run.datasets.values()):
        words = " ".join(f"mechanism.{name}.bound=NUMBER" for name in lacking)
        console.print(f"Declare how many items a user can have, chosen without looking at the data: {words}")


def _exact(run: Run, setting: Setting) -> bool:
    """Whether a mechanism that states a guarantee made no error at all in any trial."""
    from dpbench.tasks.base import TASKS

    declared = getattr(setting.task.get_class(TASKS), "metric", None)
    if not callable(declared):
        return False
    # The first trials are nearly always enough, and thousands of settings would take long.
    counts = (2, run.repetitions_of(setting))
    tables = (Store(run.results).read(setting.id, trials) for trials in counts)
    return all(rows is not None and _no_error(rows, declared) for rows in tables)


def _no_error(rows: Any, declared: Callable[[str], Any]) -> bool:
    known = {c: declared(c.removeprefix(METRIC)) for c in rows.column_names if c.startswith(METRIC)}
    errors = [c for c, m in known.items() if m is not None and m.better == "lower" and not m.noiseless]
    values = [rows[c].drop_null().to_numpy() for c in errors]
    return bool(values) and all(v.size and not v.any() for v in values)


def print_left_out(console: Console, run: Run) -> None:
    for combination, reason in run.left_out:
        console.print(f"left out: {escape(combination)}: {escape(reason)}")


def print_failures(notes: Console, result: Result, verbose: bool = False) -> None:
    """One line per distinct failure: how many trials of which settings, where, why, and where its traceback is."""
    run = result.plan.run
    settings = {setting.id: setting for setting in run.settings}
    for problem in result.problems():
        first, trials = next(iter(problem.trials.items()))
        numbers = ranges(trials[:MOST_NUMBERS]) + (", …" if len(trials) > MOST_NUMBERS else "")
        which = f"{settings[first]}, {_trials(len(trials))}: {numbers}"
        if len(problem.trials) > 1:
            which = f"{_trials(problem.count)} of {len(problem.trials)} settings, such as {which}"
        place = f"{problem.place.removeprefix(os.getcwd() + os.sep)}: " if problem.place else ""
        path = problem.path(run)
        written = f"; traceback in {path}" if problem.details and path.exists() else ""
        notes.print(f"[red]failed[/]: {escape(f'{which}; {place}{problem.error}{written}')}")
        if verbose and problem.details:
            notes.print(escape(problem.details))


def _trials(count: int) -> str:
    return f"{count} trial{'' if count == 1 else 's'}"
