"""`audit`: measures how much privacy each mechanism really loses. It computes the loss step by step if possible; otherwise it
tests releases. Exit status 1 if a mechanism breaks the guarantee that it states, or if nothing was measured; with --strict also
if a mechanism could not be shown to keep it."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from dpbench.cli.common import PRINTED, add_json, console, notes, parser_of, write_json
from dpbench.errors import UserError, output_folder
from dpbench.model.finding import Finding
from dpbench.storage.commands import RESULTS

OWN_PAIRS = 8
"""How many pairs --data makes, each by leaving out one user, if --pairs is not given."""
COLUMNS = ("user", "item", "context")


def main(argv: list[str]) -> int:
    args = _arguments(argv)

    from dpbench.auditing.judge import EPSILONS, Options, named, with_further
    from dpbench.config.catalogue import options
    from dpbench.mechanisms.base import MECHANISMS, parse_epsilon
    from dpbench.paths import CONF

    epsilons = EPSILONS if args.epsilon is None else (parse_epsilon(args.epsilon),)
    chosen_options = Options(
        epsilons[0], args.delta, args.pairs, args.seconds, args.seed, epsilons=epsilons, thorough=args.thorough
    )
    _check(args)
    names = MECHANISMS.names()
    # Presets and mechanisms of other libraries are audited only if they are named.
    own = [name for name in options("mechanism") if name not in names]
    own = [name for name in own if not (CONF / "mechanism" / f"{name}.yaml").is_file()]
    subjects = [subject for text in args.mechanism or [*names, *own] for subject in named(text)]
    if args.record:
        subjects = _recorded(subjects, args.record)
    if args.data is None and not any("(" in text for text in args.mechanism):
        subjects = with_further(subjects)
    if args.delta is not None and all(subject.guarantee for subject in subjects):
        stated = ", ".join(dict.fromkeys(f"{subject.name} states {subject.guarantee}" for subject in subjects[:3]))
        raise UserError(f"--delta has no effect: {stated}")
    findings = []
    with notes().status("auditing ...") as status:
        for finding in _findings(subjects, chosen_options, args):
            findings.append(finding)
            status.update(f"auditing ... {len(findings)} of {len(subjects)} done")
    further = sum(subject.further for subject in subjects)
    shown = [
        finding
        for subject, finding in zip(subjects, findings, strict=True)
        if not subject.further or finding.verdict != "holds"
    ]
    if args.json is not None:
        write_json(args.json, _as_json(findings, args.seed))
    out = console(stderr=args.json == PRINTED)
    out.print(_table(shown, epsilons))
    if args.data is None:
        from dpbench.auditing.cache import store

        store(args.results or RESULTS, shown, args.seed, anew=not args.mechanism)
    verdicts = [finding.verdict for finding in findings]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    hidden = len(findings) - len(shown)
    more = f" ({hidden} of {further} further choices of parameters hold and are not listed)" if further else ""
    out.print(f"{len(findings)} audited: {counts}{more}.")
    failing = ("violated", "inconclusive") if args.strict else ("violated",)
    return 1 if any(finding.verdict in failing or not finding.pairs for finding in findings) else 0


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = parser_of("audit", __doc__)
    add = parser.add_argument
    what = "names, or dotted paths of your own classes; parameters as in lpa(bound=3) (default: all)"
    add("mechanism", nargs="*", help=what)
    add("--epsilon", help="the stated budget, such as 0.5 or ln2 (default: 0.1, 1 and 10 in turn)")
    add("--delta", type=float, help="the δ for classes that state no guarantee (default: 0)")
    pairs = "neighbouring pairs per mechanism (default: 200, or 24 for mechanisms whose releases are tested)"
    add("--pairs", type=int, help=pairs)
    limit = "time limit per mechanism whose releases are tested (default: 120; the test ends after 20,000 draws)"
    add("--seconds", type=float, help=limit)
    add("--thorough", action="store_true", help="twenty times as many pairs, draws and releases: about an hour for all")
    record = (
        "replay classes that have only `release`: record what they draw by numpy, opendp, diffprivlib, or all of them"
    )
    add("--record", choices=("all", "numpy", "opendp", "diffprivlib"), help=record)
    add("--strict", action="store_true", help="exit status 1 also if a finding is inconclusive")
    add("--seed", type=int, default=0)
    add_json(parser, "all findings")
    data = "make the pairs from this CSV, TSV or Parquet file, with columns for user, item and optionally context"
    add("--data", type=Path, help=data)
    for name in COLUMNS:
        text = f"the column of --data with the {name}s (default: {name})"
        add(f"--{name}", default="", metavar="COLUMN", help=text)
    folder = (
        "folder where the findings are stored for the report (default: results; not with --data, which only shows them)"
    )
    add("--results", type=Path, help=folder)
    return parser.parse_args(argv)


def _recorded(subjects: Sequence[Any], what: str) -> list[Any]:
    """The subjects whose random calls are recorded. UserError if there is nothing to record."""
    from dpbench.auditing.recorded import Recorded, recorded_libraries
    from dpbench.auditing.replay import cannot_replay

    libraries = recorded_libraries(what)
    strangers = [bool(cannot_replay(subject.mechanism)) for subject in subjects]
    if not any(strangers):
        names = ", ".join(dict.fromkeys(subject.name for subject in subjects[:3]))
        raise UserError(f"--record has no effect: {names} can be replayed as they are")
    return [
        dataclasses.replace(subject, mechanism=Recorded(subject.mechanism, libraries)) if stranger else subject
        for subject, stranger in zip(subjects, strangers, strict=True)
    ]


def _check(args: argparse.Namespace) -> None:
    """Check numbers and files before any work."""
    from dpbench.api.audit import check_limits

    check_limits(args.pairs, args.seconds, args.delta)
    if args.seed < 0:
        raise UserError(f"seed={args.seed!r} is not valid: expected a whole number from 0")
    if args.data is None:
        for name in COLUMNS:
            if getattr(args, name):
                raise UserError(f"--{name} has no effect without --data")
        output_folder("--results ", args.results or RESULTS)
    elif args.results is not None:
        raise UserError("--results has no effect with --data: only findings on random pairs are stored")


def _findings(subjects: Sequence[Any], options: Any, args: argparse.Namespace) -> Iterator[Finding]:
    """The findings, on random pairs or on pairs from a file."""
    from dpbench.auditing.judge import findings
    from dpbench.auditing.parallel import findings_of_all

    if args.data is None:
        yield from findings_of_all(subjects, options)
        return
    from dpbench.auditing.tables import read_table, table_pairs

    table = read_table(args.data, args.user, args.item, args.context)
    for subject in subjects:
        kinds = getattr(subject.mechanism, "kinds", ("incidence",))
        kind = next((kind for kind in table.kinds if kind in kinds), None)
        if kind is None:
            takes = f"{subject.name} takes {' or '.join(kinds)} data"
            raise UserError(f"{takes}: --data makes incidence, or records with a context")
        yield from findings([subject], options, table_pairs(table, kind, options.pairs or OWN_PAIRS, options.seed))


def _as_json(findings: Sequence[Finding], seed: int) -> list[dict[str, Any]]:
    """The findings with all their fields."""
    from dpbench import __version__

    more = {"seed": seed, "version": __version__}
    return [{**vars(finding), "violated": finding.verdict == "violated", **more} for finding in findings]


def _table(findings: Sequence[Finding], epsilons: Sequence[float]) -> Table:
    stated = " and ".join(", ".join(f"{each:.4g}" for each in sorted(epsilons)).rsplit(", ", 1))
    table = Table(title=f"Privacy loss at a stated ε = {stated}", box=box.SIMPLE_HEAD, pad_edge=False)
    # A dotted path may be as wide as the terminal and must wrap; short texts stay on one line.
    short = ["method", "states", "loss"]
    short += [] if any("." in finding.mechanism for finding in findings) else ["mechanism"]
    for head in ("mechanism", "parameters", "method", "states", "loss", "verdict"):
        table.add_column(head, overflow="fold", no_wrap=head in short)
    for finding in findings:
        states = f"(ε, {finding.delta:.3g})" if finding.delta else finding.guarantee
        sign = "≥ " if finding.method == "sequential test" else "≤ " if finding.at_most else ""
        loss = "∞" if math.isinf(finding.loss) else f"{sign}{finding.loss:.4g}"
        loss += "" if finding.epsilon == epsilons[0] else f" at {finding.epsilon:.4g}"
        texts = (finding.mechanism, finding.parameters or "defaults", finding.method, states, loss)
        table.add_row(*map(escape, texts), _verdict(finding))
    return table


def _verdict(finding: Finding) -> str:
    """The verdict with its details: how many pairs, which pair and step, or the reason."""
    if finding.verdict == "holds":
        return f"holds on {finding.pairs} pairs" + (f" ({finding.forms})" if finding.forms != "float" else "")
    if finding.verdict == "violated":
        where = ": ".join(filter(None, [finding.pair, finding.step]))
        return f"[red]VIOLATED[/red] {escape('; '.join(filter(None, [where, finding.reason])))}"
    if finding.verdict == "declared not private":
        # The kind of pair is enough here; --json has its rows.
        kind = ": ".join(filter(None, [finding.pair.partition(" (pair ")[0], finding.step]))
        return escape(f"declared not private, as found: {kind}")
    return escape(f"inconclusive: {finding.reason}")
