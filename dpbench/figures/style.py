"""The style of our figures: one colour, marker and name per mechanism in all figures; sizes for a two-column paper.

Labels and looks of mechanisms are facts of their classes. They are looked up by name among the installed ones: stored results
name mechanisms, and nothing that they name is ever imported. Imported by all figures, scripts of experiments and boards.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import matplotlib

# Figures are written to files. A program that already draws, or a notebook, has chosen its own backend.
if "matplotlib.pyplot" not in sys.modules and "IPython" not in sys.modules:
    matplotlib.use("Agg", force=False)

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from dpbench.registry import registry_of
from dpbench.storage.numbers import MARK as MARK

# A palette for colour-blind readers (Okabe and Ito's), without its lightest yellow.
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8C564B",
    "#7F7F7F",
    "#17324D",
    "#66C2A5",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---", "|||", "***", "OO")

LINES = ("-", "--", ":", "-.")
FACES = ("", "white", "#C8C8C8")
"""Fill colours of markers; empty: filled with the colour of the line."""
PAGE = 7.0
"""Width of a page's text in inches. No figure is wider, so that its letters are printed as large as they were drawn."""

WORDS = {
    "fpa_fixed": "FPA (10 coefficients)",
    "checkin": "Checkin",
    "document": "Document",
    "netflix": "Netflix",
    "trajectory": "Trajectory",
    "transactions": "Transactions",
    "kos": "KOS",
    "retail": "Retail",
    "bms_webview": "BMS-WebView",
    "gowalla": "Gowalla",
    "foursquare": "Foursquare",
    "movielens": "MovieLens",
    "movielens_genres": "MovieLens genres",
    "catalogue": "Large catalogue",
    "onthemap": "OnTheMap",
    "running_example": "Running example",
    "equal_rows": "Equal rows",
    "adult": "Adult",
    "census": "Census",
    "telecom": "Telecom",
    "column": "Column sampling",
    "row": "Row sampling",
    "none": "No sampling",
}
"""Datasets, options and presets as readers of the papers know them. Other names are shown with spaces for underscores."""
PRESETS = {"fpa_fixed": "fpa"}
"""Presets that only a YAML file defines, by the mechanism that they are a form of."""

FILES = " (files)"
"""Follows the name of a dataset that was read from its original files, if the generated one is beside it."""

_marked: ContextVar[frozenset[str]] = ContextVar("marked", default=frozenset())


@contextmanager
def marked(mechanisms: Iterable[str]) -> Iterator[None]:
    """Inside this context, the names of these mechanisms have the mark."""
    before = _marked.set(frozenset(mechanisms))
    try:
        yield
    finally:
        _marked.reset(before)


def name(key: object, shown: str = "") -> str:
    """The name of a mechanism, dataset or option as in the papers; `shown`: the name used in this figure."""
    base = str(key).removesuffix(FILES)
    shown = shown or label(base) + ("\n(files)" if base != str(key) else "")
    return f"{shown}{MARK}" if str(key) in _marked.get() else shown


def label(name: str) -> str:
    """The label of a mechanism, dataset or option, without any mark."""
    return getattr(mechanism(name), "label", "") or WORDS.get(name) or name.replace("_", " ")


def mechanism(name: str) -> type[Any] | None:
    """The installed mechanism of that name; None if there is none."""
    return registry_of("dpbench.mechanisms").installed(name)


def epsilon_name(value: float) -> str:
    """ln 2 as `ln 2`, 0.1 as `0.1`."""
    for base in (2, 3):
        if math.isclose(value, math.log(base), rel_tol=1e-9):
            return f"ln {base}"
    return f"{value:g}"


def look(key: object, position: int) -> dict[str, str]:
    """Colour, marker, filling of the marker, and dashes. A mechanism, given by its key or its name, has a fixed look; other
    series get one by their position in the figure. Any two looks differ in more than colour."""
    return _look(_placed(key, position))


def hatch(key: object, position: int) -> str:
    """The pattern of a mechanism's bars, by the same rule."""
    return HATCHES[_placed(key, position) % len(HATCHES)]


def _placed(key: object, position: int) -> int:
    place = _place(key)
    return position if place is None else place


def _look(place: int, variant: int = 0) -> dict[str, str]:
    turn, at = divmod(place, len(COLOURS))
    look = {"color": COLOURS[at], "marker": MARKERS[at], "linestyle": LINES[(turn + variant) % len(LINES)]}
    if face := FACES[(turn + min(variant, 1)) % len(FACES)]:
        look["markerfacecolor"] = face
    return look


def _place(key: object) -> int | None:
    """The place of a mechanism in the palette. From the twelfth on, colours and markers repeat, with other dashes and faces."""
    base = str(key).replace(MARK, "")
    labelled = (cls for _, cls in registry_of("dpbench.mechanisms").items() if getattr(cls, "label", "") == base)
    number = getattr(mechanism(base) or next(labelled, None), "look", None)
    return number if isinstance(number, int) else None


