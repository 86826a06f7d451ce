"""`check`: compares every experiment at smoke scale with the committed baselines, for continuous integration.

Exit status 1 if a number moved (even if it improved), if something is gone, or if nothing was measured. --allow-better lets
numbers move as long as none gets worse; --strict also fails on numbers that have no baseline yet. With --record, chosen
experiments are instead compared with the record, at paper size.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpbench.check import baselines
from dpbench.check.account import Account, failing, shown_change, shown_number
from dpbench.check.baselines import Numbers
from dpbench.check.closeness import TOLERANCE
from dpbench.check.comparison import compare
from dpbench.check.entries import BETTER, CHANGED, GONE, MIN_EFFECT, NEW, WORSE, natures
from dpbench.check.fresh import ALPHA, TIMES_AS_MANY
from dpbench.check.measure import measure
from dpbench.cli import common
from dpbench.config.folders import HERE
from dpbench.config.words import Value
from dpbench.errors import UserError, output_file, output_folder, unknown
from dpbench.paths import BASELINES
from dpbench.results.commands import RESULTS

WIDTH = 170  # characters per line of output into a pipe
MOST_ROWS = 60
COLOURS = {WORSE: "red", GONE: "red", BETTER: "yellow", CHANGED: "yellow", NEW: "cyan"}
HEAD = ("", "experiment", "mechanism", "column", "cells", "baseline", "now", "change", "p", "where")
RIGHT = ("cells", "baseline", "now", "change", "p")


def main(argv: list[str]) -> int:
    args = _arguments(argv)
    if args.record:
        from dpbench.cli import check_record

        return check_record.main(args)
    args.own_baselines = args.baselines is not None
    args.baselines = args.baselines or _baselines(args.update)
    began = time.perf_counter()
    notes = common.notes()
    names = guarded_names(args)
    old = _old(args, names, notes)
    if not old and not args.update:
        which = "baselines of " + ", ".join(args.experiment) if args.experiment else "baselines"
        # --update writes into the user's current folder, never into the baselines that come with dpbench.
        place = args.baselines if args.own_baselines else RESULTS / "baselines"
        raise UserError(f"there are no {which} in {place}: {_update_command(args, args.experiment)} makes them")
    seed = secrets.randbelow(2**31) if args.fresh == -1 else args.fresh
    with ExitStack() as stack:
        results = args.results or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dpbench-check-")))
        try:
            new = _measure(names, results, args, seed, old, notes)
        except KeyboardInterrupt as stop:
            kept = (
                f"finished trials are kept in {results}" if args.results else "--results FOLDER keeps finished trials"
            )
            raise type(stop)(f"nothing was compared; {kept}") from None
    found = compare(old, new, natures(), same_seed=seed is None)
    bad = failing(strict=args.strict, allow_better=args.allow_better)
    account = Account(found, old, new, bad, seed, time.perf_counter() - began)
    console = common.console(WIDTH, stderr=args.json == common.PRINTED)
    _print(console, account)
    status = _update(args, account, names, console) if args.update else _judge(args, account, console)
    _write(args, account, notes)
    return status


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dpbench check", description=__doc__)
    parser.add_argument("experiment", nargs="*", help="ids such as gs/fig9 (default: all guarded experiments)")
    parser.add_argument("--update", action="store_true", help="write the numbers as the new baselines")
    parser.add_argument(
        "--allow-better", action="store_true", help="numbers may move as long as none gets worse or is gone"
    )
    parser.add_argument(
        "--strict", action="store_true", help="also fail on cells and columns that have no baseline yet"
    )
    parser.add_argument(
        "--fresh",
        nargs="?",
        type=int,
        const=-1,
        metavar="SEED",
        help="use other noise and compare statistically (default: a random seed)",
    )
    parser.add_argument(
        "--trials",
        type=int,
        help=f"trials per cell with --fresh (default: {TIMES_AS_MANY} for each trial of the baselines)",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="compare papers or experiments with the record, with fresh noise and at the record's scale",
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report, one test case per cell")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write a Markdown summary, for a CI job")
    common.add_json(parser, "all results")
    parser.add_argument(
        "--baselines", type=Path, help="folder of the baselines (default: ./results/baselines, or else dpbench's own)"
    )
    parser.add_argument("--results", type=Path, help="keep the trials in this folder (default: a temporary one)")
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")
    parser.add_argument("--config-dir", type=Path, help="your own configuration folder, with experiment/*.yaml")
    args = parser.parse_args(argv)
    if args.trials is not None and args.fresh is None and not args.record:
        raise UserError(
            "--trials goes with --fresh only: with the same seed there are as many trials as in the baselines"
        )
    if args.update and args.fresh is not None:
        raise UserError("--update does not go with --fresh: baselines hold the numbers of the experiments' own seed")
    if args.strict and args.allow_better:
        raise UserError("--strict and --allow-better contradict each other: give one of them")
    for option in ("junit", "summary"):
        output_file(f"--{option}", getattr(args, option))
    if args.results is not None:
        output_folder("--results ", args.results)
    return args


def _baselines(update: bool) -> Path:
    """The folder of baselines: the one in the current folder or, for comparison only, the one that comes with dpbench. The
    latter is never written from elsewhere."""
    here = RESULTS / "baselines"
    return here if here.is_dir() or update else BASELINES


def guarded_names(args: argparse.Namespace) -> list[str]:
    """The experiments to run. If none is requested: in a user's folder, the user's own experiments and those that have
    baselines there; elsewhere, all of dpbench's."""
    from dpbench.config.catalogue import guarded, options

    folders = [args.config_dir] if args.config_dir else []
    known, ours = options("experiment", *folders), set(options("experiment"))
    for name in args.experiment:
        if name not in known:
            raise unknown("experiment", name, known)
        if not guarded(name, *folders):
            raise UserError(f"{name} is not guarded by `check`: its YAML says `baseline: false`")
    if args.experiment:
        return list(args.experiment)
    candidates = [name for name in known if guarded(name, *folders)]
    if args.baselines.resolve() == BASELINES.resolve():
        return candidates
    stored = set(baselines.names(args.baselines))
    return [name for name in candidates if name in stored or name not in ours] or candidates


