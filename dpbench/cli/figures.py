"""`figures`: every figure and table from the stored trials, PNG + PDF + the numbers as CSV."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dpbench.config.catalogue import options
from dpbench.errors import UserError, nearest
from dpbench.results.commands import RESULTS, run_command, stored
from dpbench.results.run import Run


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench figures", description=__doc__)
    parser.add_argument("experiment", nargs="*", help="ids such as gs/fig9; none: all that were run")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the runs (default: results)")
    args = parser.parse_args(argv)
    known = dict.fromkeys([*options("experiment"), *Run.all(args.results)])
    for name in args.experiment:
        if name not in known:
            raise UserError(f"unknown experiment {name!r}: {nearest(name, known)}")
    done = stored(args.results)
    from dpbench.figures.draw import CannotDraw, save, script

    wanted = [name for name in (args.experiment or known) if name in done and (name in args.experiment or script(name))]
    missing = [name for name in (args.experiment or known) if name not in done]
    failed = 0
    for name in wanted:
        try:
            files, remarks = save(done[name])
        except CannotDraw as problem:
            failed += 1
            print(f"dpbench: {name}: {problem}", file=sys.stderr)
            continue
        for path in files:
            print(f"wrote {path}")
        for remark in remarks:
            print(f"note: {name}: {remark}")
    for name in missing:
        print(f"missing: {name}: {run_command(name, args.results)}")
    return 1 if failed or (missing and args.experiment) or not wanted else 0
