"""cross: every column-count mechanism on every dataset. A heat map of the error over the lowest one of the setting, and
a ranked table.

A dot marks the competitive set of a setting: not significantly above the lowest error (Welch's test, Bonferroni). Regret
is the geometric mean of the ratios. Mechanisms that only name the largest columns have a precision and no error.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from dpbench.compare.standings import regret, standings
from dpbench.figures import style
from dpbench.figures.shapes import ordered
from dpbench.results.frame import summarise

TRIVIAL = ("lpa", "alpa")
MODERN = ("linf", "gaussian", "pf_peeling", "joint_topk")
WEAKER = {"gaussian": "(ε, δ)"}
"""Mechanisms whose guarantee is not pure ε, and what it is."""
DARKEST = 1000.0
"""Ratios above it share the darkest colour: one hopeless mechanism must not take it from all others."""
KEYS = ["dataset", "epsilon", "mechanism"]
MEANS = ["precision_at_10", "precision_at_100", "kl"]


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    """A row a setting and mechanism with its own numbers; beside them its standing over all settings."""
    table = summarise(trials, KEYS)
    standing = standings(trials, "mae")
    table = table.merge(standing.drop(columns="mae"), on=KEYS, how="left")
    overall = regret(standing).rename(columns={"competitive": "times_competitive", "best": "times_best"})
    means = _means(trials)
    table = table.merge(overall, on="mechanism", how="left").merge(means, on="mechanism")
    # Ranked by regret; those without an error come last, by what they can do.
    order = overall["mechanism"].tolist()
    rest = means[~means["mechanism"].isin(order)].sort_values("mean_precision_at_10", ascending=False)["mechanism"]
    table["rank"] = table["mechanism"].map({name: i + 1 for i, name in enumerate([*order, *rest])})
    return table.sort_values(["rank"], kind="stable").reset_index(drop=True)


def _means(trials: pd.DataFrame) -> pd.DataFrame:
    stored = {f"metric.{name}": f"mean_{name}" for name in MEANS}
    return trials.groupby("mechanism", sort=False)[list(stored)].mean().rename(columns=stored).reset_index()


def draw(numbers: pd.DataFrame) -> Figure:
    ranked = numbers.drop_duplicates("mechanism").sort_values("rank")
    settings = list(numbers[["dataset", "epsilon"]].drop_duplicates().itertuples(index=False, name=None))
    settings.sort(key=lambda s: (ordered(numbers["dataset"]).index(s[0]), s[1]))
    figure, (above, below) = style.panels(2, columns=1, width=max(7.5, 0.42 * len(settings) + 1.6), height=4.3)
    heat_map(above, numbers, ranked[ranked["regret"].notna()]["mechanism"].tolist(), settings, figure)
    table(below, summary(numbers), ranked["mechanism"].isin(TRIVIAL).tolist())
    return figure


def label(mechanism: str) -> str:
    marks = [
        "(trivial)" if mechanism in TRIVIAL else "(modern)" if mechanism in MODERN else "",
        WEAKER.get(mechanism, ""),
    ]
    return " ".join([style.name(mechanism), *filter(None, marks)])


def heat_map(ax: Axes, numbers: pd.DataFrame, mechanisms: list, settings: list, figure: Figure) -> None:
    cells = numbers.set_index(["mechanism", "dataset", "epsilon"])
    index = [(m, *s) for m in mechanisms for s in settings]
    shape = (len(mechanisms), len(settings))
    ratio = cells["ratio"].reindex(index).to_numpy(dtype=float).reshape(shape)
    dots = cells["competitive"].reindex(index).to_numpy().reshape(shape)
    shown = np.ma.masked_invalid(ratio)
    darkest = min(DARKEST, max(10.0, float(shown.max())))
    image = ax.imshow(shown, norm=LogNorm(1, darkest), cmap="viridis_r", aspect="auto")
    for i, j in np.ndindex(*shape):
        if np.isfinite(ratio[i, j]):
            dark = ratio[i, j] > darkest**0.5
            text = f"{ratio[i, j]:.2g}" if ratio[i, j] < 100 else f"{ratio[i, j]:.3g}".replace("e+0", "e")
            ax.text(j, i, text, ha="center", va="center", fontsize=5.5, color="white" if dark else "black")
            if dots[i, j] is True or dots[i, j] == 1:
                ax.plot(j + 0.36, i - 0.3, "o", color="#D55E00", markersize=3)
    ax.set_yticks(range(shape[0]), [label(m) for m in mechanisms])
    ax.set_xticks(range(shape[1]), [style.epsilon_name(e) for _, e in settings], rotation=90, fontsize=7)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    datasets = ordered(pd.Series([d for d, _ in settings]))
    for dataset in datasets:
        places = [j for j, (d, _) in enumerate(settings) if d == dataset]
        ax.text(np.mean(places), -0.75, style.name(dataset), ha="center", va="bottom", fontsize=8, weight="bold")
        ax.axvline(max(places) + 0.5, color="white", linewidth=2)
    ax.set_xlabel("ε")
    bar = figure.colorbar(
        image, ax=ax, pad=0.01, fraction=0.03, extend="max" if float(shown.max()) > darkest else "neither"
    )
    bar.set_label("MAE over the lowest of the setting")


def summary(numbers: pd.DataFrame) -> pd.DataFrame:
    """The ranking: a row a mechanism over all settings."""
    ranked = numbers.drop_duplicates("mechanism").sort_values("rank")
    columns = {"rank": "rank", "mechanism": "mechanism", "regret": "regret", "worst": "worst"}
    columns |= {"times_competitive": "competitive", "times_best": "best", "settings": "settings"}
    columns |= {"mean_precision_at_10": "precision@10", "mean_precision_at_100": "precision@100", "mean_kl": "KL"}
    found = ranked[list(columns)].rename(columns=columns)
    # Those without an error are in no order.
    return found.assign(rank=found["rank"].where(found["regret"].notna()), mechanism=found["mechanism"].map(label))


def table(ax: Axes, ranked: pd.DataFrame, trivial: list[bool]) -> None:
    head = ["", "mechanism", "regret", "worst", "competitive", "best", "precision@10", "precision@100", "KL"]
    rows = [
        [
            _shown(row["rank"], ".0f", ""),
            row["mechanism"],
            _shown(row["regret"], ".2f"),
            _shown(row["worst"], ",.1f"),
            _shown(row["competitive"], ".0f", of=row["settings"]),
            _shown(row["best"], ".0f", of=row["settings"]),
            _shown(row["precision@10"], ".0%"),
            _shown(row["precision@100"], ".0%"),
            _shown(row["KL"], ".3f"),
        ]
        for _, row in ranked.iterrows()
    ]
    ax.axis("off")
    drawn = ax.table(rows, colLabels=head, bbox=(0, 0, 1, 1), colWidths=[0.04, 0.2, *[0.11] * 7])
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    for (at, column), cell in drawn.get_celld().items():
        cell.set_linewidth(0.4)
        cell.set_edgecolor("#bbbbbb")
        cell.set_facecolor("#eeeeee" if at > 0 and trivial[at - 1] else "white")
        cell.set_text_props(ha="left" if column == 1 else "right", weight="bold" if at == 0 else "normal")
        cell.PAD = 0.08
    notes = ["● competitive: not significantly above the lowest error", "(modern): of none of the five papers"]
    ax.set_title("    ".join([*notes, "(ε, δ): a weaker guarantee"]), fontsize=8, loc="left")


def _shown(value: float, form: str, empty: str = "-", of: float | None = None) -> str:
    if pd.isna(value):
        return empty
    return format(value, form) + (f" of {of:.0f}" if of is not None else "")
