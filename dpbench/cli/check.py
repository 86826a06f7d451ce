"""`check`: every experiment at smoke scale against the committed baselines, as continuous integration runs it.

Exit status 1 when anything got worse or is gone, or when nothing was measured; with --strict also when numbers moved in
any other way.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpbench.check import baselines as utility
from dpbench.check.baselines import Numbers
from dpbench.check.comparison import (
    ALPHA,
    BETTER,
    CHANGED,
    GONE,
    MIN_EFFECT,
    NEW,
    ORDER,
    SAME,
    TOLERANCE,
    WORSE,
    Comparison,
    Entry,
    compare,
)
from dpbench.claims.verdicts import describe
from dpbench.cli import common
from dpbench.config.words import Value
from dpbench.errors import UserError, output_file, output_folder, unknown
from dpbench.paths import BASELINES
from dpbench.results.commands import RESULTS
from dpbench.tasks.base import Metric

WIDTH = 170  # of what is printed into a pipe
MOST_ROWS = 60
COLOURS = {WORSE: "red", GONE: "red", BETTER: "green", CHANGED: "yellow", NEW: "cyan"}


def main(argv: list[str]) -> int:
    args = _arguments(argv)
    began = time.perf_counter()
    notes = common.notes()
    names = _names(args.experiment, args.config_dir)
    old = _old(args, names, notes)
    if not old and not args.update:
        raise UserError(f"there are no baselines in {args.baselines}: python -m dpbench check --update makes them")
    seed = secrets.randbelow(2**31) if args.fresh == -1 else args.fresh
    with ExitStack() as stack:
        results = args.results or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dpbench-check-")))
        try:
            new = _measure(names, results, args, seed, notes)
        except KeyboardInterrupt as stop:
            kept = (
                f"what is finished is kept in {results}" if args.results else "--results FOLDER keeps what is finished"
            )
            raise type(stop)(f"nothing was compared; {kept}") from None
    found = compare(old, new, natures(), same_seed=seed is None)
    console = common.console(WIDTH)
    _print(console, found, old, new)
    if seed is None:
        console.print(
            f"Same seed: numbers count as the same up to a relative {TOLERANCE:g}, for other machines' last digits."
        )
    else:
        console.print(f"Fresh seed {seed} (--fresh {seed} repeats it): Welch and paired tests, Holm over all of them.")
    console.print(
        f"Worse and better need a move of {MIN_EFFECT:.0%} and significance {ALPHA:g} over all tests together. "
        f"{time.perf_counter() - began:.0f} s.",
        soft_wrap=True,
    )
    if args.update:
        status = _update(args.baselines, found, new, old, names, console, whole=not args.experiment)
    else:
        status = _status(console, found, args.strict)
    if args.junit:
        from dpbench.check.junit import write

        write(args.junit, found, bad(args.strict))
        notes.print(f"wrote {args.junit}")
    return status


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dpbench check", description=__doc__)
    parser.add_argument("experiment", nargs="*", help="ids such as gs/fig9; none: all of them")
    parser.add_argument("--update", action="store_true", help="write the numbers as the new baselines")
    parser.add_argument("--strict", action="store_true", help="fail on every number that moved, improvements included")
    parser.add_argument(
        "--fresh",
        nargs="?",
        type=int,
        const=-1,
        metavar="SEED",
        help="other noise, compared statistically (default: a random seed)",
    )
    parser.add_argument("--trials", type=int, help="trials a cell with --fresh (default: those of smoke scale)")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report, a test case a cell")
    parser.add_argument(
        "--baselines", type=Path, help="folder of the baselines (default: results/baselines here, else dpbench's own)"
    )
    parser.add_argument("--results", type=Path, help="keep the trials there (default: a temporary folder)")
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one a core)")
    parser.add_argument("--config-dir", type=Path, help="your own configuration folder, with experiment/*.yaml")
    args = parser.parse_args(argv)
    if args.trials is not None and args.fresh is None:
        raise UserError(
            "--trials goes with --fresh only: with the same seed there are as many trials as in the baselines"
        )
    if args.update and args.fresh is not None:
        raise UserError("--update goes without --fresh: baselines hold the numbers of the experiments' own seed")
    output_file("--junit", args.junit)
    if args.results is not None:
        output_folder("--results ", args.results)
    args.baselines = args.baselines or _baselines(args.update)
    return args


def _baselines(update: bool) -> Path:
    """The baselines of the folder one works in, or, to compare with, those that came with dpbench: they are never
    written to from elsewhere."""
    here = RESULTS / "baselines"
    return here if here.is_dir() or update else BASELINES


def _old(args: argparse.Namespace, names: list[str], notes: Console) -> dict[str, Numbers]:
    """The baselines to compare with; to `--update`, an unreadable one is as good as none."""
    found = {}
    for name in utility.names(args.baselines):
        if args.experiment and name not in names:
            continue
        try:
            found[name] = utility.load_one(args.baselines, name)
        except UserError as error:
            if not args.update:
                raise
            notes.print(f"{error}; it is made anew now", markup=False, soft_wrap=True)
    return found


def _names(asked: list[str], config_dir: Path | None) -> list[str]:
    from dpbench.config.catalogue import options

    known = options("experiment", *([config_dir] if config_dir else []))
    for name in asked:
        if name not in known:
            raise unknown("experiment", name, known)
    return asked or known


def _measure(
    names: list[str], results: Path, args: argparse.Namespace, seed: int | None, notes: Console
) -> dict[str, Numbers]:
    overrides: dict[str, Value] = {} if seed is None else {"seed": seed}
    overrides |= {} if args.trials is None else {"trials": args.trials}
    folders = [args.config_dir] if args.config_dir else []
    new: dict[str, Numbers] = {}
    began = time.perf_counter()
    for found in utility.measure(names, results, jobs=args.jobs, overrides=overrides, folders=folders, say=notes.print):
        new[found.experiment] = found
        notes.print(f"{found.experiment}: {len(found.cells)} cells, {time.perf_counter() - began:.1f} s")
    return {name: new[name] for name in names}


def natures() -> Callable[[str, str], Metric | None]:
    """What metrics are, as the tasks themselves declare."""
    from dpbench.tasks.base import TASKS

    def nature(task: str, metric: str) -> Metric | None:
        declared = getattr(TASKS.get(task), "metric", None)  # a stranger's own class may declare nothing
        return declared(metric) if callable(declared) else None

    return nature


def bad(strict: bool) -> set[str]:
    """The statuses that fail a check. What is new cannot have got worse."""
    return {WORSE, GONE, BETTER, CHANGED} if strict else {WORSE, GONE}


def _print(console: Console, found: Comparison, old: dict[str, Numbers], new: dict[str, Numbers]) -> None:
    rows = sorted(found.groups, key=lambda g: (ORDER.index(g.status), g.experiment, g.mechanism))
    if rows:
        table = Table(title="What moved, by experiment, mechanism and metric")
        for head in ("", "experiment", "mechanism", "metric", "cells", "baseline", "now", "change", "p", "most in"):
            table.add_column(head, justify="right" if head in ("cells", "baseline", "now", "change", "p") else "left")
        for group in rows[:MOST_ROWS]:
            extreme = _extreme(found, group)
            change = _shown_change(group)
            numbers = (str(group.cells), f"{group.old:.5g}", f"{group.new:.5g}", change, f"{group.p:.1g}")
            words = (f"[{COLOURS[group.status]}]{group.status}[/]", group.experiment, group.mechanism, group.metric)
            table.add_row(*words, *numbers, escape(extreme))
        if len(rows) > MOST_ROWS:
            table.caption = f"and {len(rows) - MOST_ROWS} more"
        console.print(table)
    for status in (GONE, NEW):
        for line in _listed([e for e in found.entries if e.status == status], old, new):
            console.print(f"[{COLOURS[status]}]{status}[/]: {escape(line)}", soft_wrap=True)
    for experiment, body in new.items():
        before = old[experiment].data if experiment in old else {}
        moved = [name for name, mark in body.data.items() if before.get(name, mark) != mark]
        if moved:
            console.print(
                f"{experiment}: the data of {', '.join(moved)} are others than the baseline's", soft_wrap=True
            )
    counts = ", ".join(f"{found.count(s)} {s}" for s in (SAME, *ORDER[:-1]))
    cells = sum(len(body.cells) for body in new.values())
    console.print(
        f"{cells} cells of {len(new)} experiments, {found.compared} numbers compared; metrics of cells: {counts}."
    )


def _change(entry: Entry) -> float:
    return (entry.new - entry.old) / abs(entry.old) if entry.old else 0.0


def _shown_change(entry: Entry) -> str:
    if not entry.old:
        return "from 0" if entry.new else ""
    return f"{_change(entry):+.2%}" if abs(_change(entry)) < 10 else f"x{entry.new / entry.old:.3g}"


def _extreme(found: Comparison, group: Entry) -> str:
    """The cell that moved most, to know where to look."""
    members = [entry for entry in found.entries if entry.group == group.group]
    entry = max((e for e in members if e.status not in (NEW, GONE)), key=lambda e: abs(_change(e)), default=None)
    skip = ("mechanism", "task")
    return describe({k.rpartition(".")[2]: v for k, v in entry.labels.items() if k not in skip}) if entry else ""


def _listed(entries: list[Entry], old: dict[str, Numbers], new: dict[str, Numbers]) -> list[str]:
    """What is gone or new, whole experiments in one line."""
    lines = []
    for experiment in dict.fromkeys(e.experiment for e in entries):
        mine = [e for e in entries if e.experiment == experiment]
        if (experiment in old) != (experiment in new):
            lines.append(f"{experiment}, {len(mine)} cells")
            continue
        lines += [
            f"{experiment}: {describe(e.labels)}{f', {e.metric}' if e.metric else ''}{f' ({e.note})' if e.note else ''}"
            for e in mine[:20]
        ]
        lines += [f"{experiment}: and {len(mine) - 20} more"] if len(mine) > 20 else []
    return lines


def _status(console: Console, found: Comparison, strict: bool) -> int:
    if not found.compared:
        console.print("[red]Nothing was measured that can be compared with the baselines: the check fails.")
        return 1
    wrong = found.moved & bad(strict)
    if BETTER in found.moved:
        console.print(
            "[yellow]Errors fell[/]: if no change was meant to do that, is the noise still what the privacy budget asks for?"
        )
    if wrong:
        console.print(f"[red]The check fails[/]: {', '.join(s for s in ORDER if s in wrong)}.")
        console.print("If this is meant: python -m dpbench check --update, and say why in the commit.", highlight=False)
        return 1
    console.print("[green]The check passes.")
    return 0


def _update(
    folder: Path,
    found: Comparison,
    new: dict[str, Numbers],
    old: dict[str, Numbers],
    names: list[str],
    console: Console,
    *,
    whole: bool,
) -> int:
    if failed := {name: body.failures for name, body in new.items() if body.failures}:
        reason = next(iter(next(iter(failed.values())).values()))
        raise UserError(f"the baselines stay as they are: trials of {', '.join(failed)} failed ({reason})")
    if not any(body.cells for body in new.values()):
        raise UserError("the baselines stay as they are: nothing was measured")
    for body in new.values():
        utility.save(folder, body)
    gone = utility.forget(folder, set(names)) if whole else []
    console.print(f"\nWrote {len(new)} files to {folder}. For the commit message:\n", highlight=False, soft_wrap=True)
    for line in message(found, new, old, gone):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    return 0


def message(found: Comparison, new: dict[str, Numbers], old: dict[str, Numbers], gone: list[str]) -> list[str]:
    """What to put in the commit message: the moves, largest first, and room for the reason."""
    fresh = [name for name in new if name not in old]
    lines = ["Baselines: <why the numbers moved>", ""]
    groups = sorted(found.groups, key=lambda g: -abs(_change(g)))
    lines += [
        f"{g.experiment}: {g.mechanism} {g.metric} {g.old:.4g} -> {g.new:.4g} ({_shown_change(g)}, {g.status}, {g.cells} cells)"
        for g in groups[:20]
    ]
    lines += [f"and {len(groups) - 20} more"] if len(groups) > 20 else []
    lines += [f"first numbers of {', '.join(fresh)}"] if fresh else []
    lines += [f"no more: {', '.join(gone)}"] if gone else []
    return lines if len(lines) > 2 else ["Baselines: nothing moved"]
