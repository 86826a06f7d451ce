"""Specification curves: ours over the printed number for every choice, sorted, with the choices as dots below.

Imported by the scripts of the experiments `<paper>/readings`; `claims/specification.py` makes the rows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.figures import captions, style
from dpbench.figures.ticks import plain_numbers

CHOICE = "choice "
ROW = 0.135
"""Height of a row of dots, in inches."""
GAP = 1.5
"""Space between two numbers, in choices."""
LETTERS = 112
"""Letters of a heading that fit side by side above all numbers."""
UPRIGHT = 18
"""Letters in a line of a heading that stands upright, because its number is too narrow for it."""
RULE = (
    "ours over the number that the paper prints, one point per choice, sorted within each number; filled: ours would be "
    "printed like it, or reaches it within its 95 % interval (bars); grey: what is printed so; a single printed run fits unless "
    "a run at least as extreme is less likely than 5 %"
)


def draw(rows: pd.DataFrame, best: pd.DataFrame, conflicts: Sequence[tuple[str, ...]] = ()) -> Figure:
    """The curve of a paper: `rows`, `best` and `conflicts` as `claims/specification.py` makes them."""
    from matplotlib import pyplot as plt

    shown = rows[rows["kind"] == "number"] if not rows.empty else rows
    if shown.empty:
        figure = plt.figure(figsize=(style.PAGE, 1.0))
        figure.text(0.5, 0.5, "no printed number could be compared", ha="center")
        return figure
    at, ticks, ordered = _places(shown)
    choices = _matrix_rows(ordered)
    height = 2.3 + ROW * (len(choices) + 1)
    figure, (top, below) = plt.subplots(
        2,
        1,
        sharex=True,
        figsize=(style.PAGE, height),
        height_ratios=[1.7, max(0.6, ROW * len(choices))],
        layout="constrained",
    )
    _ratios(top, at, ordered)
    _dots(below, at, ordered, choices, best)
    for left, right, name in ticks:
        across = int(
            LETTERS * (right - left + 1 + GAP) / (at[-1] - at[0] + 1 + GAP)
        )  # letters that fit above the number
        words = name.replace("-", " ")
        flat = across >= max(map(len, words.split()))
        top.text(
            (left + right) / 2,
            1.02,
            "\n".join(textwrap.wrap(words, across if flat else UPRIGHT, break_long_words=False)),
            transform=top.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=6,
            rotation=0 if flat else 90,
        )
        for ax in (top, below):
            ax.axvline(right + (1 + GAP) / 2, color="0.85", linewidth=0.6)
    captions.tell(figure, RULE)
    for text in told(best, conflicts):
        captions.tell(figure, text)
    return figure


def told(best: pd.DataFrame, conflicts: Sequence[tuple[str, ...]]) -> list[str]:
    """What the curve says in words: the nearest choice with its distance, and what no choice satisfies together."""
    texts = []
    if len(best):
        first = best.iloc[0]
        chosen = [
            f"{c.removeprefix(CHOICE)} {first[c]}".replace("_", " ")
            for c in best.columns
            if c.startswith(CHOICE) and best[c].nunique() > 1
        ]
        interval = f"{first['distance']:.2f} ({first['distance_low']:.2f} to {first['distance_high']:.2f})"
        texts.append(
            f"nearest to all {int(first['numbers'])} numbers together: {', '.join(chosen) or 'the only choice'}; root mean "
            f"square of the logarithms of ours over the nearest value that is printed so: {interval}; nearest in "
            f"{100 * first['best']:.0f} % of redraws (triangles)"
        )
    alone = [name for (name,) in (c for c in conflicts if len(c) == 1)]
    if alone:
        texts.append(f"no choice gives: {', '.join(alone)}")
    together = [" and ".join(c) for c in conflicts if len(c) > 1]
    if together:
        texts.append(
            f"no choice gives together: {'; '.join(together[:6])}"
            + (f"; {len(together) - 6} more" * (len(together) > 6))
        )
    return texts


def _places(shown: pd.DataFrame) -> tuple[np.ndarray, list[tuple[float, float, str]], pd.DataFrame]:
    """Where each row stands, from where to where each number goes, and the rows in that order."""
    places: list[float] = []
    ticks, parts, position = [], [], 0.0
    for name, part in shown.groupby("number", sort=False):
        part = part.sort_values("ratio", kind="stable")
        own = position + np.arange(len(part))
        ticks.append((float(own[0]), float(own[-1]), str(name)))
        places += list(own)
        parts.append(part)
        position = own[-1] + 1 + GAP
    return np.array(places), ticks, pd.concat(parts)


def _ratios(ax: Axes, at: np.ndarray, rows: pd.DataFrame) -> None:
    printed = rows["printed"].to_numpy()
    ratio = rows["ratio"].to_numpy()
    fits = rows["fits"].to_numpy(dtype=bool)
    low, high = rows["ours_low"].to_numpy() / printed, rows["ours_high"].to_numpy() / printed
    spread = np.nan_to_num(np.maximum(0, [ratio - np.maximum(low, 1e-12), high - ratio]), posinf=0.0)
    band_low = np.maximum(rows["low"].to_numpy() / printed, 1e-3)
    band_high = np.minimum(rows["high"].to_numpy() / printed, 1e3)
    ax.set_yscale("log")
    reach = [*ratio[np.isfinite(ratio) & (ratio > 0)], 0.8, 1.25]
    bottom, top = min(reach) / 1.3, max(reach) * 1.3
    ax.vlines(at, np.maximum(band_low, bottom), np.minimum(band_high, top), color="0.88", linewidth=4)
    ax.axhline(1, color="black", linewidth=0.8)
    colour = style.COLOURS[0]
    ax.vlines(at, ratio - spread[0], ratio + spread[1], color=colour, linewidth=0.7)
    ax.scatter(at, ratio, s=12, facecolor=np.where(fits, colour, "white"), edgecolor=colour, linewidth=0.8, zorder=4)
    ax.set_ylim(bottom, top)
    ax.set_ylabel("ours / printed")
    plain_numbers(ax)


def _matrix_rows(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Every (choice, value) that occurs, in the order of the columns."""
    columns = [c for c in rows.columns if c.startswith(CHOICE) and rows[c].nunique() > 1]
    return [(column, value) for column in columns for value in rows[column].dropna().unique()]


def _dots(ax: Axes, at: np.ndarray, rows: pd.DataFrame, choices: list[tuple[str, str]], best: pd.DataFrame) -> None:
    names = []
    first = best.iloc[0] if len(best) else None
    for y, (column, value) in enumerate(choices):
        here = (rows[column] == value).to_numpy()
        nearest = first is not None and column in best and first[column] == value
        ax.scatter(at[here], np.full(here.sum(), y), s=7, color="black", marker="^" if nearest else "o")
        names.append(f"{column.removeprefix(CHOICE)}: {value}".replace("_", " "))
        if y and choices[y - 1][0] != column:
            ax.axhline(y - 0.5, color="0.85", linewidth=0.6)
    ax.set_yticks(range(len(names)), names, fontsize=6)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xticks([])
    ax.grid(visible=False)
