"""Table 2 of gs: rows, columns, largest row and average count of each dataset."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes

COLUMNS = {
    "dataset": "Dataset",
    "rows": "Rows",
    "columns": "Columns",
    "largest_row": "Δ₁(Q)",
    "average_count": "Avg. count",
}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return trials[list(COLUMNS)].drop_duplicates()


def draw(numbers: pd.DataFrame) -> Figure:
    return shapes.table(numbers.rename(columns=COLUMNS), formats={"Avg. count": ",.2f"})
