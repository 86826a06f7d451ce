"""Table 5 of analytics under several readings of the budget: how many of the ten movies SRA and HPA find, and their precision.

The paper shows one run: HPA finds 8 of the ten, SRA 3 (not counting a tie for the tenth place). In its Figure 7(c), SRA is above
HPA on the item counts. `reaches` is the share of runs that find at least as many movies as the paper's run.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import style

READINGS = {  # epsilon, whether each query gets all of it, the noise scale of the popularity
    "As printed": (1, False, None),
    "Whole ε\nper query": (1, True, None),
    "ε = 2": (2, False, None),
    "Popularity\nLap(10)": (1, False, 10),
    "Lap(10), whole ε\nper query": (1, True, 10),
}
SHOWN = {"sra": 3, "hpa": 8}
"""How many of the ten movies the paper's single run finds."""

CAPTION = (
    "percentages above bars: trials that find as many movies as the paper's one run, 3 with SRA (analytics/sra-recommends) and "
    "8 with HPA (analytics/hpa-recommends)"
)


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for reading, (epsilon, per_query, noise) in READINGS.items():
        chosen = trials[(trials["epsilon"] == epsilon) & (trials["mechanism.per_query"] == per_query)]
        scale = chosen["mechanism.popularity_noise"]
        for mechanism, shown in SHOWN.items():
            # SRA does not estimate popularity, so its noise does not matter.
            same = (chosen["mechanism"] == mechanism) & (
                scale.isna() if noise is None or mechanism == "sra" else scale == noise
            )
            right, precision = (
                chosen[same]["metric.right_first"].dropna(),
                chosen[same]["metric.precision_at_10"].dropna(),
            )
            found = {"right": right.mean(), "right_se": right.sem(), "reaches": (right >= shown).mean()}
            found |= {"precision": precision.mean(), "precision_se": precision.sem(), "trials": len(right)}
            rows.append({"reading": reading.replace("\n", " "), "mechanism": mechanism, **found})
    return pd.DataFrame(rows)


def draw(numbers: pd.DataFrame) -> Figure:
    figure, axes = style.panels(2, columns=1, width=7.0, height=2.4)
    for i, (mechanism, shown) in enumerate(SHOWN.items()):
        part = numbers[numbers["mechanism"] == mechanism]
        look = {
            "color": style.look(mechanism, i)["color"],
            "hatch": style.hatch(mechanism, i),
            "edgecolor": "white",
            "linewidth": 0,
        }
        x = np.arange(len(part)) + (i - 0.5) * 0.4
        for ax, value, factor in ((axes[0], "right", 1), (axes[1], "precision", 100)):
            bars = ax.bar(
                x, part[value] * factor, 0.36, yerr=part[f"{value}_se"] * factor, label=style.name(mechanism), **look
            )
            if value == "right":
                shares = [f"{100 * share:.0f} %" for share in part["reaches"]]
                for text in ax.bar_label(bars, shares, fontsize=6.5, padding=3):
                    text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
        axes[0].axhline(
            shown, color=look["color"], linestyle=":", label=f"the paper's one run: {style.name(mechanism)}"
        )
    for ax, label, top in zip(axes, ("Movies found of ten", "Top-10 items (%)"), (10.8, 105), strict=True):
        ax.set_xticks(range(len(READINGS)), READINGS)
        ax.set_ylabel(label)
        ax.set_ylim(0, top)
        ax.grid(axis="x", visible=False)
    style.legend_above(figure, axes)
    return figure
