"""What the scripts of cross share: the numbers and figures of boards of columns, of queries and of rankings.

Imported by them; `rounds` finds the view of an experiment by its script.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbench.errors import unknown
from dpbench.figures import captions
from dpbench.model.finding import Finding
from dpbench.model.run import Run
from dpbench.model.world import LABEL
from dpbench.ranking import tables
from dpbench.ranking.boards import Board, present
from dpbench.ranking.pairwise import Measure
from dpbench.ranking.pictures import board_picture, cost_picture
from dpbench.ranking.standings import SETTING

COLUMNS = {name: Measure(name) for name in ("mae", "mre", "mse", "kl")}
"""Boards of columns are ranked by the first of these errors; regrets are given for all of them."""
COLUMN_MEANS = {"precision_at_10": "precision@10", "precision_at_100": "precision@100", "kl": "KL"}
QUERIES = ("place", "epsilon", "share")
"""A setting of queries: a dataset with its domain, ε, and the size of the queries as a part of the domain."""
RANKINGS = ("dataset", "epsilon", "K")
KS = (10, 100)
BY_SIZE = "abs_error/"
GROWING = "growing_table"


@dataclass(frozen=True)
class View:
    """How the trials of an experiment become boards, their figures and their summary. A script of a board names its view
    `BOARD`, and takes `numbers`, `figures` and `summary` from it."""

    prepare: Callable[[pd.DataFrame], pd.DataFrame]
    """Trials as they are stored to trials with the labels of the board's settings and the metric that decides."""
    measures: Mapping[str, Measure]
    measured: str
    """What the figures call the metric that ranks."""
    by: tuple[str, ...] = SETTING
    apart: tuple[str, ...] = ()
    """Parameters of mechanisms that are part of the setting, not of a mechanism's name."""
    means: Mapping[str, str] = field(default_factory=dict)
    """Metrics whose means the summary shows, with their heads."""
    generated: bool = True
    """Whether some of the data comes from a generator, or may."""

    @property
    def metric(self) -> str:
        """The metric that ranks."""
        return next(iter(self.measures))

    def ranked_by(self, metric: str) -> View:
        """The same board, ranked by another one of its metrics; empty: by its own."""
        if not metric:
            return self
        if metric not in self.measures:
            raise unknown("metric", metric, self.measures)
        return replace(self, measures={metric: self.measures[metric], **self.measures})

    def numbers(
        self, trials: pd.DataFrame, run: Run | None = None, findings: Sequence[Finding] | None = None
    ) -> pd.DataFrame:
        """One row per board, setting and mechanism, with its standing and its own numbers. `findings`: see `tables.numbers`."""
        prepared = self._prepared(trials)
        return tables.numbers(prepared, run, self.measures, by=self.by, apart=self.apart, findings=findings)

    def stopped(self, trials: pd.DataFrame, run: Run, findings: Sequence[Finding] | None = None) -> frozenset[str]:
        """The settings of a run that its first look stops, by id."""
        prepared = self._prepared(trials)
        return tables.stopped(prepared, run, self.measures, by=self.by, apart=self.apart, findings=findings)

    def _prepared(self, trials: pd.DataFrame) -> pd.DataFrame:
        return self.prepare(trials.assign(world=trials[LABEL].fillna("")) if LABEL in trials else trials)

    def summary(self, numbers: pd.DataFrame) -> pd.DataFrame:
        """One row per board and mechanism."""
        return tables.summary(numbers, self.means)

    def figures(self, numbers: pd.DataFrame) -> dict[str, Figure]:
        """One figure per board, by its slug, with mechanisms by dataset; its costs; and, of queries, mechanisms by their size."""
        share = next(iter(self.measures.values())).share
        shown = present(numbers["board"])
        figures = {board.slug: self._picture(numbers, board, self.by[0], share=share) for board in shown}
        for board in shown:
            if numbers.loc[numbers["board"] == str(board), "seconds"].gt(0).any():
                figures[f"{board.slug}-costs"] = cost_picture(numbers, board, share=share)
        if "share" in self.by:
            sizes = sorted(numbers["share"].unique(), key=lambda size: float(size.rstrip(" %")))
            about = f"columns: the size of {self.measured.removeprefix('error of ')}, in percent of the domain"
            for board in shown:
                figures[f"{board.slug}-sizes"] = self._picture(numbers, board, "share", columns=sizes)
                captions.tell(figures[f"{board.slug}-sizes"], about)
        return figures

    def _picture(self, numbers: pd.DataFrame, board: Board, column: str, **more: Any) -> Figure:
        return board_picture(numbers, board, column, self.measured, generated=self.generated, **more)


