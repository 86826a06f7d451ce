"""A comparison as JSON, for programs: the ranking, and the numbers of every setting. Imported by the verb `compare`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dpbench import __version__
from dpbench.ranking.entry import Comparison
from dpbench.ranking.rounds import view_named

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("board", "who")
RANKING = (
    *(*KEYS, "mechanism", "rank", "rank_low", "rank_high", "regret", "worst", "times_competitive", "times_best"),
    *("settings", "mark", "neighbours", "audit"),
)
"""What is known of a mechanism over all settings."""


def as_json(comparison: Comparison) -> dict[str, Any]:
    run, numbers = comparison.run, comparison.numbers()
    overall = [name for name in RANKING if name in numbers] + [name for name in numbers if name.startswith("regret_")]
    bound = next((use.bound for use in run.datasets.values() if use.own), None)
    return {
        "version": __version__,
        "run": run.label,
        "scale": run.scale,
        "trials": run.repetitions,
        "bound": bound,
        "metric": comparison.metric or view_named(run.experiment).metric,
        "mechanism": comparison.who or None,
        "board": None if comparison.board is None else str(comparison.board),
        "audit": comparison.findings,
        "ranking": _rows(numbers.drop_duplicates([*KEYS])[[*dict.fromkeys(overall)]]),
        "settings": _rows(numbers.drop(columns=[name for name in overall if name not in KEYS])),
        "left_out": [{"what": what, "reason": reason} for what, reason in run.left_out],
    }


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """One object per row."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows
