"""Claims, and a judge of cells in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpbench.claims.cells import CellTrials
from dpbench.claims.expression import ERROR, Interval, evaluate_at
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import check
from dpbench.claims.scope import Scope
from dpbench.model.claim import Claim

from support import runs
from support.runs import run

LN2 = float(np.log(2))


def cell(labels: dict, **values: object) -> CellTrials:
    name = ",".join(f"{k}={v}" for k, v in labels.items())
    return CellTrials(name, labels, {k: np.atleast_1d(np.array(v, dtype=float)) for k, v in values.items()})


def evaluate(text: str, scope: Scope) -> Interval:
    """The value of a measure with its interval of 95 %."""
    return evaluate_at(text, scope, (ERROR,))[0]


class Stored(Judge):
    """A judge of cells in memory."""

    def __init__(self, cells: list[CellTrials], scale: str = "laptop") -> None:
        self.runs = {"x/fig": run("x/fig", [runs.dataset("real", original=True), runs.dataset("one")], scale=scale)}
        self._cells = {"x/fig": cells}
        self.each = dict(self.runs)
        self.results, self.record = Path("results"), None


def claim(**given: object) -> Claim:
    entry = {"id": "x/c", "paper": "x", "place": "Figure 1", "says": "so", "experiment": "x/fig"} | given
    made = Claim(**entry)  # type: ignore[arg-type]
    check(made)
    return made


def ratio_cells(ratios: dict[str, float], spread: float, trials: int = 120) -> list[CellTrials]:
    noise = np.linspace(-1, 1, trials) * spread
    parts = []
    for dataset, ratio in ratios.items():
        parts.append(cell({"dataset": dataset, "mechanism": "gs"}, mae=ratio * (1 + noise)))
        parts.append(cell({"dataset": dataset, "mechanism": "lpa"}, mae=1 + noise))
    return parts


RATIO = {"measure": "mae(mechanism=gs) / mae(mechanism=lpa)", "expect": "< 1"}


def run_of_fig9(ratios: dict[str, float], epsilons: tuple[float, ...] = (0.1, LN2, float(np.log(3)))) -> Judge:
    """A run of gs/fig9, whose own datasets and budgets are known, with some of them."""
    cells = [
        CellTrials(f"{c.id},{e}", {**c.labels, "epsilon": e}, c.values)
        for e in epsilons
        for c in ratio_cells(ratios, 0.05)
    ]
    judge = Stored(cells)
    judge.runs = {"gs/fig9": run("gs/fig9", [runs.dataset(name) for name in ratios], scale="paper")}
    judge._cells = {"gs/fig9": cells}
    return judge
