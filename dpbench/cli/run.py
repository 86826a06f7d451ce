"""`run`: plan, compute what is missing, store, log, print a table, draw the figure."""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from dpbench.config.compose import GROUPS, config_dirs, hydra_main, options
from dpbench.config.schema import RunConfig
from dpbench.engine.plan import Cell, Plan, make_plan, save_manifest
from dpbench.engine.runner import Result, execute, todo
from dpbench.errors import UserError
from dpbench.paths import CONF
from dpbench.results.frame import run_command
from dpbench.results.store import Store

MOST_ROWS = 100  # of a printed table
WIDTH = 150  # of what is printed into a pipe


HELP = """python -m dpbench run: datasets x mechanisms x epsilons, repeated in parallel, stored, logged and drawn.

Examples
  python -m dpbench run experiment=gs/fig9 scale=smoke
  python -m dpbench run 'dataset=[checkin,netflix]' 'mechanism=[lpa,gs]' 'epsilon=[0.1,ln2]' trials=50
  python -m dpbench run experiment=gs/fig7 mechanism.gs_s.sampling=column runner.jobs=1
  python -m dpbench run experiment=gs/fig9 dry=true

Groups (group=option, or group=[several,options])
{groups}

Settings (key=value), with their defaults
{settings}
  dataset.NAME.PARAMETER, mechanism.NAME.PARAMETER, task.NAME.PARAMETER: any parameter; a list is an axis
  runner.jobs=-1, runner.chunk=auto, runner.address=null, tracking.uri=null

Flags: --cfg job | --info searchpath | -m (sweep) | --config-dir DIR (your own YAML) | --hydra-help
"""


def main(argv: list[str]) -> int:
    # Hydra's own help reads every YAML there is, which takes a second and shows less.
    if "--help" in argv or "-h" in argv:
        print(help_text(config_dirs(argv)))
        return 0
    return hydra_main(argv, run_once)


