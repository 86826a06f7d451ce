"""The look of figures: lines distinguishable without colour, the same for a mechanism in every figure; legends that fit."""

from __future__ import annotations

import itertools

import pytest
from matplotlib.patches import Patch

from dpbench.figures import style
from dpbench.mechanisms.base import MECHANISMS


def told_apart(looks: dict[object, dict[str, str]]) -> bool:
    shown = [tuple(look[part] for part in ("color", "marker", "linestyle")) for look in looks.values()]
    return len(set(shown)) == len(shown)


def test_every_mechanism_that_shares_a_figure_with_others_has_a_look_of_its_own() -> None:
    placed = [(name, cls) for name, cls in MECHANISMS.items() if cls.look is not None]
    columns = [name for name, cls in placed if set(cls.kinds) & {"incidence", "records"}]
    tables = [name for name, cls in placed if "contingency" in cls.kinds]
    assert len(columns) >= 25
    assert len(tables) >= 13
    for names in (columns, tables):
        assert told_apart(style.looks(names))
        assert told_apart(style.looks([*names, "mine", "yours"]))
        for pair in itertools.permutations(names, 2):
            assert style.looks(pair)[pair[1]] == style.looks(pair[::-1])[pair[1]]


def test_the_look_of_a_stranger_is_nobody_elses() -> None:
    for name in ("lpa", "gs", "geometric", "knorm_counts"):
        assert told_apart(style.looks(["mine", name, "yours", f"{name}, other"]))


@pytest.mark.parametrize("number", range(1, 12))
def test_a_legend_below_fits_the_figure(number: int) -> None:
    """Seven labels in six columns: one column has two of them, not each."""
    with style.paper_style():
        figure, _ = style.plt.subplots(figsize=(7, 3), layout="constrained")
        style.legend_below(figure, [Patch(label=f"a word that is long {n}") for n in range(number)])
        figure.canvas.draw()
        width = figure.legends[0].get_window_extent().width / figure.dpi
    style.plt.close(figure)
    assert width <= 7
