"""`check`: compares every experiment at smoke scale with the committed baselines, for continuous integration.

Exit status 1 if a number moved (even if it improved), if something is gone, or if nothing was measured. --allow-better lets
numbers move as long as none gets worse; --strict also fails on numbers that have no baseline yet. For a comparison of chosen
experiments with the record, at paper size and with other noise: `reproduce ... --seed NUMBER`.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from dpbench.cli import common
from dpbench.cli.check_over_time import compare_times, print_history
from dpbench.config.catalogue import HERE
from dpbench.config.overrides import OverrideValue
from dpbench.engine.progress import display
from dpbench.errors import UserError, output_file, output_folder, unknown
from dpbench.gate import audits, baselines, history, speed
from dpbench.gate.baselines import ExperimentNumbers
from dpbench.gate.cells import EXACT, PAPER
from dpbench.gate.closeness import TOLERANCE
from dpbench.gate.comparison import compare
from dpbench.gate.entries import BETTER, CHANGED, GONE, MIN_EFFECT, NEW, WORSE, metrics_of_tasks
from dpbench.gate.measure import measure
from dpbench.gate.new_seed import ALPHA, TIMES_AS_MANY
from dpbench.gate.outcome import HEAD, GateOutcome, as_json, failing
from dpbench.paths import BASELINES
from dpbench.storage.commands import RESULTS

WIDTH = 170  # characters per line of output into a pipe
MOST_ROWS = 60
COLOURS = {WORSE: "red", GONE: "red", BETTER: "yellow", CHANGED: "yellow", NEW: "cyan"}
RIGHT = ("baseline", "now", "change", "p")
NAME_SOME = "name experiments of dpbench to compare them with dpbench's own baselines, such as check gs/fig9"


def main(argv: list[str]) -> int:
    args = _arguments(argv)
    with tempfile.TemporaryDirectory(prefix="dpbench-check-") as temporary:
        return _against_baselines(args, args.results or Path(temporary))


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = common.parser_of("check", __doc__)
    add = parser.add_argument
    add("experiment", nargs="*", help="ids such as gs/fig9 (default: all guarded experiments)")
    add("--update", action="store_true", help="write the numbers as the new baselines")
    add("--allow-better", action="store_true", help="numbers may move as long as none gets worse or is gone")
    add("--strict", action="store_true", help="also fail on cells and columns that have no baseline yet")
    fresh = "use other noise and compare statistically (default: a random seed)"
    add("--fresh", nargs="?", type=int, const=-1, metavar="SEED", help=fresh)
    trials = f"trials per cell with --fresh (default: {TIMES_AS_MANY} for each trial of the baselines)"
    add("--trials", type=int, help=trials)
    add("--junit", type=Path, metavar="FILE", help="write a JUnit report, one test case per cell")
    add("--summary", type=Path, metavar="FILE", help="write a Markdown summary, for a CI job")
    common.add_json(parser, "all results")
    times = "also compare the time of a release with speed.tsv of the baselines; with --update, write it"
    add("--speed", action="store_true", help=times)
    trend = "add the numbers of this commit to history.tsv of the baselines, and draw the trend over commits"
    add("--history", action="store_true", help=trend)
    cells = "instead of experiments, compare one cell of paper size per mechanism: a few minutes"
    add("--paper-cells", action="store_true", help=cells)
    folder = "folder of the baselines (default: ./results/baselines, or else dpbench's own)"
    add("--baselines", type=Path, help=folder)
    add("--results", type=Path, help="keep the trials in this folder (default: a temporary one)")
    common.add_jobs(parser)
    add("--config-dir", type=Path, help="your own configuration folder, with experiment/*.yaml")
    args = parser.parse_args(argv)
    if args.trials is not None and args.fresh is None:
        why = "with the same seed there are as many trials as in the baselines"
        raise UserError(f"--trials goes with --fresh only: {why}")
    if args.update and args.fresh is not None:
        raise UserError("--update does not go with --fresh: baselines hold the numbers of the experiments' own seed")
    if args.history and args.fresh is not None:
        raise UserError("--history does not go with --fresh: numbers of other noise differ without a reason")
    if args.history:
        history.here()  # refuses a folder that is no repository before anything is measured
    if args.strict and args.allow_better:
        raise UserError("--strict and --allow-better contradict each other: give one of them")
    if args.paper_cells and (args.experiment or args.config_dir):
        raise UserError("--paper-cells goes without experiments and --config-dir: it compares cells of its own")
    for option in ("junit", "summary"):
        output_file(f"--{option}", getattr(args, option))
    if args.results is not None:
        output_folder("--results ", args.results)
    return args


def _against_baselines(args: argparse.Namespace, results: Path) -> int:
    began = time.perf_counter()
    notes = common.notes()
    args.own_baselines = args.baselines is not None
    here = RESULTS / "baselines"
    if args.baselines is None:
        # The baselines that come with dpbench are for comparison only: --update writes into the user's current folder.
        named = args.experiment or args.paper_cells
        args.baselines = here if here.is_dir() or args.update or not named else BASELINES
    names = guarded_names(args)
    old = _old(args, names, notes)
    if args.speed and not args.update:
        speed.read(args.baselines)  # before minutes of work, not after them
    if not old and not args.update:
        which = "baselines of " + ", ".join(args.experiment) if args.experiment else "baselines"
        folder = args.baselines if args.own_baselines else here
        raise UserError(f"there are no {which} in {folder}: {_update_command(args, args.experiment)} makes them")
    seed = secrets.randbelow(2**31) if args.fresh == -1 else args.fresh
    try:
        new = _measure(names, results, args, seed, old, notes)
    except KeyboardInterrupt as stop:
        kept = f"finished trials are kept in {results}" if args.results else "--results FOLDER keeps finished trials"
        raise type(stop)(f"nothing was compared; {kept}") from None
    comparison = compare(old, new, metrics_of_tasks(), same_seed=seed is None)
    bad = failing(strict=args.strict, allow_better=args.allow_better)
    outcome = GateOutcome(comparison, old, new, bad, seed, time.perf_counter() - began)
    console = common.console(WIDTH, stderr=args.json == common.PRINTED)
    _print(console, outcome)
    status = _update(args, outcome, names, console) if args.update else _judge(args, outcome, console)
    _write(args, outcome, notes)
    times = compare_times(args.baselines, new, console, update=args.update) if args.speed else None
    if args.history:
        print_history(args.baselines, new, times, console)
    return max(status, times.status if times else 0, _audits(args, console))


def _audits(args: argparse.Namespace, console: Console) -> int:
    """Compare the verdicts of the audit, if all of dpbench is checked and the baselines have them; 1 if one fell."""
    part = args.experiment or args.paper_cells or args.fresh is not None or args.config_dir
    if part or args.baselines.resolve() != BASELINES.resolve():
        return 0
    if args.update:
        written = audits.write_verdicts(args.baselines, audits.audit_findings())
        console.print(f"Wrote the verdicts of the audit to {written}.")
        return 0
    if not (args.baselines / audits.FILE).is_file():
        return 0
    worse = audits.fallen(args.baselines, audits.audit_findings())
    for line in worse:
        console.print(f"[red]audit[/]: {escape(line)}")
    console.print("The check fails: an audit is worse than before." if worse else "The audit's verdicts are as before.")
    return 1 if worse else 0


def guarded_names(args: argparse.Namespace) -> list[str]:
    """The experiments to run. If none is requested: the user's own experiments and those that have baselines in the folder;
    with dpbench's own baselines, all of dpbench's."""
    from dpbench.config.catalogue import guarded, options

    if args.paper_cells:
        return [PAPER.name]
    folders = _folders(args)
    known, ours = options("experiment", *folders), set(options("experiment"))
    for name in args.experiment:
        if name == EXACT.name:
            continue
        if name not in known:
            raise unknown("experiment", name, known)
        if not guarded(name, *folders):
            raise UserError(f"{name} is not guarded by `check`: its YAML says `baseline: false`")
    if args.experiment:
        return list(args.experiment)
    candidates = [name for name in known if guarded(name, *folders)]
    if args.baselines.resolve() == BASELINES.resolve():
        return [*candidates, EXACT.name]
    stored = set(baselines.names(args.baselines))
    if names := [name for name in candidates if name in stored or name not in ours]:
        return names
    if stored:
        gone = f"the baselines in {args.baselines} are of experiments that are gone: {', '.join(sorted(stored))}"
        raise UserError(f"{gone}; restore those, or delete the files of the baselines")
    raise UserError(f"there are no baselines in {args.baselines} and no experiments of your own: {NAME_SOME}")


def _folders(args: argparse.Namespace) -> list[Path]:
    return [args.config_dir] if args.config_dir else []


def _old(args: argparse.Namespace, names: list[str], notes: Console) -> dict[str, ExperimentNumbers]:
    """The baselines to compare with; for `--update`, an unreadable one counts as missing."""
    old = {}
    stored = baselines.names(args.baselines)
    if args.paper_cells:
        stored = [name for name in names if (args.baselines / f"{name}.json").is_file()]
    for name in stored:
        if args.experiment and name not in names:
            continue
        try:
            old[name] = baselines.load_one(args.baselines, name)
        except UserError as error:
            if not args.update:
                raise
            notes.print(f"{error}; it is rewritten now", markup=False)
    return old


def _measure(
    names: list[str],
    results: Path,
    args: argparse.Namespace,
    seed: int | None,
    old: dict[str, ExperimentNumbers],
    notes: Console,
) -> dict[str, ExperimentNumbers]:
    overrides: dict[str, OverrideValue] = {} if seed is None else {"seed": seed}
    trials = {}
    if args.trials is not None:
        overrides["trials"] = args.trials
    elif seed is not None:
        trials = {name: TIMES_AS_MANY * old[name].trials for name in names if name in old}
    options = {"jobs": args.jobs, "overrides": overrides, "trials": trials, "folders": _folders(args)}
    new: dict[str, ExperimentNumbers] = {}
    began = time.perf_counter()
    with display(console=notes) as progress:
        for numbers in measure(names, results, **options, progress=progress):
            new[numbers.experiment] = numbers
            seconds = time.perf_counter() - began
            notes.print(f"{numbers.experiment}: {len(numbers.cells)} cells, {seconds:.1f} s")
    return {name: new[name] for name in names}


def _print(console: Console, outcome: GateOutcome) -> None:
    if rows := outcome.rows():
        heads = [Column(head, justify="right" if head in RIGHT else "left", overflow="fold") for head in HEAD]
        table = Table(*heads, title="What moved: one row per cause, with the numbers of the cell that moved most")
        for status, *row in rows[:MOST_ROWS]:
            table.add_row(f"[{COLOURS[status]}]{status}[/]", *map(escape, row))
        if len(rows) > MOST_ROWS:
            table.caption = f"and {len(rows) - MOST_ROWS} more"
        console.print(table)
    for status in (GONE, NEW):
        for line in outcome.listed(status):
            console.print(f"[{COLOURS[status]}]{status}[/]: {escape(line)}")
    console.print(outcome.counted)
    same = f"Same seed: numbers count as equal up to a relative {TOLERANCE:g}, as last digits depend on the machine."
    fresh = (
        f"Fresh seed {outcome.seed} (--fresh {outcome.seed} repeats it): exact permutation tests over the cells of a "
        f"mechanism; unchanged code fails with a probability of at most {ALPHA:g}."
    )
    console.print(same if outcome.seed is None else fresh)
    console.print(f"Worse and better need significance and a move of {MIN_EFFECT:.0%}. {outcome.seconds:.0f} s.")


def _judge(args: argparse.Namespace, outcome: GateOutcome, console: Console) -> int:
    if BETTER in outcome.comparison.moved:
        question = "if no change was meant to do that, is the noise still what the privacy budget requires?"
        console.print(f"[yellow]Errors fell[/]: {question}")
    if outcome.passes:
        console.print("[green]The check passes.")
        return 0
    console.print(f"[red]{escape(outcome.verdict)}")
    if outcome.wrong:
        allow = "" if args.allow_better or {WORSE, GONE} & {*outcome.wrong} else "--allow-better lets it pass once. "
        update = _update_command(args, _moved_names(args, outcome))
        console.print(f"{allow}If this is intended: {update}, and say why in the commit.", markup=False)
    return 1


def _moved_names(args: argparse.Namespace, outcome: GateOutcome) -> list[str]:
    """The experiments to update: those in which something fails; all requested ones if it is not known which fail."""
    failed = {
        e.experiment for e in (*outcome.comparison.entries, *outcome.comparison.groups) if e.status in outcome.bad
    }
    names = [name for name in outcome.new if name in failed]
    known = failed <= {*outcome.new}
    return names if known and len(names) < max(len(outcome.new), 2) else list(args.experiment)


def _update_command(args: argparse.Namespace, names: list[str]) -> str:
    """The command that rewrites the baselines of these experiments, and no others."""
    words = ["python", "-m", "dpbench", "check", *(["--paper-cells"] if args.paper_cells else names)]
    words += ["--config-dir", str(args.config_dir)] if args.config_dir and args.config_dir != Path(HERE) else []
    words += ["--baselines", str(args.baselines)] if args.own_baselines else []
    return shlex.join([*words, "--update"])


def _update(args: argparse.Namespace, outcome: GateOutcome, names: list[str], console: Console) -> int:
    if failed := {name: numbers.failures for name, numbers in outcome.new.items() if numbers.failures}:
        reason = next(iter(next(iter(failed.values())).values()))
        raise UserError(f"the baselines stay as they are: trials of {', '.join(failed)} failed ({reason})")
    if not any(numbers.cells for numbers in outcome.new.values()):
        raise UserError("the baselines stay as they are: nothing was measured")
    for numbers in outcome.new.values():
        baselines.save(args.baselines, numbers)
    removed = [] if args.experiment or args.paper_cells else baselines.forget(args.baselines, set(names))
    which = next(iter(outcome.new)) if len(outcome.new) == 1 else f"{len(outcome.new)} experiments"
    console.print(f"\nWrote the baselines of {which} to {args.baselines}. For the commit message:\n")
    for line in outcome.message(removed):
        console.print(line, markup=False)
    return 0


def _write(args: argparse.Namespace, outcome: GateOutcome, notes: Console) -> None:
    from dpbench.gate import junit, summary

    if args.json is not None:
        common.write_json(args.json, as_json(outcome))
    if args.junit is not None:
        junit.write(args.junit, outcome)
    if args.summary is not None:
        summary.write(args.summary, outcome)
    for path in (args.junit, args.summary, args.json):
        if path is not None and path != common.PRINTED:
            notes.print(f"wrote {path}", markup=False)
