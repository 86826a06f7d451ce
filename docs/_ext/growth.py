"""Draws how time and memory grow, from docs/_static/growth.csv: `python docs/_ext/growth.py`.

The numbers come from `python -m dpbench bench --growth docs/_static/growth.csv`.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import matplotlib.pyplot as plt

from dpbench.bench.growth import GrowthPoint, exponent, read

STATIC = Path(__file__).parents[1] / "_static"


def curve_of(point: GrowthPoint) -> tuple[str, str, str]:
    return point.family, point.mechanism, point.axis


def draw(points: list[GrowthPoint]) -> plt.Figure:
    """Time on the left, memory on the right, one row of panels per axis."""
    names = {"non-zero cells": "cells", "items": "records"}
    panels = ("rows", "columns", "records", "domain", "cells", "trials")
    titles = {"records": "records or items", "cells": "non-zero cells", "domain": "cells of the domain"}
    figure, axes = plt.subplots(len(panels), 2, figsize=(7.4, 13), sharex="row", sharey="col", layout="constrained")
    for (_, mechanism, axis), group in groupby(points, key=curve_of):
        curve = list(group)
        row = panels.index(names.get(axis, axis))
        slope = exponent(curve)
        label = f"{mechanism}: {'too fast' if slope is None else f'{round(slope, 2) + 0:.2f}'}"
        sizes = [point.size for point in curve]
        axes[row, 0].plot(sizes, [point.seconds for point in curve], marker="o", markersize=3, label=label)
        axes[row, 1].plot(sizes, [point.megabytes for point in curve], marker="o", markersize=3)
    for row, panel in enumerate(panels):
        left, right = axes[row]
        left.set(xscale="log", yscale="log", ylim=(1e-5, 1e7), ylabel="seconds")
        right.set(yscale="log", ylim=(1e-2, 1e4), ylabel="MB")
        left.legend(fontsize=7, loc="upper left", title="exponent of time", title_fontsize=7)
        for each in (left, right):
            each.set_xlabel(titles.get(panel, panel))
            each.grid(alpha=0.25)
    axes[0, 0].set_title("time of one release (trials: of one run)")
    axes[0, 1].set_title("peak memory")
    return figure


if __name__ == "__main__":
    draw(read(STATIC / "growth.csv")).savefig(STATIC / "growth.png", dpi=110, metadata={"Software": None})
