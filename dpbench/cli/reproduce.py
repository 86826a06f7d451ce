"""`reproduce`: reproduces a paper with one command: runs, draws, judges, reports, and compares with the record.

All experiments are planned together, so that settings shared by several of them are computed once. Finished trials are kept:
the same command continues after an interruption. The exit status is 1 if a number differs from the record, or if trials
failed.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from dpbench.cli import common
from dpbench.config.overrides import OverrideValue
from dpbench.config.schema import SCALES
from dpbench.engine.plan import Plan
from dpbench.engine.progress import Progress, describe_plans, display
from dpbench.errors import UserError, output_folder
from dpbench.paths import RECORD
from dpbench.storage.record import read, read_numbers, write

if TYPE_CHECKING:
    from dpbench.reproduce.carry_out import Reproduced
    from dpbench.reproduce.comparison import Pair

MOST = 20  # largest number of differences that are printed


def main(argv: list[str]) -> int:
    args = _arguments(argv)

    from dpbench.reproduce.carry_out import carry_out, experiments_of
    from dpbench.reproduce.comparison import Pair
    from dpbench.reproduce.make_record import record_audits

    console, notes = common.console(), common.notes()
    began = time.perf_counter()
    experiments = experiments_of(args.paper)
    common.warn_of_old(args.results, notes)
    pairs: list[Pair] = []
    finished: list[Reproduced] = []
    problems: list[str] = []
    with display(console=notes) as progress:
        plans, on_files = _plans(args, experiments, progress, notes)
        for done in carry_out(plans, progress=progress, evidence=on_files):
            if done.problem:
                problems.append(f"{done.run.name}: {done.problem}")
                continue
            console.print(_describe(done))
            if done.record is not None and done.numbers is not None:
                recorded = read(done.run.name)
                if recorded is not None:
                    pairs.append(Pair(done.record, done.numbers, recorded, read_numbers(recorded)))
                finished.append(replace(done, record=done.record.after(recorded)))
                if args.record:
                    _record(finished[-1:])
    if args.record and finished:
        _record(finished)  # again, because experiments that ended later may also be evidence
        record_audits(RECORD)
    for path in _documents(args, experiments):
        console.print(f"wrote {path}")
    same = _compare(console, pairs, [plan.run.name for plan in plans])
    minutes = (time.perf_counter() - began) / 60
    console.print(f"{describe_plans(plans)} in {minutes:.1f} minutes")
    for problem in problems:
        notes.print(f"[red]problem[/]: {escape(problem)}")
    return 0 if same and not problems else 1


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = common.parser_of("reproduce", __doc__)
    add = parser.add_argument
    papers = "gs, sparse, analytics, sensitivity, epicrec, cross, or ids (default: the five papers)"
    add("paper", nargs="*", help=papers)
    standard = "sizes and trials (default: the size of the paper; of a board, its standard one)"
    add("--scale", choices=SCALES, help=standard)
    files = "original files of a dataset, for the boards of real data, such as kos=FOLDER; may be repeated"
    add("--path", action="append", default=[], metavar="DATASET=PATH", help=files)
    common.add_results(parser)
    common.add_jobs(parser)
    add("--seed", type=int, default=0, help="seed of the noise (default: 0)")
    add("--data-seed", type=int, default=0, help="seed of generated data (default: 0)")
    add("--record", action="store_true", help="write the results to the record, replacing the old ones")
    add("--artifact", type=Path, metavar="FOLDER", help="write the bundle for an artifact reviewer")
    args = parser.parse_args(argv)
    output_folder("--results ", args.results)
    if args.artifact is not None:
        output_folder("--artifact ", args.artifact)
    return args


def _plans(
    args: argparse.Namespace, experiments: list[str], progress: Progress, notes: Console
) -> tuple[list[Plan], list[Plan]]:
    """The plans of the experiments, and those on original files that are here."""
    from dpbench.reproduce.carry_out import plans_of, plans_on_files

    overrides: dict[str, OverrideValue] = {
        key: seed for key, seed in (("seed", args.seed), ("data_seed", args.data_seed)) if seed
    }
    options: dict[str, Any] = {"scale": args.scale, "results": args.results, "jobs": args.jobs, "overrides": overrides}

    def possible(planned: Iterable[Plan | UserError]) -> Iterator[Plan]:
        for plan in planned:
            if isinstance(plan, UserError):
                notes.print(f"left out: {escape(str(plan))}")
            else:
                yield plan

    # On files first: then the newest run of an experiment is the one as it is defined, which decides its claims.
    on_files = list(possible(plans_on_files(experiments, **options, say=progress.prepare)))
    plans = list(possible(plans_of(experiments, _paths(args.path, experiments), **options, say=progress.prepare)))
    if not plans:
        raise UserError("nothing is left to run")
    return plans, on_files


def _paths(given: Sequence[str], experiments: Sequence[str]) -> dict[str, str]:
    """Where the files of datasets are, by dataset."""
    from dpbench.reproduce.carry_out import reads

    paths = {}
    for word in given:
        dataset, sign, path = word.partition("=")
        if not sign or not path:
            raise UserError(f"--path {word}: expected DATASET=PATH, such as kos=bagofwords")
        if not any(reads(name, dataset) for name in experiments):
            raise UserError(f"--path {word} has no effect: no experiment on original files reads {dataset}")
        paths[dataset] = path
    return paths


def _record(finished: Sequence[Reproduced]) -> None:
    """Write these experiments to the record, with the verdicts from all runs so far."""
    from dpbench.reproduce.make_record import judge_of, verdicts

    judge = judge_of(finished[0].run)
    for done in finished:
        assert done.record is not None
        assert done.numbers is not None
        write(replace(done.record, verdicts=verdicts(done.run, judge)), done.numbers, RECORD)


def _describe(done: Reproduced) -> str:
    """What an experiment cost, and how many of its claims have each verdict, by their strongest evidence."""
    if done.record is None:
        return f"{done.run.name} on the original files of {', '.join(done.run.original_datasets)}: done"
    costs = done.record.costs
    computed = f"{costs.computing:.0f} s of releases, some of them found finished"
    took = f"{costs.seconds:.0f} s" if costs.seconds is not None else computed
    memory = f", {costs.memory / 1e9:.1f} GB" if costs.memory else ""
    strongest = {verdict.claim: verdict.verdict for verdict in reversed(done.record.verdicts)}
    decided = ", ".join(f"{count} {verdict}" for verdict, count in Counter(strongest.values()).items())
    return f"{done.run.name}: {took}{memory}; {decided or 'no claims'}"


def _documents(args: argparse.Namespace, experiments: list[str]) -> Iterator[Path]:
    """Write the report and, if requested, the bundle for a reviewer. Gives the files."""
    from dpbench.report.gather import gather
    from dpbench.report.page import write

    output = args.results / "report.html"
    write(gather(args.results, args.scale, lambda _: None, experiments, audit=True), output)
    yield output
    if args.artifact is not None:
        from dpbench.reproduce.artifact import write_artifact

        yield from write_artifact(args.artifact, experiments, args.results, args.scale or "paper")


def _compare(console: Console, pairs: list[Pair], names: list[str]) -> bool:
    """Print the numbers that differ from the record, what could not be compared, and the counts. False if one differs."""
    from dpbench.reproduce.comparison import compare

    known = {pair.run.experiment for pair in pairs}
    if missing := [name for name in names if name not in known]:
        console.print(f"Not in the record: {', '.join(missing)}")
    if not pairs:
        return True
    comparison = compare(pairs)
    if differences := comparison.differences:
        heads = ("experiment", "where", "number", "recorded", "found", "p")
        table = Table(*(Column(head, overflow="fold") for head in heads), title="Differs from the record")
        for d in differences[:MOST]:
            p = f"{d.p:.1e}" if d.p else "must be equal"
            table.add_row(d.experiment, d.where, d.column, f"{d.recorded:.6g}", f"{d.found:.6g}", p)
        console.print(table)
        if len(differences) > MOST:
            console.print(f"and {len(differences) - MOST} more")
    for problem in comparison.problems:
        console.print(f"not compared: {problem}", markup=False)
    console.print(
        f"Compared with the record: {comparison.exact} numbers that must be equal, {comparison.tested} tested jointly "
        f"at 1 %, {comparison.untested} without a standard error; {len(differences)} differ"
    )
    return not differences
