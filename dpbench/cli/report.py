"""`report`: writes one self-contained HTML page of figures, numbers, claims, datasets and errata, from stored trials only."""

from __future__ import annotations

from pathlib import Path

from dpbench.cli.common import add_results, notes, parser_of
from dpbench.config.schema import SCALES
from dpbench.errors import output_file
from dpbench.storage.commands import not_run


def main(argv: list[str]) -> int:
    parser = parser_of("report", __doc__)
    add_results(parser)
    scale = "only runs of this scale (default: each experiment's latest run)"
    parser.add_argument("--scale", choices=SCALES, help=scale)
    parser.add_argument("--output", type=Path, help="file to write (default: report.html in the results folder)")
    args = parser.parse_args(argv)
    output_file("--output", args.output)
    from dpbench.report.gather import gather
    from dpbench.report.page import write

    facts = gather(args.results, args.scale, notes().print)
    output = args.output or args.results / "report.html"
    write(facts, output)
    print(f"wrote {output} ({output.stat().st_size / 1e6:.1f} MB)")
    for experiment in facts.experiments:
        for remark in experiment.remarks:
            print(f"note: {experiment.id}: {remark}")
    if facts.missing:
        first = facts.missing[0]
        print(f"{not_run(len(facts.missing))}; the report lists what is missing, such as {first.id}: {first.command}")
    broken = [e for e in facts.experiments if e.problem]
    for experiment in broken:
        print(f"problem: {experiment.id}: {experiment.problem}; {experiment.command}")
    return 1 if broken else 0
