"""Cells of `check` that no experiment has: exact noise at smoke scale, and one cell of paper size per mechanism.

Each is stored as an experiment of the baselines, under a name that no experiment has. Imported by `measure` and by the verb.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpbench.config.compose import compose
from dpbench.config.overrides import OverrideValue
from dpbench.engine.plan import QUIET, Plan, make_plan
from dpbench.gate.baselines import PAPER_CELLS
from dpbench.mechanisms.base import MECHANISMS


@dataclass(frozen=True)
class Cells:
    """All mechanisms on one dataset of each kind. A mechanism is left out where it does not fit."""

    name: str
    scale: str
    noise: str
    trials: int
    datasets: tuple[str, ...]
    more: tuple[tuple[str, OverrideValue], ...] = ()
    """Further overrides."""

    def plan(
        self,
        results: Path,
        jobs: int,
        overrides: Mapping[str, OverrideValue],
        say: Callable[[str], None],
        mechanisms: Sequence[str] = (),
    ) -> Plan:
        """mechanisms: only these (default: all)."""
        chosen = list(mechanisms or MECHANISMS.names())
        words: dict[str, OverrideValue] = {
            "name": self.name,
            "results": results,
            "runner.jobs": jobs,
            **QUIET,
            "dataset": list(self.datasets),
            "mechanism": chosen,
            "task": list(TASKS),
            "noise": self.noise,
            "epsilon": 1,
            "trials": self.trials,
            **dict(self.more),
            **{key: value for key, value in EVEN.items() if key.split(".")[1] in chosen},
            **overrides,
        }
        return make_plan(compose(None, self.scale, words), say=say)


EVEN: dict[str, OverrideValue] = {
    "mechanism.sketch.rows": [2, 4],
    "mechanism.sketch.combine": "median",
    "mechanism.gaussian_sketch.rows": 4,
}
"""The median of an even number of rows, which no experiment has."""
TASKS = ("leaderboard", "range_queries", "category_aggregates")
"""Each fits one kind of data."""
SMALL = ("dataset.gaussian.cells", 4000)
"""Some mechanisms publish small domains only."""
EXACT = Cells("exact-cells", "smoke", "exact", 4, ("trajectory", "onthemap", "gaussian", "catalogue"), (SMALL,))
"""Guarded by default."""
PAPER = Cells(PAPER_CELLS, "paper", "float", 2, ("checkin", "census", "catalogue"))
"""Guarded by `check --paper-cells`: what acts only above the sizes of a laptop."""
CELLS = {each.name: each for each in (EXACT, PAPER)}
