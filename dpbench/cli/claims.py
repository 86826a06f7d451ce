"""`claims`: gives the verdict on each claim of the papers, with the numbers and the evidence that it rests on.

One line per claim; all details for claims that are named, or for all with --verbose. A contradicted claim is a result, not an
error: the exit status is 0 whatever the verdicts.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from dpbench.auditing.cache import CHANGED
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.claims.original_files import runs_on_files
from dpbench.claims.verdicts import tally
from dpbench.cli import common
from dpbench.cli.claims_show import WIDTH, as_json, followed, line
from dpbench.config import catalogue
from dpbench.config.schema import SCALES
from dpbench.errors import UserError, nearest, output_folder, unknown
from dpbench.model.claim import VERDICTS, Claim
from dpbench.model.verdict import Case, Evidence, Group, Verdict

UNCOUNTED = "repeated claims, and notes and hypotheses of ours"
MOST_NAMED = 6
"""How many of the experiments that were not run are named."""


def main(argv: list[str]) -> int:
    parser = common.parser_of("claims", __doc__)
    add = parser.add_argument
    names = "papers (gs, sparse, analytics, sensitivity, epicrec) or claims (gs/lemma-1); default: all"
    add("name", nargs="*", help=names)
    for option, text in (
        ("--paper", "only claims of this paper"),
        ("--verdict", f"only claims with this verdict: {', '.join(VERDICTS)}"),
        ("--id", "only this claim, with all that is needed to follow its verdict"),
        ("--evidence", f"only claims whose verdict rests on this: {', '.join(Evidence)}"),
    ):
        add(option, action="append", default=[], help=f"{text}; may be repeated")
    add("--reading", help="only claims that were judged in this reading, with what came out in it")
    add("--world", help="only claims that were judged in this world, with what came out in it")
    add("--find", metavar="WORD", help="only claims with this word in their name, text, place or note")
    add("--verbose", action="store_true", help="all details of every claim")
    common.add_json(parser, "claims and verdicts")
    common.add_results(parser)
    add("--scale", choices=SCALES, help="use the runs of this scale (default: each experiment's latest run)")
    missing = (
        "first run what is missing, at --scale (default: laptop), and on the original files that are here; audit anew "
        "where the code has changed since the record was made"
    )
    add("--run", action="store_true", help=missing)
    add("--jobs", type=int, default=-1, help="worker processes of --run (default: one per core)")
    args = parser.parse_args(argv)
    wanted = [_word("verdict", name, VERDICTS) for name in args.verdict]
    evidence = [_word("evidence", name, [*map(str, Evidence)]) for name in args.evidence]
    claims, named = chosen([*args.name, *args.id], args.paper, args.find)
    output_folder("--results ", args.results)
    console = common.console(WIDTH, stderr=args.json == common.PRINTED)
    if args.run:
        _run_missing(claims, args.results, args.scale, args.jobs)
    judge = Judge(args.results, args.scale, audit=args.run)
    known = catalogue.options("experiment")
    for claim in claims:
        if claim.experiment and claim.experiment not in known:
            raise UserError(f"claim {claim.id}: {unknown('experiment', claim.experiment, known)}")
    verdicts = [judge.verdict(claim) for claim in claims]
    shown = [v for v in verdicts if not evidence or v.evidence in evidence]
    if args.reading or args.world:
        shown = _in_case(shown, args.reading, args.world)
    shown = [v for v in shown if not wanted or v.verdict in wanted]
    _print_claims(console, shown, named, args.verbose)
    _print_counts(console, verdicts, len(shown))
    _print_remarks(console, shown, judge)
    command = shlex.join(["python", "-m", "dpbench", "claims", *argv])
    _print_missing(console, verdicts, judge, command, folded=not args.verbose)
    if older := sum(CHANGED in v.method for v in verdicts):
        text = f"{older} of these verdicts rest on audits that were recorded before the code changed. Audit anew: {command} --run"
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    if args.json is not None:
        common.write_json(args.json, [as_json(v) for v in shown])
    return 0


def _word(what: str, name: str, valid: Iterable[str]) -> str:
    """A verdict or a kind of evidence by its name, in which `-` and `_` mean a space."""
    words = {one.replace("-", " "): one for one in valid}
    found = name.replace("-", " ").replace("_", " ")
    if found not in words:
        raise unknown(what, name, list(words.values()))
    return words[found]


def _in_case(verdicts: list[Verdict], reading: str | None, world: str | None) -> list[Verdict]:
    """The verdicts in one reading, world or both, of the claims that were judged in it. UserError if none was."""
    for what, name in (("reading", reading), ("world", world)):
        seen = {getattr(case, what) for v in verdicts for case in v.cases}
        names = seen | {one.partition(": ")[2] for one in seen} - {""}
        if name is not None and name not in names:
            known = nearest(name, sorted(names)) if names else "the record holds one reading and one stand-in"
            run = f"`python -m dpbench run experiment=... {what}=all` runs all of them"
            raise UserError(f"--{what} {name}: no claim was judged in it: {known}. {run}")
    found = []
    for v in verdicts:
        for case in v.cases:
            worlds = (None, case.world, case.world.partition(": ")[2])
            if reading in (None, case.reading) and world in worlds:
                group = _group(case)
                found.append(
                    replace(
                        v, verdict=case.verdict, reason="", cases=(case,), decider=group, groups=(), method=case.where
                    )
                )
    return found


def _group(case: Case) -> Group | None:
    if case.value is None:
        return None
    low, high = (case.value if end is None else end for end in (case.low, case.high))
    return Group({}, case.value, low, high, case.verdict)


def chosen(names: Sequence[str], papers: Sequence[str], word: str | None) -> tuple[list[Claim], bool]:
    """The requested claims, in the ledger's order, and whether each was named. UserError if there is none."""
    named = {name for name in names if "/" in name}
    papers = [*(name for name in names if name not in named), *papers]
    whole = ledger()
    for name in named:
        if name not in (known := [claim.id for claim in whole]):
            raise unknown("claim", name, known)
    for paper in papers:
        if paper not in (files := catalogue.claims()):
            raise unknown("paper", paper, files)
    found = [c for c in whole if not (named or papers) or c.id in named or c.paper in papers]
    if word is not None:
        found = [c for c in found if word.casefold() in " ".join((c.id, c.says, c.place, c.note)).casefold()]
        if not found:
            raise UserError(f"--find {word}: no claim has this word")
    return found, bool(named) and not papers