def looks(members: Iterable[Any]) -> dict[Any, dict[str, str]]:
    """Colour, marker and dashes of the lines of one figure. `Filter, dyadic` is a variant of `Filter`: it has the same colour
    and, if both are present, other dashes and a hollow marker. Other series avoid the colours of mechanisms beside them."""
    bases = {member: str(member).replace(MARK, "").partition(",")[0] for member in members}
    taken = {_place(base) for base in bases.values()}
    free = (place for place in itertools.count() if place not in taken)
    places = {base: next(free) for base in dict.fromkeys(bases.values()) if _place(base) is None}
    by_member: dict[Any, dict[str, str]] = {}
    variants: dict[str, int] = {}
    for member, base in bases.items():
        variant = variants[base] = variants.get(base, -1) + 1
        by_member[member] = _look(_placed(base, places.get(base, 0)), variant)
    return by_member


LAST = "the paper's number"
"""The entry of a legend that comes after all others."""
DPI = 140
"""At which figures are measured, and drawn for the report."""
LEGEND = 8.0
"""Font size of legends, in points."""


@contextmanager
def paper_style() -> Iterator[None]:
    """The matplotlib settings for drawing and saving every figure."""
    settings = {
        "figure.dpi": DPI,  # as in the report: the sizes of texts, measured for the layout, are then known when it draws
        "savefig.dpi": 160,
        "savefig.bbox": "tight",
        "text.hinting": "none",  # it fits letters to the pixels of one size, at which hardly anybody sees the picture
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.titley": 1.0,  # a title that looks for its place measures the y axis of its panel once more
        "axes.labelsize": 9,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "legend.fontsize": LEGEND,
        "legend.frameon": False,
        "legend.labelspacing": 0.3,
        "legend.columnspacing": 1.4,
        "legend.handletextpad": 0.5,
        "legend.borderpad": 0.1,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.6,
        "lines.markersize": 5,
        "svg.hashsalt": "dpbench",
        "pdf.fonttype": 42,  # embedded TrueType: many venues refuse Type 3
    }
    with plt.rc_context(settings):
        yield


def panels(count: int, columns: int | None = None, width: float = 3.1, height: float = 2.5) -> tuple[Figure, list]:
    """A figure with `count` axes in a grid, in reading order; unused ones are removed. Never wider than a page."""
    across = min(count, columns or count)
    down = math.ceil(count / across)
    figure, axes = plt.subplots(
        down, across, figsize=(min(PAGE, width * across), height * down), squeeze=False, layout="constrained"
    )
    flat = list(axes.flat)
    for spare in flat[count:]:
        spare.remove()
    for ax in flat[:count]:
        # The box of a spine is inside that of its axes with their numbers, and measuring it computes all ticks once more.
        for spine in ax.spines.values():
            spine.set_in_layout(False)
    return figure, flat[:count]


def legend_below(figure: Figure, handles: list[Any]) -> None:
    """A legend of these handles below all panels, in as few rows as fit."""
    labels = [str(handle.get_label()) for handle in handles]
    room = figure.get_size_inches()[0] - 0.2
    across = next((n for n in range(len(labels), 1, -1) if _legend_width(labels, n) <= room), 1)
    figure.legend(handles=handles, loc="outside lower center", ncols=across)


def legend_above(figure: Figure, axes: list, columns: int | None = None) -> None:
    """One legend for all panels, above them, without repeats, in as few rows as the width of the figure allows. It replaces an
    earlier one.

    columns: the largest number of entries in a row.
    """
    for legend in [*figure.legends]:
        legend.remove()
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if LAST in entries:
        entries[LAST] = entries.pop(LAST)
    if entries:
        if _in_spare_place(figure, axes, entries):
            return
        room = figure.get_size_inches()[0] - 0.2
        fits = (n for n in range(columns or len(entries), 1, -1) if _legend_width([*entries], n) <= room)
        across = next(fits, 1)
        rows = math.ceil(len(entries) / across)
        across = math.ceil(len(entries) / rows)  # rows of about equal length
        figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=across)


def _in_spare_place(figure: Figure, axes: list, entries: dict[str, Any]) -> bool:
    """Put the legend into an empty place of the grid of panels, if there is one and it is large enough."""
    grid = axes[0].get_gridspec()
    wide, high = (figure.get_size_inches() / (grid.ncols, grid.nrows)).tolist()
    if len(axes) >= grid.ncols * grid.nrows or _legend_width([*entries], 1) > wide or len(entries) > 5 * high:
        return False
    corner = figure.add_subplot(grid[grid.nrows - 1, grid.ncols - 1])
    corner.axis("off")
    corner.legend(entries.values(), entries.keys(), loc="center")
    return True


def _legend_width(labels: list[str], columns: int) -> float:
    """Width of a legend in inches: letters, handles and gaps. As in matplotlib, the first columns take what is left over."""
    widest = [max(map(len, part)) for part in np.array_split(labels, columns)]
    return LEGEND / 72 * (0.58 * sum(widest) + 4.0 * len(widest))
