"""Sketches, of sparse: error against the number of rows; the other summaries of n entries are horizontal lines."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    """The other mechanisms have no rows: their single number is repeated for each number of rows."""
    table = queries.by_setting(trials, ["mechanism", "mechanism.rows"]).rename(columns={"mechanism.rows": "rows"})
    rows = table["rows"].dropna().unique()
    levels = table[table["rows"].isna()].drop(columns="rows").merge(pd.DataFrame({"rows": rows}), how="cross")
    table = pd.concat([table[table["rows"].notna()], levels], ignore_index=True)
    return table.assign(series=table["mechanism"].map(style.name))


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.curves(numbers, x="rows", xlabel="rows of the sketch", logx=False)
