"""`track`: logs those stored trials to MLflow that are not there yet."""

from __future__ import annotations

import sys

from dpbench.cli.common import add_results, parser_of
from dpbench.config.catalogue import options
from dpbench.errors import UserError, unknown
from dpbench.storage.commands import run_command, stored


def main(argv: list[str]) -> int:
    parser = parser_of("track", __doc__)
    what = "ids such as gs/fig9, or names of runs (default: all that were run)"
    parser.add_argument("experiment", nargs="*", help=what)
    add_results(parser)
    uri = "MLflow tracking server (default: MLFLOW_TRACKING_URI, or mlflow.db in the results folder)"
    parser.add_argument("--uri", help=uri)
    args = parser.parse_args(argv)
    done = stored(args.results)
    there = {word for label, run in done.items() for word in (label, run.name)}
    for name in args.experiment:
        if name not in options("experiment") and name not in there:
            raise unknown("experiment", name, there)
        if name not in there:
            raise UserError(f"{name} was not run under {args.results}: {run_command(name, args.results)}")
    from dpbench.storage.mlflow_client import TrackerDown
    from dpbench.storage.tracking import track

    for label, run in done.items():
        if args.experiment and not {label, run.name} & {*args.experiment}:
            continue
        try:
            count = track(run, args.uri)
        except TrackerDown as problem:
            print(f"dpbench: MLflow did not accept {label}: {problem}", file=sys.stderr)
            return 1
        others = len({setting.id for setting in run.settings}) - count
        print(f"{label}: {count} settings logged, {others} were already there or have no trials")
    return 0
