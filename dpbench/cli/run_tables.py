"""What `run` prints: the table of results with its marks, the plan of a dry run, failures and what was left out."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpbench.engine.plan import Plan
from dpbench.engine.runner import Result, todo
from dpbench.results.frame import METRIC, PAIRS
from dpbench.results.run import FLOAT, Run, Setting
from dpbench.results.store import Store

MOST_ROWS = 100  # of a printed table
MARK = "†"
LEFT = ("dataset", "mechanism", "parameters", "failed")


def results(run: Run, store: Store, result: Result) -> Table:
    """Mean and standard error of the chosen metrics, one row per setting; with failures, how many and why."""
    stored = {setting.id: store.read(setting.id, run.repetitions) for setting in run.settings}
    metrics = _metrics(run, stored)
    heads = ["dataset", "mechanism", "parameters", "ε", "trials", *metrics]
    if not any(setting.parameters for setting in run.settings):
        heads.remove("parameters")
    if result.failures:
        heads.append("failed")
    table = Table(title=run.title or run.name)
    for head in heads:
        table.add_column(head, justify="left" if head in LEFT else "right")
    # Settings with failures are always shown.
    shown = [s for i, s in enumerate(run.settings) if i < MOST_ROWS or s.id in result.failures]
    for setting in shown:
        rows, failures = stored[setting.id], result.failures.get(setting.id, [])
        values = {"dataset": setting.dataset.name, "mechanism": marked(setting), "parameters": setting.parameters}
        values |= {"ε": f"{setting.epsilon:.4g}", "trials": str(rows.num_rows if rows is not None else 0)}
        values |= {name: _mean(rows, METRIC + name) for name in metrics}
        values["failed"] = f"{len(failures)}: {failures[0].error}" if failures else ""
        table.add_row(*(escape(values[head]) for head in heads))
    if len(run.settings) > len(shown):
        table.caption = f"and {len(run.settings) - len(shown)} more; all of them are in the figure's CSV"
    return table


def marked(setting: Setting) -> str:
    """The mechanism's name, with a mark when it is not private as run."""
    return f"{setting.mechanism.name}{MARK if setting.caveat else ''}"


def _metrics(run: Run, stored: dict[str, Any]) -> list[str]:
    """The metrics that were asked for, as far as they were measured; else the task's first two."""
    columns: list[str] = next((table.column_names for table in stored.values() if table is not None), [])
    names = [c.removeprefix(METRIC) for c in columns if c.startswith(METRIC)]
    return [m for m in run.metrics if m in names] or [name for name in names if name not in PAIRS][:2]


def _mean(rows: Any, name: str) -> str:
    if rows is None or name not in rows.column_names:
        return ""
    values = rows[name].drop_null().to_numpy()
    if values.size < 2:
        return f"{values[0]:.6g}" if values.size else ""
    return f"{values.mean():.4g} ± {values.std(ddof=1) / math.sqrt(values.size):.1g}"


def print_notes(console: Console, run: Run, store: Store) -> None:
    """Where the data come from, how noise is drawn, what is not private, and what is exact although it should be noisy."""
    for origin in run.origins():
        console.print(f"Data of {escape(origin)}", highlight=False, soft_wrap=True)
    if run.noise != FLOAT:
        console.print(f"{run.noise.capitalize()} noise, drawn from whole numbers only", highlight=False, soft_wrap=True)
    alike: dict[str, list[str]] = {}
    for mechanism, reason in run.caveats.items():
        alike.setdefault(reason, []).append(mechanism)
    for reason, mechanisms in alike.items():
        text = f"{MARK} not private as run: {', '.join(mechanisms)}: {reason}"
        console.print(escape(text), highlight=False, soft_wrap=True)
    for setting in run.settings:
        if setting.private and _exact(run, store, setting):
            console.print(
                f"[yellow]{escape(str(setting))} states {escape(setting.guarantee)} and publishes exact numbers: "
                "every error is zero. It adds no noise.",
                highlight=False,
                soft_wrap=True,
            )


def _exact(run: Run, store: Store, setting: Setting) -> bool:
    """Whether a mechanism that states a guarantee made no error at all in any trial."""
    from dpbench.tasks.base import TASKS

    declared = getattr(TASKS.get(setting.task.cls), "metric", None)
    rows = store.read(setting.id, run.repetitions)
    if rows is None or not callable(declared):
        return False
    known = {c: declared(c.removeprefix(METRIC)) for c in rows.column_names if c.startswith(METRIC)}
    errors = [c for c, m in known.items() if m is not None and m.better == "lower" and not m.noiseless]
    values = [rows[c].drop_null().to_numpy() for c in errors]
    return bool(values) and all(v.size and not v.any() for v in values)


def print_plan(console: Console, plan: Plan, store: Store) -> None:
    """The settings of a dry run, and how much of them is there."""
    run = plan.run
    work, found = todo(plan, store)
    table = Table(title=f"Plan of {run.name} at scale {run.scale}")
    for name in ("dataset", "mechanism", "parameters", "ε", "task", "trials", "done"):
        table.add_column(name)
    missing: dict[str, int] = {}
    for chunk in work:
        missing[chunk.setting.id] = missing.get(chunk.setting.id, 0) + len(chunk.trials)
    for setting in run.settings:
        done = max(0, run.repetitions - missing.get(setting.id, 0)) if setting.id else 0
        row = (setting.dataset.name, marked(setting), setting.parameters, f"{setting.epsilon:.4g}", setting.task.name)
        table.add_row(*map(escape, row), str(run.repetitions), str(done))
    console.print(table)
    print_left_out(console, run)
    if plan.unbuilt:
        console.print(f"Not built yet: {', '.join(dict.fromkeys(plan.unbuilt))}")
    total = len(run.settings) * run.repetitions
    console.print(f"{len(run.settings)} settings, {total} trials, {found} done already. Nothing was computed.")


def print_left_out(console: Console, run: Run) -> None:
    for combination, reason in run.left_out:
        console.print(f"left out: {escape(combination)}: {escape(reason)}", highlight=False)


def print_failures(notes: Console, run: Run, result: Result) -> None:
    """One line per setting and error, with the trials' numbers."""
    settings = {setting.id: setting for setting in run.settings}
    for name, failures in result.failures.items():
        by_error: dict[str, list[int]] = {}
        for failure in failures:
            by_error.setdefault(failure.error, []).append(failure.trial)
        for error, trials in by_error.items():
            numbers = ", ".join(map(str, sorted(trials)[:10])) + (", …" if len(trials) > 10 else "")
            about = f"{settings[name]}, trials {numbers}: {error}"
            notes.print(f"[red]failed[/]: {escape(about)}", soft_wrap=True)
