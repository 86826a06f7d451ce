"""The figures of one board: regret with intervals, ratios by dataset and causes of the error; and error against time.

Mechanisms of the five papers, modern ones and trivial ones differ in marker and font style, not only in colour.
Imported by the scripts of cross and by the `compare` verb; reads tidy numbers only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from dpbench.figures import captions, style
from dpbench.figures.layout import settle
from dpbench.figures.ticks import plain_places

WIDTH = 7.0
"""Width of a page's text, in inches."""
SMALL = 7.5
"""Size of the smallest letters, in points."""
SHARES = {
    "bounding": ("#56B4E9", ""),
    "sampling": ("#E69F00", "///"),
    "grouping": ("#009E73", "..."),
    "dropping": ("#CC79A7", "xxx"),
    "noise": ("#BBBBBB", ""),
}
"""The causes of an error, named as in `share_NAME`: colour and hatch."""
DARKEST = 1000.0
"""All ratios above this have the darkest colour, so that one very bad mechanism does not compress the scale for the others."""


@dataclass(frozen=True)
class Look:
    """Marker and colour of the mechanisms of one origin."""

    word: str
    marker: str
    face: str
    italic: bool = False


PAPER = Look("of the five papers", "s", "#0072B2")
MODERN = Look("modern", "o", "white", italic=True)
BASIC = Look("trivial", "D", "#999999")


def look(who: str) -> Look:
    """By the family that the class states; an unknown one is modern."""
    base = who.partition("[")[0]
    family = getattr(style.mechanism(style.PRESETS.get(base, base)), "family", "")
    return {"paper": PAPER, "trivial": BASIC}.get(family, MODERN)


def label(who: str) -> str:
    """A name on a board as readers see it: `gaussian_correlated[bound=declared]` has a declared bound."""
    base, _, more = who.partition("[")
    shown = base if "." in base else style.label(base)
    parameters = more.rstrip("]").replace("bound=declared", "bound").replace("bound=None", "no bound").replace("=", " ")
    return f"{shown} ({parameters})" if parameters else shown


def board_figure(
    ranking: pd.DataFrame,
    cells: pd.DataFrame,
    *,
    title: str,
    columns: Sequence[str],
    shares: pd.DataFrame | None = None,
    highlight: str = "",
    share: bool = False,
    measured: str = "error",
) -> Figure:
    """One board.

    ranking: one row per mechanism, the best first: `who`, `regret`, `regret_low`, `regret_high`, `rank`, `rank_low`, `rank_high`.
    cells: `who`, `column`, `ratio`, `competitive` (in which share of the cell's settings it is close to the best). shares: `who`
    and the columns of `SHARES`, adding up to 1. share: the measure is a share, and regrets are differences.
    """
    names = ranking["who"].tolist()
    with_split = shares is not None and not shares.empty
    ratios = [1.1, max(1.6, 0.4 * len(columns)), *([0.8] if with_split else [])]
    height = 1.9 + 0.23 * len(names)
    figure, axes = style.plt.subplots(
        1, len(ratios), figsize=(WIDTH, height), width_ratios=ratios, layout="constrained", squeeze=False
    )
    left, middle, *right = axes[0]
    _regrets(left, ranking, highlight, share)
    _cells(middle, cells, names, columns, share)
    if with_split and shares is not None:
        _split(right[0], shares, names)
        captions.tell(figure, "squared error: what causes which part of it, over all settings")
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    rings: dict[str, Any] = {"marker": "o", "color": "#D55E00", "linestyle": "none", "markersize": 4}
    handles: list[Artist] = [_handle(kind) for kind in (PAPER, MODERN, BASIC)]
    handles.append(Line2D([], [], **rings, label="competitive in all settings"))
    handles.append(Line2D([], [], **rings, markerfacecolor="none", label="in some settings"))
    if right:
        handles += right[0].get_legend_handles_labels()[0]
    style.legend_below(figure, handles)
    middle.set_title(f"{measured}, {'below the best' if share else 'times the best'}", fontsize=SMALL + 0.5)
    return figure


def _handle(kind: Look) -> Line2D:
    face: dict[str, Any] = {
        "markerfacecolor": kind.face,
        "markeredgecolor": "#0072B2" if kind is not BASIC else "#666666",
    }
    return Line2D([], [], marker=kind.marker, color="none", linestyle="none", markersize=5, label=kind.word, **face)