def help_text(folders: list[Path]) -> str:
    """What `run --help` prints: the groups with their options, and the settings of conf/run.yaml with its comments."""
    groups = []
    for group in GROUPS:
        names = f"{group}: {', '.join(options(group, *folders))}"
        groups.append(textwrap.fill(names, 116, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
    body = (CONF / "run.yaml").read_text().partition("\nhydra:")[0].split("\n\n", 1)[1]
    return HELP.format(groups="\n".join(groups), settings=textwrap.indent(body.strip(), "  "))


def run_once(run: RunConfig) -> int:
    """One run, start to end. Returns the exit status."""
    # A pipe has no width of its own: wide enough that no row is folded.
    console, notes = Console(), Console(stderr=True, highlight=False)
    if not console.is_terminal:
        console = Console(width=WIDTH)
    began = time.perf_counter()
    with _status(notes) as say:
        plan = make_plan(run, say=say)
    store = Store(run.results, say=lambda text: notes.print(f"[yellow]{escape(text)}"))
    if run.dry:
        _print_plan(console, plan, store)
        return 0
    if not plan.cells:
        reasons = "; ".join(f"{setting}: {reason}" for setting, reason in plan.left_out)
        raise UserError(f"nothing fits together in this run: {reasons}")
    save_manifest(plan)
    result = _execute(plan, store, notes)
    console.print(_table(plan, store, result))
    _print_left_out(notes, plan)
    _print_failures(notes, plan, result)
    seconds = time.perf_counter() - began
    console.print(
        f"{result.computed} trials computed, {result.found} found finished, {result.failed} failed; {seconds:.1f} s"
    )
    if run.tracking.enabled:
        _track(plan, notes)
    if run.figure:
        _draw(run, notes)
    _print_changes(console, run)
    _print_next(console, run)
    return 1 if result.failed else 0


@contextmanager
def _status(notes: Console) -> Iterator[Callable[[str], None]]:
    """Says what is being prepared: a spinner on a terminal, plain lines elsewhere."""
    if not notes.is_terminal:
        yield notes.print
        return
    with notes.status("planning") as status:
        yield lambda text: status.update(text)


def _execute(plan: Plan, store: Store, notes: Console) -> Result:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=notes, disable=not notes.is_terminal) as progress:
        task = progress.add_task(plan.run.experiment, total=len({c.id for c in plan.cells}) * plan.run.trials)
        return execute(plan, store, lambda trials: progress.advance(task, trials))


def _parameters(cell: Cell) -> str:
    """What tells this cell from its neighbours besides dataset, mechanism and epsilon."""
    return ", ".join(f"{k.rpartition('.')[2]}={v}" for k, v in cell.labels().items() if "." in k)


def _table(plan: Plan, store: Store, result: Result) -> Table:
    """Mean and standard error of the chosen metrics, a row a cell; with failures, how many and why."""
    stored = {cell.id: store.read(cell.id, plan.run.trials) for cell in plan.cells}
    names: list[str] = next((t.column_names for t in stored.values() if t is not None), [])
    names = [n for n in names if n not in ("trial", "seconds") and not n.startswith(("chosen.", "diagnostic."))]
    metrics = [m for m in plan.run.metrics if m in names] or names[:2]
    heads = ["dataset", "mechanism", "parameters", "ε", "trials", *metrics]
    if not any(_parameters(cell) for cell in plan.cells):
        heads.remove("parameters")
    if result.failures:
        heads.append("failed")
    table = Table(title=plan.run.title or plan.run.experiment)
    for head in heads:
        table.add_column(head, justify="left" if head in ("dataset", "mechanism", "parameters", "failed") else "right")
    # Cells with failures are always shown.
    shown = [c for i, c in enumerate(plan.cells) if i < MOST_ROWS or c.id in result.failures]
    for cell in shown:
        rows = stored[cell.id]
        failures = result.failures.get(cell.id, [])
        values = {"dataset": cell.dataset.name, "mechanism": cell.mechanism.name, "parameters": _parameters(cell)}
        values |= {"ε": f"{cell.epsilon:.4g}", "trials": str(rows.num_rows if rows is not None else 0)}
        values |= {name: _mean(rows, name) for name in metrics}
        values["failed"] = escape(f"{len(failures)}: {failures[0].error}") if failures else ""
        table.add_row(*(values[head] for head in heads))
    if len(plan.cells) > len(shown):
        table.caption = f"and {len(plan.cells) - len(shown)} more; all of them are in the figure's CSV"
    return table


def _mean(rows: Any, name: str) -> str:
    if rows is None or name not in rows.column_names:
        return ""
    values = rows[name].to_numpy()
    if values.size == 1:
        return f"{values[0]:.6g}"
    return f"{values.mean():.4g} ± {values.std(ddof=1) / math.sqrt(values.size):.1g}"


def _print_plan(console: Console, plan: Plan, store: Store) -> None:
    work, found = todo(plan, store)
    table = Table(title=f"Plan of {plan.run.experiment} at scale {plan.run.scale}")
    for name in ("dataset", "mechanism", "parameters", "ε", "task", "trials", "done"):
        table.add_column(name)
    missing: dict[str, int] = {}
    for chunk in work:
        missing[chunk.cell] = missing.get(chunk.cell, 0) + len(chunk.trials)
    for cell in plan.cells:
        done = plan.run.trials - missing.get(cell.id, 0) if cell.id else 0
        row = (cell.dataset.name, cell.mechanism.name, _parameters(cell), f"{cell.epsilon:.4g}", cell.task.name)
        table.add_row(*row, str(plan.run.trials), str(done))
    console.print(table)
    _print_left_out(console, plan)
    if plan.unbuilt:
        console.print(f"Not built yet: {', '.join(dict.fromkeys(plan.unbuilt))}")
    console.print(f"{len(plan.cells)} cells, {plan.trials} trials, {found} done already. Nothing was computed.")


def _print_left_out(console: Console, plan: Plan) -> None:
    for setting, reason in plan.left_out:
        console.print(f"left out: {setting}: {reason}", highlight=False)


def _print_failures(notes: Console, plan: Plan, result: Result) -> None:
    cells = {c.id: c for c in plan.cells}
    for cell_id, failures in result.failures.items():
        cell = cells[cell_id]
        by_error: dict[str, list[int]] = {}
        for failure in failures:
            by_error.setdefault(failure.error, []).append(failure.trial)
        for error, trials in by_error.items():
            where = f"{cell.mechanism.name} on {cell.dataset.name}, ε={cell.epsilon:.4g}"
            params = _parameters(cell)
            numbers = ", ".join(map(str, sorted(trials)[:10])) + (", …" if len(trials) > 10 else "")
            notes.print(
                f"[red]failed[/]: {where}{f' ({params})' if params else ''}, trials {numbers}: {escape(error)}",
                soft_wrap=True,
            )


def _track(plan: Plan, notes: Console) -> None:
    from dpbench.results.frame import manifests
    from dpbench.results.tracking import TrackerDown, track

    run = plan.run
    try:
        track(run.results, manifests(run.results)[run.experiment], run.tracking.uri)
    except TrackerDown as problem:
        notes.print(
            f"[yellow]warning[/]: MLflow did not take the results ({escape(str(problem))}). "
            "They are stored; `python -m dpbench track` logs them later.",
            soft_wrap=True,
        )


def _draw(run: RunConfig, notes: Console) -> None:
    from dpbench.figures.draw import CannotDraw, save, script
    from dpbench.results.frame import manifests

    if script(run.experiment) is None:
        return
    try:
        files, _ = save(run.results, manifests(run.results)[run.experiment])
        for path in files:
            notes.print(f"wrote {path}")
    except CannotDraw as problem:
        notes.print(f"[yellow]warning[/]: {run.experiment}: {escape(str(problem))}", soft_wrap=True)


def _print_changes(console: Console, run: RunConfig) -> None:
    """A run with overrides stands where the experiment's own stood, until that is run again."""
    if run.changes:
        again = run_command(run.experiment, run.results, run.scale)
        text = f"Not {run.experiment} as defined ({'; '.join(run.changes)}); figures and report show this run until: {again}"
        console.print(escape(text), highlight=False, soft_wrap=True)


def _print_next(console: Console, run: RunConfig) -> None:
    if run.tracking.enabled and not run.tracking.uri:
        uri = f"sqlite:///{run.results / 'mlflow.db'}"
        console.print(
            f"Browse every trial: python -m mlflow ui --backend-store-uri {uri}", highlight=False, soft_wrap=True
        )
    console.print(
        "Try next: python -m dpbench list experiments | python -m dpbench run experiment=gs/fig7 | "
        "python -m dpbench run --help",
        highlight=False,
        soft_wrap=True,
    )
