"""One board as a figure, with what a reader must know about it in its caption. Imported by `views` and `entry`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import captions, style
from dpbench.figures.boards import board_figure, cost_figure, label
from dpbench.figures.shapes import ordered
from dpbench.model.run import Run
from dpbench.privacy.exchange import exchange
from dpbench.ranking import tables
from dpbench.ranking.boards import PRIVATE, Board, present

if TYPE_CHECKING:
    from dpbench.ranking.views import View

CAPTION = (
    "regret: error divided by the best mechanism's error, as a geometric mean over all settings; after each name: the rank, with "
    "a 95 % interval if there is one, or – if it did not run in every setting, or out of reach if it stopped in every setting "
    "because it was certainly worse by more than a tenth; dots: certainly within a tenth of the best, by "
    "mean and by geometric mean, in all or in some settings of a cell; grey cells: the darker, the further from the best; empty "
    "cells: the mechanism does not run there"
)
SHARE_CAPTION = (
    "regret: distance below the best mechanism, as a mean over all settings; after each name: the rank, with a 95 % interval if "
    "there is one, or out of reach if it stopped in every setting because it was certainly worse by more than 5 "
    "points; dots: certainly within 5 points of the best, in all or in some settings of a cell"
)


def board_picture(
    numbers: pd.DataFrame,
    board: Board,
    column: str,
    measured: str,
    *,
    columns: Sequence[str] | None = None,
    share: bool = False,
    highlight: str = "",
    generated: bool = True,
) -> Figure:
    """One board; its cells are mechanisms by the values of a column, in the order of `columns` if that is given.

    generated: whether some of the data comes from a generator, or may.
    """
    figure = board_figure(
        tables.ranking(numbers, board),
        tables.cells(numbers, board, column, share=share),
        title=f"Board: {board.told}",
        columns=ordered(numbers[column]) if columns is None else columns,
        shares=tables.shares(numbers, board),
        measured=measured,
        share=share,
        highlight=highlight,
    )
    about = tables.covered(numbers, generated=generated)
    captions.tell(figure, f"intervals and dots are about {about}" + ("" if share else f"; {tables.unseen(numbers)}"))
    own = numbers[numbers["board"] == str(board)]
    if known := tables.expectations(own):
        captions.tell(figure, known)
    if board in PRIVATE:
        captions.tell(figure, exchange(float(own["epsilon"].max())))
    captions.tell(figure, neighbours_line(numbers, board))
    if marks := marks_line(numbers, board):
        captions.tell(figure, marks)
    captions.tell(figure, SHARE_CAPTION if share else CAPTION)
    return figure


def cost_picture(numbers: pd.DataFrame, board: Board, *, share: bool = False, highlight: str = "") -> Figure:
    """One board as error against the time of a release."""
    points = tables.ranking(numbers, board).drop(columns=["seconds", "memory"])
    points = points[points["rank"].notna() | points["out_of_reach"].eq(True)]
    cost = tables.mean_costs(numbers).loc[str(board)].reset_index()
    figure = cost_figure(
        points.merge(cost, on="who"), title=f"Costs on the board {board}", share=share, highlight=highlight
    )
    captions.tell(
        figure,
        "regret: as on the board; seconds: the median over trials, as a geometric mean over all settings, on the machine "
        "that ran them; on the line: "
        "no mechanism has both a lower regret and a lower time; only mechanisms that ran in every setting",
    )
    return figure


def marks_line(numbers: pd.DataFrame, board: Board) -> str:
    """What is wrong with mechanisms of the board, the violations first."""
    ranked = tables.ranking(numbers, board)
    marked = ranked[ranked["mark"] != ""].sort_values(
        "mark", key=lambda mark: ~mark.str.startswith("violated"), kind="stable"
    )
    details = [f"{label(row.who)}: {row.mark}" for row in marked.itertuples()]
    return f"in red: {' | '.join(details)}" if details else ""


def neighbours_line(numbers: pd.DataFrame, board: Board) -> str:
    """What one individual may change: the most common neighbour relation of the board, and the mechanisms that have another."""
    ranked = tables.ranking(numbers, board)
    relations = ranked["neighbours"].value_counts(sort=True).index.tolist()
    rest = [
        f"{', '.join(label(who) for who in ranked.loc[ranked['neighbours'] == relation, 'who'])}: {relation}"
        for relation in relations[1:]
    ]
    return f"neighbours: {'; '.join([*relations[:1], *rest])}"


def picture(run: Run, numbers: pd.DataFrame, who: str, board: Board | None, view: View, metric: str = "") -> Figure:
    """The board of a comparison with the newcomer highlighted; without a newcomer, the first board. `metric`: the one that
    ranks, if it is not the board's own."""
    from dpbench.figures.draw import notes

    measured, share = metric.upper() or view.measured, view.measures[view.metric].share
    with style.paper_style():
        shown = board or present(numbers["board"])[0]
        options: dict[str, Any] = {"share": share, "highlight": who, "generated": bool(run.data_seeds)}
        figure = board_picture(numbers, shown, view.by[0], measured, **options)
        captions.note(figure, [*notes(run, marked=False), *captions.told(figure)])
    return figure
