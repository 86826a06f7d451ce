"""Figure 1 of analytics: how many users have how many records."""

from itertools import pairwise

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for _, trial in trials.drop_duplicates("dataset").iterrows():
        steps_of = {
            name: name.removeprefix("metric.at_least_") for name in trials if name.startswith("metric.at_least_")
        }
        reached = {int(step): trial[name] for name, step in steps_of.items()}
        # The last step is the largest user, who belongs to the last bin.
        (*steps, (largest, _)) = sorted((k, n) for k, n in reached.items() if n == n)
        for (begin, users), (end, rest) in pairwise([*steps, (largest + 1, 0)]):
            rows.append({"dataset": trial["dataset"], "from": begin, "below": end, "users": users - rest})
    return pd.DataFrame(rows)


def draw(numbers: pd.DataFrame) -> Figure:
    datasets = shapes.ordered(numbers["dataset"])
    figure, axes = style.panels(len(datasets), width=4.4, height=2.7)
    for ax, dataset in zip(axes, datasets, strict=True):
        part = numbers[(numbers["dataset"] == dataset) & (numbers["users"] > 0)]
        # Outlines instead of bars, because a log axis has no zero at which a bar could start.
        ax.hlines(part["users"], part["from"], part["below"], color=style.COLOURS[0], linewidth=2.2)
        last = part.iloc[-1]
        ax.annotate(
            f"largest user:\n{last['below'] - 1:,.0f} records",
            ((last["from"] + last["below"]) / 2, last["users"]),
            xytext=(0, 22),
            textcoords="offset points",
            ha="center",
            arrowprops={"arrowstyle": "->", "linewidth": 0.7},
        )
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.5)
        ax.set_title(style.name(dataset))
        ax.set_xlabel("Number of records")
        ax.set_ylabel("Number of users")
    return figure
