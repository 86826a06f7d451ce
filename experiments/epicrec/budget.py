"""epicrec: the utility loss of S-DPDP against its budget, the loss that S-PBQ expects, and the budget it chooses."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import style
from dpbench.figures.ticks import plain_numbers, plain_ticks
from dpbench.storage.frame import summarise


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    keys = ["dataset", "mechanism", "epsilon"]
    table = summarise(trials, keys)[[*keys, "trials", "mae", "mae_se", "mae_p95"]]
    means = trials.groupby(keys, sort=False)[["chosen.noise", "chosen.epsilon"]].mean().reset_index()
    table = table.merge(means.rename(columns={"chosen.noise": "expected_loss", "chosen.epsilon": "spent"}), on=keys)
    table["spent"] = table["spent"].fillna(table["epsilon"])
    # S-PBQ never spends more than the budget that it chooses, even if it is given more.
    choice = table[table["mechanism"] == "s_pbq"].groupby("dataset")["spent"].max()
    return table.assign(chosen=table["dataset"].map(choice))


def draw(numbers: pd.DataFrame) -> Figure:
    datasets = list(dict.fromkeys(numbers["dataset"]))
    figure, axes = style.panels(len(datasets), width=3.5, height=2.6)
    for ax, dataset in zip(axes, datasets, strict=True):
        part = numbers[numbers["dataset"] == dataset].sort_values("epsilon")
        for i, (mechanism, rows) in enumerate(part.groupby("mechanism", sort=False)):
            look = style.look(mechanism, i)
            ax.errorbar(
                rows["epsilon"], rows["mae"], yerr=rows["mae_se"], capsize=2, label=style.name(mechanism), **look
            )
        rows = part[part["mechanism"] == "s_dpdp"]
        ax.plot(rows["epsilon"], rows["expected_loss"], "k:", label="expected loss |z|₁/c")
        chosen = part["chosen"].iloc[0]
        ax.axvline(chosen, color=style.COLOURS[2], linestyle="--", label="S-PBQ's choice")
        ax.set_title(f"{style.name(dataset)}: S-PBQ chooses ε = {chosen:g}")
        ax.set_xscale("log")
        ax.set_yscale("log")
        plain_ticks(ax, sorted(numbers["epsilon"].unique()))
        plain_numbers(ax)
        ax.set_xlabel("ε that may be spent")
    axes[0].set_ylabel("MAE of category aggregates")
    style.legend_above(figure, axes)
    return figure