def _print_claims(console: Console, verdicts: list[Verdict], named: bool, detailed: bool) -> None:
    if named:
        for verdict in verdicts:
            console.print(followed(verdict))
        return
    for paper in dict.fromkeys(v.claim.paper for v in verdicts):
        for title, counted in ((f"Claims of {paper}", True), (f"Not counted, of {paper}: {UNCOUNTED}", False)):
            mine = [v for v in verdicts if v.claim.paper == paper and v.claim.counted == counted]
            if mine:
                console.print(title, style="bold italic")
            for verdict in mine:
                if detailed:
                    console.print(followed(verdict))
                else:
                    console.print(line(verdict, console.width), highlight=False, soft_wrap=True)


def _print_remarks(console: Console, verdicts: list[Verdict], judge: Judge) -> None:
    for experiment in dict.fromkeys(v.claim.experiment for v in verdicts if v.claim.experiment in judge.runs):
        for remark in judge.remarks(experiment):
            console.print(f"note: {experiment}: {remark}", highlight=False, markup=False, soft_wrap=True)


def _run_missing(claims: list[Claim], results: Path, scale: str | None, jobs: int) -> None:
    from dpbench.engine.execute import execute
    from dpbench.engine.plan import plan_experiment
    from dpbench.engine.progress import display

    notes = common.notes()
    plans = []
    have = Judge(results, scale)
    asked = dict.fromkeys(c.experiment for c in claims if c.experiment and not c.untestable)
    missing = [experiment for experiment in asked if have.unfinished(experiment)]
    on_files: dict[str | None, list[str]] = {}
    for experiment, dataset in runs_on_files(claims):
        on_files.setdefault(dataset, []).append(experiment)
    if missing:
        notes.print(f"running at scale {scale or 'laptop'}: {', '.join(missing)}", soft_wrap=True)
    with display(console=notes) as progress:
        # Runs on files come first, so that the newest run of an experiment is the one on the data of its definition.
        for dataset, experiments in [*on_files.items(), *([("", missing)] if missing else [])]:
            if dataset != "":
                of = f" of {dataset}" if dataset else ""
                notes.print(f"on the original files{of} that are here: {', '.join(experiments)}", soft_wrap=True)
            words = {f"dataset.{dataset}.source": "files"} if dataset else {}
            plan = partial(plan_experiment, scale=scale or "laptop", results=results, jobs=jobs, say=progress.prepare)
            plans += [plan(name, overrides=words) for name in experiments]
        for result in execute(plans, progress):
            result.require_done()
            name = result.plan.run.name
            notes.print(f"{name}: {result.computed} trials computed, {result.found} found finished")
            if result.failed:
                notes.print(f"[red]{result.failed} trials of {name} failed")


def _print_counts(console: Console, verdicts: list[Verdict], shown: int) -> None:
    found = tally(verdicts)
    counts = ", ".join(f"{count} {name}" for name, count in found.counts.items() if count) or "none is counted"
    lines = [f"{found.claims} claim{'s' * (found.claims != 1)}: {counts}."]
    if shown < len(verdicts):
        lines.append(f"Shown: {shown} of {len(verdicts)}.")
    if found.errata:
        known = ", ".join(f"{count} {name}" for name, count in found.errata.items())
        lines.append(f"Counted apart, {sum(found.errata.values())} known errata: {known}.")
    if found.repeats or found.ours:
        lines.append(f"Not counted (marked *): {found.repeats} that repeat a claim, {found.ours} notes of ours.")
    lines.append(found.error)
    if scales := sorted({v.scale for v in verdicts if v.scale}, key=SCALES.index):
        several = any(v.data_seeds > 1 for v in verdicts)
        draws = (
            "Intervals include the spread between draws of generated data if a run has several (data_seeds=5)."
            if several
            else "Intervals are about the noise; generated data is one draw (data_seeds=5 makes five)."
        )
        lines.append(f"Scale of the runs: {', '.join(scales)}. {draws}")
    for text in lines:
        console.print(text, highlight=False, soft_wrap=True)


def _print_missing(console: Console, verdicts: list[Verdict], judge: Judge, command: str, folded: bool) -> None:
    asked = (v.claim.experiment for v in verdicts if v.claim.experiment)
    missing = [*dict.fromkeys(experiment for experiment in asked if experiment not in judge.runs)]
    if missing:
        if not judge.runs:
            console.print(f"There are no runs in {judge.results}.", highlight=False, markup=False, soft_wrap=True)
        named = missing[:MOST_NAMED] if folded else missing
        more = f" and {len(missing) - len(named)} more (--verbose names them)" if len(named) < len(missing) else ""
        console.print(f"Not run yet: {', '.join(named)}{more}", highlight=False, soft_wrap=True)
        console.print(f"Run them: {command} --run", highlight=False, markup=False, soft_wrap=True)
