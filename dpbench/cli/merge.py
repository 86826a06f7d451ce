"""`merge`: joins results folders by trial into a new one, for shards that were computed without a shared filesystem. Exit
status 1 if a damaged file was left out."""

from __future__ import annotations

from pathlib import Path

from dpbench.cli.common import console, notes, parser_of
from dpbench.storage.merge import merge


def main(argv: list[str]) -> int:
    parser = parser_of("merge", __doc__)
    parser.add_argument("folder", nargs="+", type=Path, help="results folders")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the new results folder")
    text = "accept settings that come from different code: the newest run of each name counts"
    parser.add_argument("--mixed", action="store_true", help=text)
    args = parser.parse_args(argv)
    merged = merge(args.folder, args.output, mixed=args.mixed)
    for problem in merged.problems:
        notes().print(f"left out: {problem}", markup=False)
    for run in merged.runs:
        there = len(run.trials())
        console().print(f"{run.label}@{run.scale}: {there} of {run.planned} trials", markup=False)
    runs = len(merged.runs)
    console().print(f"{runs} run{'s' * (runs != 1)} and {merged.trials} trials in {merged.results}", markup=False)
    return 1 if merged.problems else 0
