"""`reproduce`: reproduces a paper with one command: runs, draws, judges, reports, and compares with the record.

All experiments are planned together, so that settings shared by several of them are computed once. Finished trials are kept:
the same command continues after an interruption. The exit status is 1 if a number differs from the record, or if trials
failed.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from dpbench.cli import common
from dpbench.cli.progress import plans_bar, preparing, told
from dpbench.cli.run import check_folder, warning
from dpbench.config.schema import SCALES
from dpbench.config.words import Value
from dpbench.engine.plan import Plan
from dpbench.errors import UserError, output_folder
from dpbench.paths import RECORD
from dpbench.results.commands import RESULTS
from dpbench.results.record import Record, read

if TYPE_CHECKING:
    from dpbench.reproduce.carry_out import Reproduced
    from dpbench.reproduce.comparison import Pair


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench reproduce", description=__doc__)
    parser.add_argument(
        "paper", nargs="*", help="gs, sparse, analytics, sensitivity, epicrec, cross, or ids (default: the five papers)"
    )
    parser.add_argument("--scale", choices=SCALES, default="paper", help="sizes and trials (default: paper)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the runs (default: results)")
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise (default: 0)")
    parser.add_argument("--record", action="store_true", help="write the results to the record, replacing the old ones")
    parser.add_argument("--artifact", type=Path, metavar="FOLDER", help="write the bundle for an artifact reviewer")
    args = parser.parse_args(argv)
    output_folder("--results ", args.results)
    if args.artifact is not None:
        output_folder("--artifact ", args.artifact)
    return _Session(args).carry_out()


class _Session:
    """One call of the verb."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.console, self.notes = common.console(), common.notes()
        self.problems: list[str] = []

    def carry_out(self) -> int:
        from dpbench.reproduce.carry_out import carry_out, experiments_of
        from dpbench.reproduce.comparison import Pair

        began = time.perf_counter()
        experiments = experiments_of(self.args.paper)
        check_folder(self.args.results, self.notes)
        plans, on_files = self._plans(experiments)
        pairs: list[Pair] = []
        finished: list[Reproduced] = []
        with plans_bar([*plans, *on_files], told(plans), self.notes) as advance:
            for done in carry_out(plans, say=warning(self.notes), advance=advance, evidence=on_files):
                self._tell(done)
                if done.record is not None and done.numbers is not None:
                    recorded = read(done.run.name)
                    if recorded is not None:
                        pairs.append(Pair(done.record, done.numbers, recorded, recorded.numbers()))
                    finished.append(replace(done, record=done.record.after(recorded)))
                    self._record(finished[-1:])
        self._record(finished)  # again, because experiments that ended later may also be evidence
        self._report()
        if self.args.artifact is not None:
            self._artifact(experiments)
        same = self._compare(pairs, [plan.run.name for plan in plans])
        minutes = (time.perf_counter() - began) / 60
        self.console.print(f"{told(plans)} in {minutes:.1f} minutes", highlight=False)
        for problem in self.problems:
            self.notes.print(f"[red]problem[/]: {escape(problem)}", soft_wrap=True)
        return 0 if same and not self.problems else 1

    def _plans(self, experiments: list[str]) -> tuple[list[Plan], list[Plan]]:
        """The plans of the experiments, and those on original files that are here."""
        from dpbench.reproduce.carry_out import plans_of, plans_on_files

        args = self.args
        overrides: dict[str, Value] = {"seed": args.seed} if args.seed else {}
        found: list[list[Plan]] = []
        with preparing(self.notes) as say:
            # On files first: then the newest run of an experiment is the one as it is defined, which decides its claims.
            for make in (plans_on_files, plans_of):
                found.append([])
                for plan in make(
                    experiments, scale=args.scale, results=args.results, jobs=args.jobs, overrides=overrides, say=say
                ):
                    if isinstance(plan, UserError):
                        self.notes.print(f"left out: {escape(str(plan))}", soft_wrap=True)
                    else:
                        found[-1].append(plan)
        on_files, plans = found
        if not plans:
            raise UserError("nothing is left to run")
        return plans, on_files

    def _record(self, finished: Sequence[Reproduced]) -> None:
        """With --record, write these experiments to the record, with the verdicts from all runs so far."""
        from dpbench.reproduce.take import judge_of, verdicts

        if not self.args.record or not finished:
            return
        judge = judge_of(finished[0].run)
        for done in finished:
            assert done.record is not None
            assert done.numbers is not None
            replace(done.record, verdicts=verdicts(done.run, judge)).save(done.numbers, RECORD)

    def _tell(self, done: Reproduced) -> None:
        name, record = done.run.name, done.record
        if done.problem:
            self.problems.append(f"{name}: {done.problem}")
            return
        if record is None:
            files = ", ".join(done.run.original_datasets)
            self.console.print(f"{name} on the original files of {files}: done", highlight=False, soft_wrap=True)
            return
        costs = record.costs
        computed = f"{costs.computing:.0f} s of releases, some of them found finished"
        took = f"{costs.seconds:.0f} s" if costs.seconds is not None else computed
        memory = f", {costs.memory / 1e9:.1f} GB" if costs.memory else ""
        decided = ", ".join(f"{n} {v}" for v, n in _counts(record).items())
        self.console.print(f"{name}: {took}{memory}; {decided or 'no claims'}", highlight=False, soft_wrap=True)

    def _report(self) -> None:
        from dpbench.report.gather import gather
        from dpbench.report.page import write

        facts = gather(self.args.results, self.args.scale, lambda _: None)
        output = self.args.results / "report.html"
        write(facts, output)
        self.console.print(f"wrote {output}", highlight=False, soft_wrap=True)

    def _artifact(self, experiments: list[str]) -> None:
        from dpbench.reproduce.artifact import write_artifact

        for path in write_artifact(self.args.artifact, experiments, self.args.results, self.args.scale):
            self.console.print(f"wrote {path}", highlight=False, soft_wrap=True)

    def _compare(self, pairs: list[Pair], names: list[str]) -> bool:
        """Print how the numbers compare with the record. False if one differs."""
        from dpbench.cli.record_tables import print_comparison
        from dpbench.reproduce.comparison import compare

        known = {pair.run.experiment for pair in pairs}
        if missing := [name for name in names if name not in known]:
            self.console.print(f"Not in the record: {', '.join(missing)}", highlight=False, soft_wrap=True)
        if not pairs:
            return True
        found = compare(pairs)
        print_comparison(self.console, found)
        return not found.differences


def _counts(record: Record) -> dict[str, int]:
    """How many claims have each verdict, by their strongest evidence."""
    strongest = {verdict.claim: verdict.verdict for verdict in reversed(record.verdicts)}
    return dict(Counter(strongest.values()))
