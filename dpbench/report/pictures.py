"""A drawn figure as the page needs it: a small PNG, the PDF, and the positions of its points, to show numbers on hover.

Imported by `gather`.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpbench.figures.metadata import About

DPI = 140
COLOURS = 128  # of an embedded picture; line drawings lose nothing and shrink to a third
PAD = 0.08  # inches around a figure
MOST_POINTS = 800  # of a figure; more would only overlap
LONG = 60  # a line with more points and no markers is a curve, whose points are not measurements


@dataclass(frozen=True)
class Point:
    """A measured point of a picture: its position in parts of width and height, from the upper left, and its description."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Drawn:
    """One figure of an experiment."""

    name: str
    """Its name among the figures of the experiment; empty for the first."""
    png: bytes
    pdf: bytes
    points: tuple[Point, ...]


def drawn(name: str, figure: Any, about: About) -> Drawn:
    """Draw a figure into files in memory."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    figure.canvas.draw()
    box = figure.get_tightbbox(figure.canvas.get_renderer()).padded(PAD)
    png, pdf, small = io.BytesIO(), io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=DPI, bbox_inches=box)
    figure.savefig(pdf, format="pdf", bbox_inches=box, metadata=about.metadata("pdf"))
    told = PngInfo()
    for key, value in about.metadata("png").items():
        told.add_itxt(key, value or "")
    Image.open(png).convert("RGB").quantize(COLOURS).save(small, format="PNG", optimize=True, pnginfo=told)
    return Drawn(name, small.getvalue(), pdf.getvalue(), tuple(points(figure, box)))


def points(figure: Any, box: Any) -> list[Point]:
    """Where the points of a figure are inside `box` (inches), each with its panel, its series and its numbers."""
    found = []
    for ax in figure.axes:
        for label, x, y in _measured(ax):
            across, down = figure.dpi_scale_trans.inverted().transform(ax.transData.transform((x, y)))
            inside = ax.bbox.padded(2).contains(*ax.transData.transform((x, y)))
            if inside and math.isfinite(across) and math.isfinite(down):
                place = (across - box.x0) / box.width, (box.y1 - down) / box.height
                found.append(Point(round(place[0], 4), round(place[1], 4), _text(ax, label, x, y)))
    return found[:: math.ceil(len(found) / MOST_POINTS) or 1]


def _measured(ax: Any) -> Iterator[tuple[str, float, float]]:
    """The labelled points of a panel: those of lines, of error bars and of bars."""
    from matplotlib.container import BarContainer, ErrorbarContainer

    seen = set()
    for one in ax.containers:
        label = str(one.get_label())
        if isinstance(one, BarContainer):
            for bar in one.patches:
                yield label, bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height()
        elif isinstance(one, ErrorbarContainer) and one.lines[0] is not None:
            seen.add(one.lines[0])
            yield from _data(label, one.lines[0])
    for line in ax.lines:
        label = str(line.get_label())
        marked = line.get_marker() not in ("", "None", None)
        if line in seen or label.startswith("_") or line.get_transform() != ax.transData:
            continue
        if marked or 2 < len(line.get_xdata()) <= LONG:
            yield from _data(label, line)


def _data(label: str, line: Any) -> Iterator[tuple[str, float, float]]:
    for x, y in zip(*line.get_data(), strict=True):
        yield label, float(x), float(y)


def _text(ax: Any, label: str, x: float, y: float) -> str:
    from dpbench.figures.ticks import short

    named = _category(ax, x) or f"{ax.get_xlabel().strip() or 'x'} = {short(x)}"
    parts = [ax.get_title() or ax.get_title("left"), "" if label.startswith("_") else label, named]
    measure = f"{ax.get_ylabel().strip()} " if ax.get_ylabel().strip() else ""
    return f"{', '.join(' '.join(part.split()) for part in parts if part)}: {measure}{short(y)}"


def _category(ax: Any, x: float) -> str:
    """The label of the nearest tick, after the name of the axis; empty if the script has not named the ticks."""
    from matplotlib.ticker import FixedLocator, ScalarFormatter

    axis = ax.xaxis
    named = isinstance(axis.get_major_locator(), FixedLocator) and not isinstance(
        axis.get_major_formatter(), ScalarFormatter
    )
    if ax.get_xscale() != "linear" or not named:
        return ""
    ticks = list(zip(ax.get_xticks(), ax.get_xticklabels(), strict=False))
    _, nearest = min(ticks, key=lambda tick: abs(float(tick[0]) - x), default=(0, None))
    name = ax.get_xlabel().strip()
    return f"{f'{name} = ' if name else ''}{nearest.get_text()}" if nearest is not None else ""