# Columns.


COLUMN_BOARD = View(lambda trials: trials, COLUMNS, "MAE", means=COLUMN_MEANS)


# Queries.


def _by_size(trials: pd.DataFrame) -> pd.DataFrame:
    """Each trial once per size of the queries."""
    prefix = f"metric.{BY_SIZE}"
    columns = {c: float(c.removeprefix(prefix)) for c in trials.columns if c.startswith(prefix)}
    causes = f"metric.{tables.SPLIT}"
    kept = [c for c in trials.columns if not c.startswith(("metric.", "expected.")) or c.startswith(causes)]
    parts = []
    for _, mine in trials.groupby("setting", sort=False):
        asked = sorted((c for c in columns if mine[c].notna().any()), key=columns.__getitem__)
        labels = mine.iloc[0]
        for column, share in zip(asked, parts_of(labels, len(asked)), strict=True):
            part = mine[kept].assign(place=place(labels), share=share)
            expected = column.replace("metric.", "expected.", 1)
            known = {"expected.abs_error": mine[expected]} if expected in mine else {}
            parts.append(part.assign(**{"metric.abs_error": mine[column]}, **known))
    return pd.concat(parts, ignore_index=True)


QUERY_BOARD = View(_by_size, {"abs_error": Measure("abs_error")}, "error of a range", QUERIES)
"""A setting is a dataset, an ε and a size of the queries. The causes of the squared error are those over the queries of all sizes
together, so they repeat for each size."""


def place(labels: Mapping[str, Any]) -> str:
    """The dataset; for tables that differ in their domain, also its size."""
    if labels["dataset"] != GROWING:
        return str(labels["dataset"])
    return f"{float(labels['dataset.cells']):.0e} cells".replace("e+", "e").replace("e0", "e")


def parts_of(labels: Mapping[str, Any], number: int) -> list[str]:
    """The sizes of the queries as parts of the domain, in percent, the smallest first. In a small domain some coincide."""
    least, most = float(labels["task.share"]), float(labels["task.upto"])
    sizes = np.geomspace(least, most, int(labels["task.steps"]))
    return [f"{100 * size:.1g} %" if size < 0.1 else f"{100 * size:.0f} %" for size in sizes[sizes.size - number :]]


# Rankings.


def _by_length(trials: pd.DataFrame) -> pd.DataFrame:
    """Each trial once per K; a list of K only for its K."""
    length = trials["mechanism.k"] if "mechanism.k" in trials else pd.Series(float("nan"), index=trials.index)
    kept = [c for c in trials.columns if not c.startswith(("metric.", "expected."))]
    parts = []
    for k in KS:
        column = f"metric.precision_at_{k}"
        if column in trials:
            mine = trials[(length.isna() | (length == k)) & trials[column].notna()]
            parts.append(mine[kept].assign(K=k, **{"metric.precision": mine[column]}))
    return pd.concat(parts, ignore_index=True)


PRECISION = Measure("precision", share=True, counts="K")
RANKING_BOARD = View(
    _by_length, {"precision": PRECISION}, "precision, points", RANKINGS, ("k",), {"precision": "precision"}
)
"""A setting is a dataset, an ε and a K; a top-K list counts only for its K."""
