"""`make campaign`: tries every kind of fault in turn until the time is over, and prints what became of them."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from campaign.kinds import KINDS
from campaign.world import Bad, NotTried, World
from support.paths import ROOT

COLUMNS = ("tried", "silent", "lost", "crashed", "hung")
LONG = 20.0  # minutes from which on faults may take minutes


def main() -> int:
    parser = argparse.ArgumentParser(prog="make campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=45, help="no fault begins later (default: 45)")
    parser.add_argument("--seed", type=int, default=0, help="of the faults; their moments also depend on the machine")
    parser.add_argument("--tries", type=int, help="try no kind more often")
    parser.add_argument("--only", nargs="*", choices=KINDS, help="kinds to try (default: all)")
    args = parser.parse_args()
    began = time.monotonic()
    home = Path(tempfile.mkdtemp(prefix="dpbench-campaign-"))
    home.chmod(0o755)
    counts: dict[str, Counter[str]] = {name: Counter() for name in args.only or KINDS}
    forbidden: dict[str, str] = {}
    spent: dict[str, float] = dict.fromkeys(counts, 0.0)
    world = World.make(home, args.seed, long=args.minutes >= LONG)
    while time.monotonic() - began < 60 * args.minutes:
        left = [name for name in counts if name not in forbidden and counts[name]["tried"] != args.tries]
        if not left:
            break
        # The kind that took the least time so far, so that each gets the same.
        name = min(left, key=lambda name: spent[name])
        start = time.monotonic()
        try:
            KINDS[name](world)
        except NotTried as reason:
            forbidden[name] = str(reason)
            continue
        except Bad as problem:
            counts[name][problem.outcome] += 1
            print(f"{name}: {problem}", file=sys.stderr, flush=True)
        except Exception:  # of the campaign itself: the other kinds go on
            counts[name]["crashed"] += 1
            print(f"{name}: {traceback.format_exc()}", file=sys.stderr, flush=True)
        counts[name]["tried"] += 1
        spent[name] += time.monotonic() - start
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    print(f"{time.strftime('%Y-%m-%d')}, seed {args.seed}, commit {commit.strip() or 'unknown'}, ", end="")
    print(f"{(time.monotonic() - began) / 60:.0f} minutes\n")
    print(f"| fault | {' | '.join(COLUMNS)} |\n| --- |{' ---: |' * len(COLUMNS)}")
    for name, count in counts.items():
        cells = (
            [f"not tried: {forbidden[name]}", "", "", "", ""] if name in forbidden else [str(count[c]) for c in COLUMNS]
        )
        print(f"| {name} | {' | '.join(cells)} |")
    total = sum(counts.values(), Counter[str]())
    print(f"| all | {' | '.join(str(total[column]) for column in COLUMNS)} |")
    shutil.rmtree(home, ignore_errors=True)
    return 1 if any(total[column] for column in COLUMNS[1:]) or not total["tried"] else 0


if __name__ == "__main__":
    sys.exit(main())
