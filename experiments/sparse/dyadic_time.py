"""Time of dyadic summaries, of sparse: seconds of a release, its tree included, against density.

The median over trials is shown, with quartiles, because the first trial in a process is slow.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes, style

ERROR_BARS = "points and error bars: median and quartiles over the trials"


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    sizes = {name: trials[f"metric.{name}"] for name in ("density", "nonzeros")}
    groups = trials.assign(**sizes).groupby(["mechanism", "density", "nonzeros"], sort=False)["seconds"]
    quartiles = {"low": groups.quantile(0.25), "seconds": groups.median(), "high": groups.quantile(0.75)}
    return pd.DataFrame(quartiles).reset_index()


def draw(numbers: pd.DataFrame) -> Figure:
    figure, (ax,) = style.panels(1, width=4.4, height=3.0)
    for i, mechanism in enumerate(shapes.ordered(numbers["mechanism"])):
        rows = numbers[numbers["mechanism"] == mechanism].sort_values("density")
        spread = [rows["seconds"] - rows["low"], rows["high"] - rows["seconds"]]
        look = style.look(mechanism, i)
        ax.errorbar(100 * rows["density"], rows["seconds"], spread, label=style.name(mechanism), capsize=2, **look)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("density (%)")
    ax.set_ylabel("seconds per release")
    style.legend_above(figure, [ax])
    return figure
