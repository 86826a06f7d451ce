"""A comparison as JSON, for programs: the verdict, the counts, and every entry that is not the same."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from dpbench import __version__
from dpbench.gate.entries import ORDER, SAME, ColumnResult
from dpbench.gate.outcome import GateOutcome


def text(outcome: GateOutcome) -> str:
    return json.dumps(as_json(outcome), indent=1, ensure_ascii=False)


def as_json(outcome: GateOutcome) -> dict[str, Any]:
    """`moved`: one entry per column of a mechanism; `cells`: one per column of a cell. Missing numbers are null."""
    comparison = outcome.comparison
    return {
        "version": __version__,
        "passes": outcome.passes,
        "verdict": outcome.verdict,
        "fails_on": [status for status in ORDER if status in outcome.bad],
        "seed": outcome.seed,
        "seconds": round(outcome.seconds, 3),
        "compared": comparison.compared,
        "columns": {status: comparison.count(status) for status in ORDER},
        "experiments": [
            {
                "experiment": name,
                "cells": len(body.cells),
                "trials": body.trials,
                "seconds": round(sum(cell.seconds for cell in body.cells.values()), 3),
                "failures": dict(body.failures),
            }
            for name, body in outcome.new.items()
        ],
        "moved": [_entry(entry) for entry in outcome.moves],
        "cells": [_entry(entry) for entry in comparison.entries if entry.status != SAME],
    }


def _entry(entry: ColumnResult) -> dict[str, Any]:
    """Its fields; infinite and missing numbers are null, because JSON has none."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(entry).items()
    }
