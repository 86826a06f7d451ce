"""`claims`: each claim of the papers: reproduced, contradicted, inconclusive or not testable, with the numbers.

A contradicted claim is a finding, so the exit status is 0 whatever the verdicts.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from rich.console import Console, Group
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dpbench.claims.judge import Judge
from dpbench.claims.ledger import CONTRADICTED, INCONCLUSIVE, REPRODUCED, UNTESTABLE, VERDICTS, Claim, ledger
from dpbench.claims.verdicts import Verdict
from dpbench.cli import common
from dpbench.config.schema import SCALES
from dpbench.errors import output_folder
from dpbench.results.commands import RESULTS

WIDTH = 170  # of what is printed into a pipe
NARROW = 130  # below, a table would break every word: claims are listed one after the other
COLOURS = {REPRODUCED: "green", CONTRADICTED: "red", INCONCLUSIVE: "yellow", UNTESTABLE: "dim"}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench claims", description=__doc__)
    parser.add_argument("paper", nargs="*", help="gs, sparse, analytics, sensitivity, epicrec (default: all)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the runs (default: results)")
    parser.add_argument(
        "--scale", choices=SCALES, help="judge the runs of this scale (default: each experiment's latest run)"
    )
    parser.add_argument("--run", action="store_true", help="first run what is missing, at --scale (default: laptop)")
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes of --run (default: one a core)")
    args = parser.parse_args(argv)
    claims = ledger(args.paper)
    output_folder("--results ", args.results)
    console = common.console(WIDTH)
    if args.run:
        _run_missing(claims, args.results, args.scale, args.jobs)
    judge = Judge(args.results, args.scale)
    verdicts = [judge.verdict(claim) for claim in claims]
    show = table if console.width >= NARROW else listing
    for paper in dict.fromkeys(claim.paper for claim in claims):
        console.print(show(f"Claims of {paper}", [v for v in verdicts if v.claim.paper == paper]))
    _print_counts(console, verdicts)
    _print_remarks(console, verdicts, judge)
    _print_missing(console, verdicts, judge, shlex.join(["python", "-m", "dpbench", "claims", *argv]))
    return 0


def _print_remarks(console: Console, verdicts: list[Verdict], judge: Judge) -> None:
    for experiment in dict.fromkeys(v.claim.experiment for v in verdicts if v.claim.experiment in judge.runs):
        for remark in judge.remarks(experiment):
            console.print(f"note: {experiment}: {remark}", highlight=False, markup=False, soft_wrap=True)


def _run_missing(claims: list[Claim], results: Path, scale: str | None, jobs: int) -> None:
    from dpbench.engine.suite import run_experiments

    notes = common.notes()
    have = Judge(results, scale)
    asked = dict.fromkeys(c.experiment for c in claims if c.experiment and not c.untestable)
    missing = [experiment for experiment in asked if have.unfinished(experiment)]
    if not missing:
        return
    notes.print(f"running at scale {scale or 'laptop'}: {', '.join(missing)}", soft_wrap=True)
    for plan, result in run_experiments(missing, results=results, scale=scale or "laptop", jobs=jobs, say=notes.print):
        notes.print(f"{plan.run.name}: {result.computed} trials computed, {result.found} found finished")
        if result.failed:
            notes.print(f"[red]{result.failed} trials of {plan.run.name} failed")


def table(title: str, verdicts: list[Verdict]) -> Table:
    found = Table(title=title, show_lines=True, expand=True)
    widths = {"claim": 9, "verdict": 2, "measured": 4, "95 % interval": 3, "paper": 3}
    for head, share in widths.items():
        found.add_column(head, overflow="fold", ratio=share, min_width=len(UNTESTABLE))
    for v in verdicts:
        measured = Text("\n").join(filter(None, (Text(v.measured), Text(v.where, "dim"))))
        found.add_row(_about(v), Text(v.verdict, COLOURS[v.verdict]), measured, v.interval, escape(v.claim.expect))
    return found


def listing(title: str, verdicts: list[Verdict]) -> Group:
    """The same for a narrow screen: a paragraph a claim."""
    parts: list[Text | Padding] = [Text(title, "bold italic")]
    for v in verdicts:
        interval = f"95 % interval {v.interval}" if v.interval else ""
        numbers = filter(None, (f"measured {v.measured}" if v.decider else "", v.where, interval))
        paper = f"paper {v.claim.expect}" if v.claim.expect else ""
        last = Text("; ".join(filter(None, (", ".join(numbers), paper))))
        about = _about(v)
        parts += [Text(v.verdict, COLOURS[v.verdict]), Padding(Text("\n").join([about, last]), (0, 0, 1, 2))]
    return Group(*parts)


def _about(v: Verdict) -> Text:
    """What is claimed and where, and what is to be said of the verdict."""
    claim = v.claim
    remarks = "; ".join(filter(None, (claim.place, claim.basis, claim.evidence)))
    lines = [Text.assemble((claim.id, "bold"), f" ({remarks})"), Text(claim.says)]
    behind = claim.note if v.verdict != UNTESTABLE else ""
    lines += [Text(text, "dim") for text in (v.reason, v.command, behind) if text]
    return Text("\n").join(lines)


def _print_counts(console: Console, verdicts: list[Verdict]) -> None:
    counts = {name: sum(v.verdict == name for v in verdicts) for name in VERDICTS}
    console.print(f"{len(verdicts)} claims: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    known = [v for v in verdicts if v.claim.basis == "erratum"]
    if known:
        count = sum(v.verdict == CONTRADICTED for v in known)
        console.print(f"{len(known)} of them are known errata, {count} of which are contradicted here as expected.")
    scales = sorted({v.scale for v in verdicts if v.scale}, key=SCALES.index)
    if scales:
        console.print(f"Scale of the runs: {', '.join(scales)}. Intervals are about the noise, the data are one draw.")


def _print_missing(console: Console, verdicts: list[Verdict], judge: Judge, command: str) -> None:
    missing = dict.fromkeys(
        v.claim.experiment for v in verdicts if v.claim.experiment and v.claim.experiment not in judge.runs
    )
    if missing:
        if not judge.runs:
            console.print(f"There are no runs in {judge.results}.", highlight=False, markup=False, soft_wrap=True)
        console.print(f"Not run yet: {', '.join(missing)}", soft_wrap=True)
        console.print(f"Run them: {command} --run", highlight=False, markup=False, soft_wrap=True)