def _old(args: argparse.Namespace, names: list[str], notes: Console) -> dict[str, Numbers]:
    """The baselines to compare with; for `--update`, an unreadable one counts as missing."""
    found = {}
    for name in baselines.names(args.baselines):
        if args.experiment and name not in names:
            continue
        try:
            found[name] = baselines.load_one(args.baselines, name)
        except UserError as error:
            if not args.update:
                raise
            notes.print(f"{error}; it is rewritten now", markup=False, soft_wrap=True)
    return found


def _measure(
    names: list[str],
    results: Path,
    args: argparse.Namespace,
    seed: int | None,
    old: dict[str, Numbers],
    notes: Console,
) -> dict[str, Numbers]:
    overrides: dict[str, Value] = {} if seed is None else {"seed": seed}
    trials = {}
    if args.trials is not None:
        overrides["trials"] = args.trials
    elif seed is not None:
        trials = {name: TIMES_AS_MANY * old[name].trials for name in names if name in old}
    folders = [args.config_dir] if args.config_dir else []
    new: dict[str, Numbers] = {}
    began = time.perf_counter()
    for found in measure(
        names, results, jobs=args.jobs, overrides=overrides, trials=trials, folders=folders, say=notes.print
    ):
        new[found.experiment] = found
        notes.print(f"{found.experiment}: {len(found.cells)} cells, {time.perf_counter() - began:.1f} s")
    return {name: new[name] for name in names}


# Output.


