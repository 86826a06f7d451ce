"""`track`: log stored trials to MLflow that it does not have yet."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dpbench.engine.frame import manifests
from dpbench.errors import UserError, nearest


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench track", description=__doc__)
    parser.add_argument("experiment", nargs="*", help="ids such as gs/fig9; none: all that were run")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the runs (default: results)")
    parser.add_argument("--uri", help="MLflow tracking server (default: mlflow.db in the results folder)")
    args = parser.parse_args(argv)
    done = manifests(args.results)
    if not done:
        raise UserError(f"nothing was run under {args.results} yet: python -m dpbench run")
    for name in args.experiment:
        if name not in done:
            raise UserError(f"{name!r} was not run under {args.results}: {nearest(name, done)}")
    from dpbench.engine.track import TrackerDown, track

    for name in args.experiment or done:
        try:
            count = track(args.results, done[name], args.uri)
        except TrackerDown as problem:
            print(f"dpbench: MLflow did not take {name}: {problem}", file=sys.stderr)
            return 1
        print(f"{name}: {count} runs logged, {len(done[name]['cells']) - count} were there already or have no trials")
    return 0
