"""The layout of a figure measures each panel once; it must place and enclose what matplotlib's own layout would."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from dpbench.figures import style
from dpbench.figures.layout import Canvas, settle, tight_box

PIXEL = 1 / style.DPI


def _figure(kind: str):
    figure, axes = style.panels(3, 2, width=2.4, height=1.6)
    for i, ax in enumerate(axes):
        ax.plot([1, 10, 1000], [0.001, 0.2, 10.0 ** (i + 3)], label=f"series {i}")
        ax.set_title(f"panel {i}")
    if kind == "log":
        for ax in axes:
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_major_formatter("{x:g}")
    if kind == "long":
        axes[0].set_ylabel("a label that is much longer than its panel is high")
        axes[1].set_xlabel("a label that is much longer than its panel is wide, and longer still")
        axes[2].set_title(
            "a title that is far longer than its panel is wide, so that it leaves the figure on both sides"
        )
    if kind == "left":  # matplotlib itself computes another layout for it each time
        axes[2].set_title("a title that is far longer than its panel is wide, and leaves it on the right", loc="left")
    if kind == "square":
        axes[1].set_aspect("equal", adjustable="box")
    if kind == "hidden":
        axes[1].set_visible(False)
    figure.legend(loc="outside upper center")
    return figure


@pytest.mark.parametrize("kind", ["plain", "log", "long", "square", "hidden"])
def test_a_layout_is_that_of_matplotlib(kind):
    with style.paper_style():
        ours, theirs = _figure(kind), _figure(kind)
        settle(ours)
        theirs.get_layout_engine().execute(theirs)
        theirs.set_layout_engine(None)
        for figure in (ours, theirs):
            figure.draw_without_rendering()
        for mine, other in zip(ours.axes, theirs.axes, strict=True):
            assert np.allclose(mine.bbox.extents, other.bbox.extents, atol=1.5), kind
        style.plt.close("all")


@pytest.mark.parametrize("kind", ["plain", "log", "long", "left", "square", "hidden"])
def test_the_box_of_a_figure_holds_all_that_it_shows(kind):
    with style.paper_style():
        figure = _figure(kind)
        settle(figure)
        figure.text(0.5, -0.01, "a caption\nof two lines", ha="center", va="top")
        box = tight_box(figure, pad=0.0)
        whole = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())
        assert np.allclose(box.extents, whole.extents, atol=3 * PIXEL), kind
        style.plt.close(figure)


def test_a_canvas_measures_texts_like_matplotlib():
    with style.paper_style():
        figure = style.plt.figure(figsize=(3, 2))
        text = figure.text(0.5, 0.5, "ε = 0.1 †")
        sizes = [text.get_window_extent(kind(figure).get_renderer()).size for kind in (Canvas, FigureCanvasAgg, Canvas)]
        assert np.array_equal(sizes[0], sizes[1])
        text.set_fontsize(20)  # a font that changes is another one
        assert (text.get_window_extent(figure.canvas.get_renderer()).size > sizes[2]).all()
        style.plt.close(figure)
