"""The layout of a figure, computed once, and what the figure covers with its caption; the canvas on which it is measured.

Imported by `captions`, `draw`, the boards and the report.
"""

from __future__ import annotations

import functools
import math
from typing import Any
from weakref import WeakKeyDictionary

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation
from matplotlib.transforms import Bbox

from dpbench.figures.style import DPI

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_panels: WeakKeyDictionary[Figure, Bbox] = WeakKeyDictionary()
"""What the panels of a settled figure cover with their labels, in inches."""


def settle(figure: Figure) -> None:
    """Compute the layout once and keep it, so that later additions around the figure do not move its legend."""
    for axis in [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]:
        if type(axis.get_major_formatter()) is LogFormatterSciNotation:
            axis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))
    if (engine := figure.get_layout_engine()) is not None:
        if not isinstance(figure.canvas, Canvas):
            Canvas(figure)
        boxes = [_Box(ax) for ax in figure.axes if ax.get_visible()]
        engine.execute(figure)  # all that drawing the figure would add takes as long again
        covered = Bbox.union([box.released(_renderer(figure)) for box in boxes])
        _panels[figure] = covered.transformed(figure.dpi_scale_trans.inverted())
    figure.set_layout_engine(None)  # with any engine, even one that does nothing, `savefig` draws twice
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)


def tight_box(figure: Figure, pad: float = 0.1) -> Bbox:
    """All that a settled figure shows, in inches, with room around it. `savefig` takes it as `bbox_inches`; with "tight" it would
    draw and measure the figure once more for each file."""
    figure.set_dpi(DPI)  # the sizes of texts are then known from the measuring that follows
    renderer = _renderer(figure)
    if figure not in _panels:  # a script has placed its panels itself
        return figure.get_tightbbox(renderer).padded(pad)
    around = [artist for artist in figure.get_children() if artist not in figure.axes and artist.get_in_layout()]
    boxes = [artist.get_tightbbox(renderer) for artist in around if artist.get_visible()]
    inches = figure.dpi_scale_trans.inverted()
    return Bbox.union([_panels[figure], *(box.transformed(inches) for box in boxes if box is not None)]).padded(pad)


class _Box:
    """What a panel covers with its numbers and labels. A layout asks twice, because a panel may get other numbers with its size.
    That is rare, and measuring takes as long as drawing: here it is measured again only then."""

    def __init__(self, ax: Axes) -> None:
        self.ax = ax
        self.ticks: tuple[float, ...] = ()
        self.around = np.zeros(4)
        ax.get_tightbbox = self.get  # type: ignore[assignment, method-assign]

    def get(self, renderer: Any, **_: Any) -> Bbox:
        """The box, without the widths of titles and of the x label and the height of the y label: a layout can do nothing
        about these."""
        ax = self.ax
        ticks = (*ax.get_xticks(), *ax.get_yticks())
        if not self.ticks or self.ticks != ticks or ax.get_aspect() != "auto":
            box = type(ax).get_tightbbox(ax, renderer, for_layout_only=True) or ax.bbox
            self.ticks, self.around = ticks, np.subtract(box.extents, ax.bbox.extents)
        return Bbox.from_extents(*np.add(ax.bbox.extents, self.around))

    def released(self, renderer: Any) -> Bbox:
        """The box with whole titles and labels. The panel measures itself again from then on."""
        ax, box = self.ax, self.get(renderer)
        del ax.get_tightbbox
        titles = [artist for artist in {*ax.get_children()} - {*ax.texts} if isinstance(artist, Text)]
        wide = [text.get_window_extent(renderer) for text in (*titles, ax.xaxis.label) if text.get_text()]
        high = [text.get_window_extent(renderer) for text in (ax.yaxis.label,) if text.get_text()]
        parts = [Bbox.from_extents(part.x0, box.y0, part.x1, box.y1) for part in wide]
        parts += [Bbox.from_extents(box.x0, part.y0, box.x1, part.y1) for part in high]
        return Bbox.union([box, *parts])


class Canvas(FigureCanvasAgg):
    """A canvas that measures each text once for all figures and sizes. matplotlib does so again for each size of a picture."""

    _size: tuple[float, ...] = ()

    def get_renderer(self) -> RendererAgg:
        size = *self.get_width_height(physical=True), self.figure.dpi
        if size != self._size:
            self._size, self.renderer = size, _Renderer(*size)
        return self.renderer


class _Renderer(RendererAgg):
    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: Any) -> tuple[float, float, float]:
        return _measured(s, prop.copy(), ismath, self.dpi, matplotlib.rcParams["text.hinting"])


@functools.lru_cache(10_000)
def _measured(text: str, font: FontProperties, ismath: Any, dpi: float, hinting: str) -> tuple[float, float, float]:
    return RendererAgg(1, 1, dpi).get_text_width_height_descent(text, font, ismath)


def _renderer(figure: Figure) -> Any:
    return figure.canvas.get_renderer()  # type: ignore[attr-defined]


def power_of_ten(value: float) -> str:
    """10⁻³ as plain letters. matplotlib writes it as a formula, whose reading takes a tenth of all drawing."""
    power = math.log10(value)
    return (
        f"10{str(round(power)).translate(RAISED)}" if math.isclose(power, round(power), abs_tol=1e-9) else f"{value:g}"
    )
