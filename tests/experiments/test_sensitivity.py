"""The plotting scripts of sensitivity, on made trials whose numbers are known."""

from __future__ import annotations

import pandas as pd
import pytest

from dpbench.figures.draw import load_script
from dpbench.figures.style import paper_style, plt
from dpbench.paths import EXPERIMENTS

from support.runs import as_stored


def drawn(experiment, trials):
    """The numbers of a script and the titles of its panels."""
    script = load_script(EXPERIMENTS / f"{experiment}.py")
    numbers = script.numbers(trials)
    with paper_style():
        figure = script.draw(numbers)
        figure.draw_without_rendering()
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    plt.close(figure)
    return numbers, titles


def frame(rows):
    return as_stored(pd.DataFrame([{"task": "column_counts", "seconds": 0.1, **row} for row in rows]))


def test_quality_tells_the_price_of_trusting_q():
    """q likes θ = 8, where the MAE is 22; the lowest MAE is 20: 10 % above."""
    curve = {1: (50.0, 55.0), 2: (20.0, 40.0), 8: (22.0, 30.0), 20: (40.0, 41.0)}
    rows = [
        {"dataset": d, "mechanism": "dpsense", "epsilon": 0.5, "mechanism.theta": t, "trial": i, "mae": m + s}
        | {"diagnostic.predicted_mae": p}
        for d in ("netflix", "trajectory")
        for t, (m, p) in curve.items()
        for i, s in enumerate((-1, 1))
    ]
    numbers, titles = drawn("sensitivity/quality", frame(rows))
    assert numbers["excess"].tolist() == pytest.approx([0.1] * 8)
    assert (numbers["best_theta"].unique().tolist(), numbers["liked_theta"].unique().tolist()) == ([2], [8])
    assert [title.strip() for title in titles] == ["Netflix", "Trajectory"]


def test_theta_shows_medians_and_the_middle_of_the_trials():
    rows = [
        {"dataset": "netflix", "mechanism": m, "mechanism.share": s, "epsilon": e, "trial": i, "mae": 1.0}
        | {"chosen.theta": t, "chosen.alpha": 1.0, "diagnostic.best_theta": 3.0 if m == "dpsense" else None}
        for m in ("dpsense", "dpsense_s")
        for s in (0.1, 0.5)
        for e in (0.1, 1.0)
        for i, t in enumerate((1, 2, 3, 4, 50))
    ]
    numbers, titles = drawn("sensitivity/theta", frame(rows))
    assert len(numbers) == 8
    assert set(numbers["theta"]) == {3}
    assert numbers["theta_p5"].tolist() == pytest.approx([1.2] * 8)
    assert numbers["theta_p95"].tolist() == pytest.approx([40.8] * 8)
    assert titles == ["Netflix: DPSense", "Netflix: DPSense-S"]


def test_error_has_a_row_of_panels_a_metric():
    rows = [
        {
            "dataset": d,
            "mechanism": m,
            "mechanism.limit": limit,
            "epsilon": e,
            "trial": i,
            "mae": (2 + i) / e,
            "mre": 1.0,
        }
        for d in ("checkin", "netflix")
        for m, limit in (("lpa", None), ("dpsense", "normalise"), ("dpsense", "sample"))
        for e in (0.1, 1.0)
        for i in range(3)
    ]
    numbers, titles = drawn("sensitivity/error", frame(rows))
    assert numbers["mae"].tolist() == pytest.approx([30, 3] * 6)
    assert set(numbers["mechanism"]) == {"lpa", "dpsense", "DPSense, sampled rows"}
    assert titles == ["Checkin", "Netflix"]