def _print(console: Console, account: Account) -> None:
    if account.moves:
        table = Table(title="What moved, by experiment, mechanism and column")
        for head in HEAD:
            table.add_column(head, justify="right" if head in RIGHT else "left")
        for group in account.moves[:MOST_ROWS]:
            words = (f"[{COLOURS[group.status]}]{group.status}[/]", group.experiment, group.mechanism, group.metric)
            numbers = (shown_number(group.old), shown_number(group.new), shown_change(group))
            p = f"{group.p:.1g}" if group.p < 1 else ""
            table.add_row(*words, str(group.cells or ""), *numbers, p, escape(account.extreme(group)))
        if len(account.moves) > MOST_ROWS:
            table.caption = f"and {len(account.moves) - MOST_ROWS} more"
        console.print(table)
    for status in (GONE, NEW):
        for line in account.listed(status):
            console.print(f"[{COLOURS[status]}]{status}[/]: {escape(line)}", soft_wrap=True)
    console.print(account.counted, soft_wrap=True)
    if account.seed is None:
        rule = (
            f"Same seed: numbers count as equal up to a relative {TOLERANCE:g}, as last digits depend on the machine."
        )
    else:
        rule = (
            f"Fresh seed {account.seed} (--fresh {account.seed} repeats it): exact permutation tests over the cells of a "
            f"mechanism; unchanged code fails with a probability of at most {ALPHA:g}."
        )
    console.print(rule, soft_wrap=True)
    console.print(
        f"Worse and better need significance and a move of {MIN_EFFECT:.0%}. {account.seconds:.0f} s.", soft_wrap=True
    )


def _judge(args: argparse.Namespace, account: Account, console: Console) -> int:
    if BETTER in account.found.moved:
        console.print(
            "[yellow]Errors fell[/]: if no change was meant to do that, is the noise still what the privacy budget requires?"
        )
    if account.passes:
        console.print("[green]The check passes.")
        return 0
    console.print(f"[red]{escape(account.verdict)}")
    if account.wrong:
        allow = "" if args.allow_better or {WORSE, GONE} & {*account.wrong} else "--allow-better lets it pass once. "
        update = _update_command(args, _moved_names(args, account))
        console.print(
            f"{allow}If this is intended: {update}, and say why in the commit.",
            highlight=False,
            soft_wrap=True,
            markup=False,
        )
    return 1


def _moved_names(args: argparse.Namespace, account: Account) -> list[str]:
    """The experiments to update: those in which something fails; all requested ones if it is not known which fail."""
    failed = [e for e in (*account.found.entries, *account.found.groups) if e.status in account.bad]
    names = [name for name in account.new if any(entry.experiment == name for entry in failed)]
    known = {entry.experiment for entry in failed} <= {*account.new}
    return names if known and len(names) < max(len(account.new), 2) else list(args.experiment)


def _update_command(args: argparse.Namespace, names: list[str]) -> str:
    """The command that rewrites the baselines of these experiments, and no others."""
    words = ["python", "-m", "dpbench", "check", *names]
    words += ["--config-dir", str(args.config_dir)] if args.config_dir and args.config_dir != Path(HERE) else []
    words += ["--baselines", str(args.baselines)] if args.own_baselines else []
    return shlex.join([*words, "--update"])


def _update(args: argparse.Namespace, account: Account, names: list[str], console: Console) -> int:
    if failed := {name: body.failures for name, body in account.new.items() if body.failures}:
        reason = next(iter(next(iter(failed.values())).values()))
        raise UserError(f"the baselines stay as they are: trials of {', '.join(failed)} failed ({reason})")
    if not any(body.cells for body in account.new.values()):
        raise UserError("the baselines stay as they are: nothing was measured")
    for body in account.new.values():
        baselines.save(args.baselines, body)
    removed = [] if args.experiment else baselines.forget(args.baselines, set(names))
    which = next(iter(account.new)) if len(account.new) == 1 else f"{len(account.new)} experiments"
    done = f"\nWrote the baselines of {which} to {args.baselines}. For the commit message:\n"
    console.print(done, highlight=False, soft_wrap=True)
    for line in account.message(removed):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    return 0


def _write(args: argparse.Namespace, account: Account, notes: Console) -> None:
    from dpbench.check import as_json, junit, summary

    if args.json is not None:
        common.write_json(args.json, as_json.text(account))
    for option, write in (("junit", junit.write), ("summary", summary.write), ("json", None)):
        path = getattr(args, option)
        if path is not None and write is not None:
            write(path, account)
        if path is not None and path != common.PRINTED:
            notes.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)
