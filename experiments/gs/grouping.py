"""Section 3.2 of gs: how often columns 1 and 2 are grouped together on D and on its neighbour D', one panel per epsilon.

`loss` is the logarithm of the ratio of the two probabilities: the privacy loss of the grouping alone. It is infinite if one
probability is zero, as with optimal groups.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import captions, shapes, style
from dpbench.figures.captions import Stated
from dpbench.storage.frame import summarise

NEIGHBOURS = {True: "D, counts 11, 13, 13, 14", False: "D', counts 11, 13, 12, 14"}

STATED = (
    Stated("gs/optimal-grouping-on-d", 1, "100 %", {"mechanism": "gs_optimal", "user": True}),
    Stated("gs/optimal-grouping-on-neighbour", 0, "0 %", {"mechanism": "gs_optimal", "user": False}),
)
"""Section 3.2."""


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = summarise(trials, ["epsilon", "mechanism", "dataset.user"]).rename(columns={"dataset.user": "user"})
    chances = table.pivot(index=["epsilon", "mechanism"], columns="user", values="together")
    with np.errstate(divide="ignore"):
        loss = np.abs(np.log(chances[True]) - np.log(chances[False])).rename("loss")
    return table.merge(loss.reset_index(), on=["epsilon", "mechanism"])


def draw(numbers: pd.DataFrame) -> Figure:
    kinds, members = shapes.ordered(numbers["epsilon"]), shapes.ordered(numbers["mechanism"])
    figure, axes = style.panels(len(kinds), width=2.9, height=2.4)
    for ax, epsilon in zip(axes, kinds, strict=True):
        part = numbers[numbers["epsilon"] == epsilon].set_index(["mechanism", "user"])
        for i, (user, label) in enumerate(NEIGHBOURS.items()):
            rows = part.reindex([(member, user) for member in members])
            x = np.arange(len(members)) + (i - 0.5) * 0.38
            look = {"color": style.COLOURS[i], "hatch": style.HATCHES[i], "edgecolor": "white", "linewidth": 0}
            ax.bar(x, 100 * rows["together"], 0.34, yerr=100 * rows["together_se"], label=label, **look)
        ax.set_xticks(range(len(members)), [style.name(member).replace(" ", "\n") for member in members], fontsize=8)
        for i, (user, _) in enumerate(NEIGHBOURS.items()):
            for at, member in enumerate(members):
                for stated in [stated for stated in STATED if stated.fits(mechanism=member, user=user)]:
                    captions.cross(ax, at + (i - 0.5) * 0.38, 100 * stated.value, stated, side="above")
        ax.set_title(f"ε = {style.epsilon_name(epsilon)}")
        ax.set_ylim(-4, 115)  # room for the crosses and their numbers
        ax.axhline(0, color="#444444", linewidth=0.8)
        ax.grid(axis="x", visible=False)
    axes[0].set_ylabel("columns 1 and 2 together (%)")
    style.legend_above(figure, axes)
    return figure