def _regrets(ax: Axes, ranking: pd.DataFrame, highlight: str, share: bool) -> None:
    """Regret with its interval, and the interval of the rank beside the name."""
    for at, row in enumerate(ranking.itertuples()):
        kind = look(row.who)
        mine = row.who == highlight
        edge = "#D55E00" if mine else "#666666" if kind is BASIC else "#0072B2"
        low, high = max(row.regret_low, 0 if share else 1), row.regret_high
        if math.isfinite(high):
            ax.plot([low, high], [at, at], color=edge, linewidth=1.4, solid_capstyle="butt")
        ax.plot(row.regret, at, kind.marker, markerfacecolor=kind.face, markeredgecolor=edge, markersize=5)
        if mine:
            ax.axhspan(at - 0.5, at + 0.5, color="#D55E00", alpha=0.15, linewidth=0)
    texts = [f"{label(row.who)}  {_rank(row)}" for row in ranking.itertuples()]
    marks = ranking["mark"] if "mark" in ranking else pd.Series("", index=ranking.index)
    ax.set_yticks(range(len(texts)), texts, fontsize=SMALL + 0.5)
    for tick, who, mark in zip(ax.get_yticklabels(), ranking["who"], marks, strict=True):
        tick.set_color("#C00000" if mark else "black")
        tick.set_fontstyle("italic" if look(who).italic else "normal")
        tick.set_fontweight("bold" if who == highlight else "normal")
    ax.set_ylim(len(texts) - 0.5, -0.5)
    if not share:
        ax.set_xscale("log")
        finite = ranking["regret_high"].replace([np.inf], np.nan).max()
        ax.set_xlim(0.9, max(2.0, min(2 * DARKEST, 1.3 * finite)))
        ticks = [t for t in (1, 2, 5, 10, 100, 1000) if t <= ax.get_xlim()[1]]
        ticks = ticks if len(ticks) <= 4 else [t for t in ticks if t not in (2, 5)]
        ax.set_xticks(ticks, [f"{t:g}" for t in ticks], fontsize=SMALL)
        ax.minorticks_off()
    else:  # in points, as in the cells
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
    ax.tick_params(length=0, labelsize=None)
    ax.tick_params(axis="x", labelsize=SMALL)
    ax.set_title("regret (95 %)", fontsize=SMALL + 0.5)


def _rank(row: object) -> str:
    """The rank and its interval, and the mark in short: its details are in the caption."""
    rank, low, high = (getattr(row, name) for name in ("rank", "rank_low", "rank_high"))
    mark = ", ".join(
        part.partition(":")[0].partition(" with ")[0] for part in getattr(row, "mark", "").split("; ") if part
    )
    if pd.isna(rank):
        return mark or ("out of reach" if getattr(row, "out_of_reach", False) in (True,) else "–")
    shown = f"{rank:.0f}" if low == high else f"{rank:.0f} ({low:.0f}–{high:.0f})"
    return f"{shown}, {mark}" if mark else shown


def _cells(ax: Axes, cells: pd.DataFrame, names: Sequence[str], columns: Sequence[str], share: bool) -> None:
    """Ratios as colours and numbers. A full dot: certainly close to the best in all settings of the cell; hollow: in some."""
    table = cells.set_index(["who", "column"])
    shape = len(names), len(columns)
    index = [(name, column) for name in names for column in columns]
    ratio = table["ratio"].reindex(index).to_numpy(dtype=float).reshape(shape)
    among = table["competitive"].reindex(index).to_numpy(dtype=float).reshape(shape)
    shown = np.ma.masked_invalid(ratio)
    norm: Normalize = Normalize(0, 1) if share else LogNorm(1, DARKEST)
    ax.imshow(shown, norm=norm, cmap="Greys", aspect="auto", alpha=0.75)
    for i, j in np.ndindex(*shape):
        if not np.isfinite(ratio[i, j]):
            continue
        dark = norm(min(ratio[i, j], DARKEST)) > 0.6
        ax.text(
            j,
            i,
            _number(ratio[i, j], share),
            ha="center",
            va="center",
            fontsize=SMALL,
            color="white" if dark else "black",
        )
        if among[i, j] > 0:
            face = "#D55E00" if among[i, j] == 1 else "none"
            ax.plot(j + 0.4, i - 0.3, "o", color="#D55E00", markerfacecolor=face, markersize=3, markeredgewidth=0.8)
    ax.set_yticks([])
    ax.set_xticks(range(len(columns)), [style.name(column) for column in columns], rotation=90, fontsize=SMALL)
    ax.grid(visible=False)
    ax.tick_params(length=0)


