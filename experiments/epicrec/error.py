"""epicrec: MAE and RMSE of the category aggregates against epsilon; S-DPDP, S-DPDP without calibration, and plain Laplace."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import grids, style
from dpbench.storage.frame import summarise

LABELS = {"s_dpdp": "S-DPDP", "plain": "S-DPDP without calibration", "laplace_categories": "Laplace"}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    plain = (trials["mechanism"] == "s_dpdp") & (trials["mechanism.calibrated"] == False)  # noqa: E712 (missing for Laplace)
    trials = trials.assign(mechanism=trials["mechanism"].mask(plain, "plain"))
    keys = ["dataset", "mechanism", "epsilon"]
    table = summarise(trials, keys)
    noise = trials.groupby(keys, sort=False)["chosen.noise"].mean().rename("noise")
    table = table.merge(noise.reset_index(), on=keys)
    # Theorem 3: E[MAE] <= 2 |z|_1 / c, stated for the calibrated noise.
    table["bound"] = (2 * table["noise"]).where(table["mechanism"] == "s_dpdp")
    return table


def draw(numbers: pd.DataFrame) -> Figure:
    figure, axes = grids.by_metric(
        numbers,
        panel="dataset",
        x="epsilon",
        series="mechanism",
        metrics={"mae": "MAE", "rmse": "RMSE"},
        xlabel="ε",
        label=lambda mechanism: LABELS[mechanism],
        look=_look,
    )
    for dataset in dict.fromkeys(numbers["dataset"]):
        part = numbers[(numbers["dataset"] == dataset) & numbers["bound"].notna()].sort_values("epsilon")
        axes[dataset, "mae"].plot(part["epsilon"], part["bound"], "k:", linewidth=1.2, label="bound of Theorem 3")
    style.legend_above(figure, list(axes.values()))
    return figure


def _look(mechanism: str, position: int) -> dict[str, str]:
    """S-DPDP without calibration is drawn as a variant of S-DPDP."""
    both = style.looks(["S-DPDP", "S-DPDP, plain"])
    return both["S-DPDP, plain"] if mechanism == "plain" else style.look(mechanism, position)
