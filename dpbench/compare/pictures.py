"""The board of a comparison as a figure, with the newcomer highlighted. Imported by `newcomer`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dpbench.compare import tables
from dpbench.compare.boards import Board, present
from dpbench.results.run import Run


def picture(run: Run, numbers: pd.DataFrame, who: str, board: Board | None) -> Any:
    """One board: the newcomer's, or the first."""
    from dpbench.figures import captions, style
    from dpbench.figures.boards import board_figure
    from dpbench.figures.draw import notes
    from dpbench.figures.shapes import ordered

    column = "dataset" if "dataset" in numbers else "place"
    share = "precision" in numbers
    shown = board or present(numbers["board"])[0]
    with style.paper_style():
        figure = board_figure(
            tables.ranking(numbers, shown),
            tables.cells(numbers, shown, column, share=share),
            title=f"Board: {shown.told}",
            columns=ordered(numbers[column]),
            shares=tables.shares(numbers, shown),
            highlight=who,
            share=share,
            measured="precision, points" if share else "absolute error" if column == "place" else "MAE",
        )
        captions.note(figure, notes(run, marked=False))
    return figure
