"""Figure 4 of epicrec: the noise of each category in the running example, calibrated and by global sensitivity."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes

ROWS = {"s_dpdp": "Sensitivity of each category (S-DPDP)", "laplace_categories": "Global sensitivity (Laplace)"}
PAPER = {"s_dpdp": (3.61, 2.36, 3.34, 2.36, 1.38, 2.61), "laplace_categories": (3.0,) * 6}
"""Figure 4; claims epicrec/example-1 to -5, -mean and -laplace."""
CAPTION = (
    "each number: the scale of the Laplace noise that a category's aggregate gets, which is its expected absolute error; "
    "Mean: over the five categories. All numbers are computed, without random draws. In the paper: Figure 4, claims "
    "epicrec/example-1 to -5, -mean and -laplace"
)


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    categories = [c for c in trials.columns if c.startswith("metric.noise_")]
    table = trials.groupby("mechanism", sort=False)[[*categories, "metric.noise"]].mean().reset_index()
    heads = {c: f"category {c.removeprefix('metric.noise_')}" for c in categories}
    return table.rename(columns=heads | {"metric.noise": "MAE"})


def draw(numbers: pd.DataFrame) -> Figure:
    heads = list(numbers.columns[1:])
    told = [
        {"mechanism": f"{ROWS[key]}{shapes.PAPER_ROW}", **dict(zip(heads, row, strict=False))}
        for key in numbers["mechanism"]
        for row in [PAPER[key]]
    ]
    table = pd.concat([numbers.assign(mechanism=numbers["mechanism"].map(ROWS)), pd.DataFrame(told)], ignore_index=True)
    order = [at for pair in zip(range(len(numbers)), range(len(numbers), len(table)), strict=True) for at in pair]
    table = table.iloc[order].rename(columns={"mechanism": "Noise by", "MAE": "Mean"})
    return shapes.table(
        table.reset_index(drop=True),
        formats={**dict.fromkeys(heads, ".2f"), "Mean": ".2f"},
        soft=lambda row: str(row.iloc[0]).endswith(shapes.PAPER_ROW),
    )
