"""`claims`: each claim of the papers: reproduced, contradicted, inconclusive or not testable, with the numbers.

A contradicted claim is a finding, so the exit status is 0 whatever the verdicts.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpbench.claims import Judge, Verdict
from dpbench.config import SCALES
from dpbench.ledger import CONTRADICTED, INCONCLUSIVE, REPRODUCED, UNTESTABLE, VERDICTS, Claim, ledger

WIDTH = 170  # of what is printed into a pipe
COLOURS = {REPRODUCED: "green", CONTRADICTED: "red", INCONCLUSIVE: "yellow", UNTESTABLE: "dim"}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench claims", description=__doc__)
    parser.add_argument("paper", nargs="*", help="gs, sparse, analytics, sensitivity, epicrec (default: all)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the runs (default: results)")
    parser.add_argument(
        "--scale", choices=SCALES, help="judge the runs of this scale (default: each experiment's latest run)"
    )
    parser.add_argument("--run", action="store_true", help="first run what is missing, at --scale (default: laptop)")
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes of --run (default: one a core)")
    args = parser.parse_args(argv)
    claims = ledger(args.paper)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    if args.run:
        _run_missing(claims, args.results, args.scale, args.jobs)
    judge = Judge(args.results, args.scale)
    verdicts = [judge.verdict(claim) for claim in claims]
    for paper in dict.fromkeys(claim.paper for claim in claims):
        console.print(table(paper, [v for v in verdicts if v.claim.paper == paper]))
    _print_counts(console, verdicts)
    _print_missing(console, verdicts, judge)
    return 0


def _run_missing(claims: list[Claim], results: Path, scale: str | None, jobs: int) -> None:
    from dpbench.suite import run_experiment

    notes = Console(stderr=True, highlight=False)
    have = Judge(results, scale).manifests
    for experiment in dict.fromkeys(c.experiment for c in claims if c.experiment and not c.untestable):
        if experiment not in have:
            notes.print(f"running {experiment} at scale {scale or 'laptop'}")
            _, result = run_experiment(experiment, results=results, scale=scale or "laptop", jobs=jobs, say=notes.print)
            if result.failed:
                notes.print(f"[red]{result.failed} trials of {experiment} failed")


def table(paper: str, verdicts: list[Verdict]) -> Table:
    found = Table(title=f"Claims of {paper}", show_lines=True)
    for head in ("claim", "verdict", "measured", "95 % interval", "paper"):
        found.add_column(head, overflow="fold", ratio={"claim": 5, "measured": 2, "95 % interval": 2}.get(head, 1))
    for v in verdicts:
        claim = v.claim
        remarks = "; ".join(filter(None, (claim.place, claim.basis, claim.evidence)))
        text = f"[bold]{claim.id}[/] ({escape(remarks)})\n{escape(claim.says)}"
        if v.reason:
            text += f"\n[dim]{escape(v.reason)}[/]" + (f"\n[dim]{v.command}[/]" if v.command else "")
        measured = "\n".join(filter(None, (v.measured, f"[dim]{v.where}[/]" if v.where else "")))
        colour = COLOURS[v.verdict]
        found.add_row(text, f"[{colour}]{v.verdict}[/]", measured, v.interval, escape(claim.expect))
    return found


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


def _print_missing(console: Console, verdicts: list[Verdict], judge: Judge) -> None:
    missing = dict.fromkeys(
        v.claim.experiment for v in verdicts if v.claim.experiment and v.claim.experiment not in judge.manifests
    )
    if missing:
        console.print(f"Not run yet: {', '.join(missing)}", soft_wrap=True)
        console.print("Run them: python -m dpbench claims --run", highlight=False)
