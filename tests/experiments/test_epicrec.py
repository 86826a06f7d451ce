"""The plotting scripts of epicrec, on made trials whose numbers are known."""

from __future__ import annotations

import pandas as pd
import pytest

from dpbench.figures.draw import load_script
from dpbench.figures.style import paper_style, plt
from dpbench.paths import EXPERIMENTS

from support.runs import as_stored


def drawn(experiment, rows):
    """The numbers of a script and the texts of its panels: titles, table cells, legends."""
    script = load_script(EXPERIMENTS / f"{experiment}.py")
    numbers = script.numbers(
        as_stored(pd.DataFrame([{"task": "t", "seconds": 0.1, "trial": 0, **row} for row in rows]))
    )
    with paper_style():
        figure = script.draw(numbers)
        figure.draw_without_rendering()
    texts = [text.get_text() for ax in figure.axes for text in ax.findobj(plt.Text)]
    texts += [c.get_text().get_text() for ax in figure.axes for t in ax.tables for c in t.get_celld().values()]
    texts += [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    plt.close(figure)
    return numbers, texts


def test_example_is_a_table_to_two_decimals():
    z = (3.6131, 2.3604, 3.3381, 2.3604, 1.3827)
    rows = [
        {"mechanism": "s_dpdp", **{f"noise_{j}": v for j, v in enumerate(z, 1)}, "noise": 2.6109},
        {"mechanism": "laplace_categories", **{f"noise_{j}": 3.0 for j in range(1, 6)}, "noise": 3.0},
    ]
    numbers, texts = drawn("epicrec/example", rows)
    assert numbers.columns.tolist() == ["mechanism", *(f"category {j}" for j in range(1, 6)), "MAE"]
    assert {"3.61", "2.36", "3.34", "1.38", "2.61", "3.00"} <= set(texts)


def test_error_tells_the_uncalibrated_variant_apart_and_bounds_the_other():
    rows = [
        {"dataset": "movielens_genres", "mechanism": m, "mechanism.calibrated": c, "epsilon": e, "chosen.noise": 4 / e}
        | {"mae": v / e, "rmse": 2 * v / e, "mse": 4 * v * v}
        for m, c, v in (("s_dpdp", True, 3.0), ("s_dpdp", False, 5.0), ("laplace_categories", None, 6.0))
        for e in (0.5, 1.0)
    ]
    numbers, texts = drawn("epicrec/error", rows)
    table = numbers.set_index(["mechanism", "epsilon"])
    assert table.loc["plain", "mae"].tolist() == [10, 5]
    assert table.loc["s_dpdp", "bound"].tolist() == [16, 8]
    assert table.loc[["plain", "laplace_categories"], "bound"].isna().all()
    assert {"S-DPDP without calibration", "bound of Theorem 3", "MovieLens genres"} <= set(texts)


def test_budget_marks_what_was_spent_when_more_was_allowed():
    rows = [
        {
            "dataset": "catalogue",
            "mechanism": m,
            "epsilon": e,
            "mae": 4 / min(e, most),
            "chosen.noise": 4 / min(e, most),
        }
        | {"chosen.epsilon": None if m == "s_dpdp" else min(e, most)}
        for m, most in (("s_dpdp", 99), ("s_pbq", 2.1))
        for e in (1.0, 2.0, 4.0)
    ]
    numbers, texts = drawn("epicrec/budget", rows)
    assert numbers["chosen"].unique().tolist() == [2.1]
    assert numbers["spent"].tolist() == [1, 2, 4, 1, 2, 2.1]
    assert "Large catalogue: S-PBQ chooses ε = 2.1" in texts


def test_runtime_takes_the_median_of_each_variant():
    variants = (("s_dpdp", False, 1.0), ("s_dpdp", True, 0.1), ("laplace_categories", None, 0.001))
    rows = [
        {"mechanism": m, "mechanism.solve_once": once, "items": float(n), "seconds": s * n * factor}
        for m, once, s in variants
        for n in (1000, 3000)
        for factor in (1, 1, 50)  # the first release of a process also solves and imports
    ]
    numbers, texts = drawn("epicrec/runtime", rows)
    table = numbers.set_index(["variant", "items"])["seconds"]
    assert table["both"].tolist() == [1000, 3000]
    assert table["sanitise"].tolist() == pytest.approx([100, 300])
    assert table["laplace"].tolist() == pytest.approx([1, 3])
    assert {"1000", "3000", "S-DPDP, both phases"} <= set(texts)
