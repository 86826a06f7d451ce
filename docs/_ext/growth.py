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
    """Time above, memory below, one column per axis."""
    names = {"non-zero cells": "cells", "items": "records"}
    panels = ("rows", "columns", "records", "domain", "cells", "trials")
    figure, axes = plt.subplots(2, len(panels), figsize=(15, 6.4), sharex="col", sharey="row", layout="constrained")
    titles = {"records": "records or items", "cells": "non-zero cells", "domain": "cells of the domain"}
    for (_, mechanism, axis), group in groupby(points, key=curve_of):
        curve = list(group)
        column = panels.index(names.get(axis, axis))
        slope = exponent(curve)
        label = f"{mechanism}: {'too fast' if slope is None else f'{slope:.2f}'}"
        sizes = [point.size for point in curve]
        axes[0, column].plot(sizes, [point.seconds for point in curve], marker="o", markersize=3, label=label)
        axes[1, column].plot(sizes, [point.megabytes for point in curve], marker="o", markersize=3)
    for column, panel in enumerate(panels):
        top, bottom = axes[:, column]
        top.set(title=titles.get(panel, panel), xscale="log", yscale="log")
        bottom.set(xlabel=titles.get(panel, panel), yscale="log")
        top.legend(fontsize=7, loc="upper left", title="exponent of time", title_fontsize=7)
        for each, (low, high) in ((top, (1e-5, 3000)), (bottom, (1e-2, 1e4))):
            each.grid(alpha=0.25)
            each.set_ylim(low, high)
    axes[0, 0].set_ylabel("seconds of one release (or run)")
    axes[1, 0].set_ylabel("peak memory, MB")
    return figure


if __name__ == "__main__":
    draw(read(STATIC / "growth.csv")).savefig(STATIC / "growth.png", dpi=110, metadata={"Software": None})
