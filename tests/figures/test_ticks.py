"""Readable numbers along logarithmic axes."""

from __future__ import annotations

import pytest

from dpbench.figures import style
from dpbench.figures.ticks import plain_places


@pytest.mark.parametrize(
    ("ends", "labels"),
    [
        ((3, 30_000), None),  # has powers of ten enough
        ((0.0008, 0.007), ["0.001", "0.002", "0.005"]),
        ((2e5, 7e6), ["3·10⁵", "10⁶", "3·10⁶"]),
    ],
)
def test_a_log_axis_has_at_least_two_numbers(ends, labels):
    figure, (ax,) = style.panels(1)
    ax.set_xscale("log")
    ax.set_xlim(*ends)
    before = ax.xaxis.get_major_formatter()
    plain_places(ax)
    if labels is None:
        assert ax.xaxis.get_major_formatter() is before
    else:
        assert [text.get_text() for text in ax.get_xticklabels()] == labels
    style.plt.close(figure)
