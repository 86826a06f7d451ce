"""A comparison as JSON, for programs: the verdict, the counts, and every entry that is not the same."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from dpbench import __version__
from dpbench.check.account import Account
from dpbench.check.entries import ORDER, SAME, Entry


def text(account: Account) -> str:
    return json.dumps(as_json(account), indent=1, ensure_ascii=False)


def as_json(account: Account) -> dict[str, Any]:
    """`moved`: one entry per column of a mechanism; `cells`: one per column of a cell. Missing numbers are null."""
    found = account.found
    return {
        "version": __version__,
        "passes": account.passes,
        "verdict": account.verdict,
        "fails_on": [status for status in ORDER if status in account.bad],
        "seed": account.seed,
        "seconds": round(account.seconds, 3),
        "compared": found.compared,
        "columns": {status: found.count(status) for status in ORDER},
        "experiments": [
            {
                "experiment": name,
                "cells": len(body.cells),
                "trials": body.trials,
                "seconds": round(sum(cell.seconds for cell in body.cells.values()), 3),
                "failures": dict(body.failures),
            }
            for name, body in account.new.items()
        ],
        "moved": [_entry(entry) for entry in account.moves],
        "cells": [_entry(entry) for entry in found.entries if entry.status != SAME],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    """Its fields; infinite and missing numbers are null, because JSON has none."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(entry).items()
    }
