"""epicrec: running time of a release against the number of items, for both phases, for phase 2 only, and for plain Laplace.

The numbers are medians, because the first release of a process also compiles, imports or solves what later ones reuse.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import style
from dpbench.figures.ticks import plain_ticks

LABELS = {
    "both": "S-DPDP, both phases",
    "sanitise": "S-DPDP, noise already calibrated",
    "laplace": "Laplace",
}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    once = trials["mechanism.solve_once"]
    variant = once.map({False: "both", True: "sanitise"}).where(trials["mechanism"] == "s_dpdp", "laplace")
    groups = trials.assign(variant=variant, items=trials["metric.items"]).groupby(["variant", "items"], sort=False)[
        "seconds"
    ]
    table = pd.DataFrame({"trials": groups.size(), "seconds": groups.median(), "seconds_p95": groups.quantile(0.95)})
    return table.reset_index()


def draw(numbers: pd.DataFrame) -> Figure:
    figure, (ax,) = style.panels(1, width=4.4, height=3.0)
    for i, (variant, label) in enumerate(LABELS.items()):
        part = numbers[numbers["variant"] == variant].sort_values("items")
        ax.loglog(part["items"], part["seconds"], label=label, **style.look(variant, i))
    plain_ticks(ax, sorted(numbers["items"].unique()))
    ax.set_xlabel("items")
    ax.set_ylabel("seconds per release (median)")
    style.legend_above(figure, [ax])
    return figure