def _number(value: float, share: bool) -> str:
    if share:
        return f"{100 * value:.0f}"
    if value < 9.95:
        return f"{value:.2f}" if value < 1.995 else f"{value:.1f}"
    return (
        f"{value:.0f}" if value < 999.5 else "1k" if value < 1500 else f"{value / 1000:.0f}k" if value < 1e6 else ">1M"
    )


def cost_figure(points: pd.DataFrame, *, title: str, highlight: str = "", share: bool = False) -> Figure:
    """Error against time: no mechanism is better in both than one on the line.

    points: one row per mechanism: `who`, `regret`, `seconds`.
    """
    figure, ax = style.plt.subplots(figsize=(WIDTH, 4.2), layout="constrained")
    known = points[points["seconds"].gt(0) & points["regret"].notna()].sort_values(["seconds", "regret"], kind="stable")
    regret = known["regret"].to_numpy(dtype=float)
    front = known[regret <= np.minimum.accumulate(regret)] if len(known) else known
    shown = 100 * known["regret"] if share else known["regret"]
    line = 100 * front["regret"] if share else front["regret"]
    ax.step(front["seconds"], line, where="post", color="#BBBBBB", linewidth=1.2, zorder=1)
    texts = []
    for who, seconds, value in zip(known["who"], known["seconds"], shown, strict=True):
        kind = look(who)
        edge = "#D55E00" if who == highlight else "#666666" if kind is BASIC else "#0072B2"
        ax.plot(seconds, value, kind.marker, markerfacecolor=kind.face, markeredgecolor=edge, markersize=6, zorder=2)
        weight = "bold" if who in {highlight, *front["who"]} else "normal"
        text = ax.text(seconds, value, label(who), fontsize=SMALL, fontweight=weight, zorder=3)
        # The line may pass below it.
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.2})
        texts.append(text)
    ax.set_xscale("log")
    if not share and len(known) and regret.max() > 10:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    ax.margins(x=0.16, y=0.08)
    plain_places(ax)
    ax.set_xlabel("seconds per release")
    ax.set_ylabel("regret, points" if share else "regret")
    ax.set_title(title, fontsize=10, loc="left")
    style.legend_below(figure, [_handle(kind) for kind in (PAPER, MODERN, BASIC)])
    settle(figure)  # names are put where they cover no other name, so their place depends on the size of the panel
    _apart(ax, texts)
    return figure


def _apart(ax: Axes, texts: Sequence[Text]) -> None:
    """Put each name at the first place beside its point that is inside the panel and covers no other name and no point, as far
    as there is one."""
    scale = ax.figure.dpi / 72
    points = [ax.transData.transform(text.get_position()) for text in texts]
    taken = [Bbox.from_bounds(x - 4 * scale, y - 4 * scale, 8 * scale, 8 * scale) for x, y in points]
    for text, (at, middle) in zip(texts, points, strict=True):
        wide, high = text.get_window_extent().size
        shifts = itertools.product((0, 9, -9, 18, -18, 27, -27), (6 * scale, -6 * scale - wide))
        boxes = [Bbox.from_bounds(at + x, middle - high / 2 + y * scale, wide, high) for y, x in shifts]
        inside = [box for box in boxes if ax.bbox.x0 <= box.x0 <= box.x1 <= ax.bbox.x1] or boxes
        inside = [box for box in inside if ax.bbox.y0 <= box.y0 <= box.y1 <= ax.bbox.y1] or inside
        best = next((box for box in inside if not box.count_overlaps(taken)), inside[0])
        taken.append(best)
        x, y = ax.transData.inverted().transform((best.x0, best.y0))
        text.set_position((float(x), float(y)))


def _split(ax: Axes, shares: pd.DataFrame, names: Sequence[str]) -> None:
    """The mean squared error, split by cause, as stacked bars."""
    table = shares.set_index("who").reindex(names)
    start = np.zeros(len(names))
    for part, (colour, hatch) in SHARES.items():
        if part not in table or not (table[part] > 0.0005).any():
            continue
        width = table[part].fillna(0).clip(lower=0).to_numpy()
        kind: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}
        ax.barh(range(len(names)), width, left=start, height=0.7, label=f"error by {part}", **kind)
        start += width
    for at in np.flatnonzero(start == 0).tolist():  # an empty bar would look like no error at all
        ax.text(0.5, at, "not split", ha="center", va="center", fontsize=SMALL, color="#666666")
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_yticks([])
    ax.set_xticks([0, 1], ["0", "1"], fontsize=SMALL)
    ax.grid(visible=False)
    ax.set_title("squared error", fontsize=SMALL + 0.5)
