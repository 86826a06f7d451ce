"""`check --record`: runs chosen experiments again with fresh noise and compares them with the record, for a nightly job.

Called by the verb `check`. Exit status 1 when a number differs, when trials failed, or when nothing could be compared.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from dpbench.cli import common
from dpbench.cli.progress import plans_bar, preparing, told
from dpbench.cli.record_tables import print_comparison
from dpbench.cli.run import check_folder, warning
from dpbench.config.words import Value
from dpbench.engine.plan import Plan
from dpbench.errors import UserError
from dpbench.results.record import Record, read

APART = ("update", "strict", "allow_better", "junit", "summary", "json", "baselines", "config_dir")
"""Options that are about baselines."""


def main(args: argparse.Namespace) -> int:
    from dpbench.reproduce.carry_out import carry_out, experiments_of
    from dpbench.reproduce.comparison import Comparison, Pair, compare

    for option in APART:
        if getattr(args, option):
            raise UserError(f"--{option.replace('_', '-')} goes without --record: it is about baselines")
    if not args.experiment:
        raise UserError("--record needs papers or experiments: all of them at paper size take hours")
    names = experiments_of(args.experiment)
    records = {name: record for name in names if (record := read(name)) is not None}
    if missing := [name for name in names if name not in records]:
        raise UserError(
            f"{', '.join(missing)}: not on record; `python -m dpbench reproduce ... --record` puts it there"
        )
    seed = args.fresh if args.fresh not in (None, -1) else secrets.randbelow(2**31)
    console, notes = common.console(), common.notes()
    problems: list[str] = []
    pairs: list[Pair] = []
    with ExitStack() as stack:
        folder = args.results or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dpbench-check-")))
        check_folder(folder, notes)
        with preparing(notes) as say:
            plans = [_plan(record, folder, args, seed, say) for record in records.values()]
        with plans_bar(plans, told(plans), notes) as advance:
            for done in carry_out(plans, say=warning(notes), advance=advance):
                if done.record is None or done.numbers is None:
                    problems.append(f"{done.run.name}: {done.problem}")
                    continue
                recorded = records[done.run.name]
                pairs.append(Pair(done.record, done.numbers, recorded, recorded.numbers()))
    found = compare(pairs) if pairs else Comparison()
    console.print(f"Fresh seed {seed}", highlight=False)
    print_comparison(console, found)
    for problem in problems:
        notes.print(f"problem: {problem}", markup=False, soft_wrap=True)
    if not found.compared:
        console.print("The check fails: nothing could be compared.", highlight=False)
        return 1
    passes = not (found.differences or found.problems or problems)
    console.print("The check passes." if passes else "The check fails.", highlight=False)
    return 0 if passes else 1


def _plan(record: Record, folder: Path, args: argparse.Namespace, seed: int, say: Callable[[str], None]) -> Plan:
    from dpbench.reproduce.carry_out import plans_of

    overrides: dict[str, Value] = {"seed": seed}
    if args.trials is not None:
        overrides["trials"] = args.trials
    (plan,) = plans_of(
        [record.experiment], scale=record.scale, results=folder, jobs=args.jobs, overrides=overrides, say=say
    )
    if isinstance(plan, UserError):
        raise plan
    return plan
