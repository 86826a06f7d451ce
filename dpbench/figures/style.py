"""The style of our figures: one colour, marker and name per mechanism in all figures; sizes for a two-column paper."""

from __future__ import annotations

import itertools
import math
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import matplotlib

# Figures are written to files. A program that already draws, or a notebook, has chosen its own backend.
if "matplotlib.pyplot" not in sys.modules and "IPython" not in sys.modules:
    matplotlib.use("Agg", force=False)

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

# Names as the papers write them.
NAMES = {
    "lpa": "LPA",
    "alpa": "ALPA",
    "fpa": "FPA",
    "fpa_fixed": "FPA (10 coefficients)",
    "gs_r": "GS-R",
    "gs_s": "GS-S",
    "gs": "GS",
    "gs_mean": "GS (mean row)",
    "gs_private": "GS (private mean)",
    "gs_sizes": "GS (every size)",
    "gs_optimal": "Optimal groups",
    "sra": "SRA",
    "hpa": "HPA",
    "dpsense": "DPSense",
    "dpsense_s": "DPSense-S",
    "geometric": "Geometric",
    "filter": "Filter",
    "threshold": "Threshold sampling",
    "priority": "Priority sampling",
    "filter_priority": "Filter-priority",
    "sketch": "Sketch",
    "synthesizer": "Synthesizer",
    "gshm": "GSHM",
    "stability_laplace": "Stability Laplace",
    "gaussian_sketch": "Gaussian sketch",
    "alp": "ALP",
    "hb": "HB",
    "dawa": "DAWA",
    "s_dpdp": "S-DPDP",
    "s_pbq": "S-PBQ",
    "laplace_categories": "Laplace",
    "linf": "l∞",
    "pf_peeling": "PF peeling",
    "joint_topk": "Joint top-K",
    "gumbel_topk": "Gumbel top-K",
    "gumbel_topk_delta": "Gumbel top-K (ε, δ)",
    "gumbel_topk_unknown": "Gumbel top-K, unknown domain",
    "knorm_counts": "K-norm",
    "gaussian_correlated": "Correlated Gaussian",
    "clipped_laplace": "Clipped Laplace",
    "clipped_gaussian": "Clipped Gaussian",
    "zero": "Zero",
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
    "gaussian": "Gaussian",
    "adult": "Adult",
    "census": "Census",
    "telecom": "Telecom",
    "column": "Column sampling",
    "row": "Row sampling",
    "none": "No sampling",
}

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
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---", "|||", "***")

LINES = ("-", "--", ":", "-.")

# Mechanisms of one family have fixed places in the palette; figures never mix the two families. From the twelfth on, the
# colours repeat with other markers.
_FAMILIES = tuple(
    tuple(names.split())
    for names in (
        "lpa fpa gs gs_r gs_s alpa sra hpa dpsense dpsense_s gs_mean linf gaussian knorm_counts gaussian_correlated "
        "clipped_laplace clipped_gaussian zero pf_peeling gs_private joint_topk "
        "gumbel_topk gumbel_topk_delta gumbel_topk_unknown gs_sizes gs_optimal",
        "geometric filter priority filter_priority threshold sketch synthesizer "
        "gshm stability_laplace gaussian_sketch alp hb dawa",
    )
)


MARK = "†"
"""Follows the name of a mechanism that is not private as it was run."""

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
    shown = shown or NAMES.get(base, base.replace("_", " ")) + ("\n(files)" if base != str(key) else "")
    return f"{shown}{MARK}" if str(key) in _marked.get() else shown


def note(figure: Figure, lines: Iterable[str]) -> None:
    """Small text below a figure, wrapped to its width."""
    across = max(40, int(figure.get_size_inches()[0] * 18))
    text = "\n".join(part for line in lines for part in textwrap.wrap(line, across))
    figure.text(0.5, -0.01, text, ha="center", va="top", fontsize=6.5, color="#555555")


def epsilon_name(value: float) -> str:
    """ln 2 as `ln 2`, 0.1 as `0.1`."""
    for base in (2, 3):
        if math.isclose(value, math.log(base), rel_tol=1e-9):
            return f"ln {base}"
    return f"{value:g}"


def look(key: object, position: int) -> dict[str, str]:
    """Colour and marker: fixed for a mechanism, given by key or name; by position in the figure for anything else."""
    place = _place(key)
    place = position if place is None else place
    turn = place // len(COLOURS)
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[(place + 4 * turn) % len(MARKERS)]}


def _place(key: object) -> int | None:
    base = str(key).replace(MARK, "")
    return next((family.index(m) for family in _FAMILIES for m in family if base in (m, NAMES[m])), None)


def looks(members: Iterable[Any]) -> dict[Any, dict[str, str]]:
    """Colour, marker and dashes of the lines of one figure. `Filter, dyadic` is a variant of `Filter`: it has the same colour
    and, if both are present, other dashes and a hollow marker. Other series avoid the colours of mechanisms beside them."""
    bases = {member: str(member).replace(MARK, "").partition(",")[0] for member in members}
    taken = {_place(base) for base in bases.values()}
    free = (place for place in itertools.count() if place not in taken)
    places = {base: next(free) for base in dict.fromkeys(bases.values()) if _place(base) is None}
    found: dict[Any, dict[str, str]] = {}
    variants: dict[str, int] = {}
    for member, base in bases.items():
        variant = variants[base] = variants.get(base, -1) + 1
        found[member] = {**look(base, places.get(base, 0)), "linestyle": LINES[variant % len(LINES)]}
        if variant:
            found[member]["markerfacecolor"] = "white"
    return found


@contextmanager
def paper_style() -> Iterator[None]:
    """The matplotlib settings for drawing and saving every figure."""
    settings = {
        "figure.dpi": 110,
        "savefig.dpi": 160,
        "savefig.bbox": "tight",
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.labelsize": 9,
        "legend.fontsize": 8.5,
        "legend.frameon": False,
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
    """A figure with `count` axes in a grid, in reading order; unused ones are removed."""
    across = min(count, columns or count)
    down = math.ceil(count / across)
    figure, axes = plt.subplots(
        down, across, figsize=(width * across, height * down), squeeze=False, layout="constrained"
    )
    flat = list(axes.flat)
    for spare in flat[count:]:
        spare.remove()
    return figure, flat[:count]


def legend_above(figure: Figure, axes: list, columns: int = 6) -> None:
    """One legend for all panels, above them, without repeats; in rows of about equal length, with at most `columns` entries."""
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        rows = math.ceil(len(entries) / columns)
        across = math.ceil(len(entries) / rows)
        figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=across)
