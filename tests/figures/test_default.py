"""The default figure of a user's own run: its x axis, by the number of axes."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dpbench.figures import default


def table(**columns: list) -> pd.DataFrame:
    """Numbers of settings, as `default.numbers` gives them."""
    size = len(next(iter(columns.values())))
    base = {"dataset": ["d"] * size, "mechanism": ["gs"] * size, "epsilon": [1.0] * size, "task": ["t"] * size}
    return pd.DataFrame({**base, "mae": np.arange(1.0, size + 1), "mae_se": [0.1] * size, **columns})


def axis(frame: pd.DataFrame) -> plt.Axes:
    return default.draw(frame, [("t", "mae")]).axes[0]


def test_several_budgets_are_the_axis() -> None:
    ax = axis(table(**{"epsilon": [0.1, 1.0, 2.0, 4.0], "mechanism.w": [1, 1, 2, 3]}))
    assert ax.get_xlabel() == "ε"


def test_a_parameter_is_the_axis_where_there_is_one_budget() -> None:
    frame = table(**{"mechanism": ["lpa", "gs", "gs", "gs"], "mechanism.w": [np.nan, 1, 10, 100]})
    ax = axis(frame)
    assert ax.get_xlabel() == "w (ε = 1)"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "10", "100"]
    (flat,) = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert list(flat.get_ydata()) == [1.0, 1.0], "a mechanism without the parameter is the same everywhere"


def test_bars_where_nothing_runs() -> None:
    assert default.x_axis(table(**{"mechanism.w": [1, 2]})) == "epsilon"
    assert default.x_axis(table(**{"mechanism.sampling": ["row", "column", "none"]})) == "epsilon"
    assert default.x_axis(table(**{"mechanism.private": [True, False, True]})) == "epsilon"
    ax = axis(table(mechanism=["lpa", "gs"]))
    assert len(ax.patches) == 2
