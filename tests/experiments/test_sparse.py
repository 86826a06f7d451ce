"""The experiments of sparse, run at smoke scale and drawn: every line of the paper's figures is there, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpbench
from dpbench.figures.captions import PAPER
from dpbench.figures.draw import load_script
from dpbench.figures.style import paper_style, plt
from dpbench.paths import EXPERIMENTS

from support.runs import as_stored

RANGES = {"Geometric", "Filter", "Priority sampling", "Filter-priority"}
TREES = {"Geometric", "Geometric, dyadic", "Filter, dyadic", "Priority sampling, dyadic", "Filter-priority, dyadic"}
CHECKED = {"Filter", "Filter, consistent", "Filter-priority", "Filter-priority, consistent"}
SERIES = {
    "filtering": {"Two-sided filter", "One-sided filter"},
    "sampling": {"Threshold sampling", "Priority sampling"},
    "filter_priority": {"Filter-priority"},
    "ranges_small": RANGES,
    "ranges_large": RANGES,
    "high_sigma": {*RANGES, "Filter-priority, s = 2 n"},
    "low_density": RANGES,
    "throughput": {*RANGES, "Threshold sampling"},
    "dyadic_uniform": TREES,
    "dyadic_skewed": TREES,
    "consistency": CHECKED,
    "map_subset": {*RANGES, "Synthesizer"},
    "map_dyadic": TREES,
    "map_consistency": CHECKED,
    "sketch": {*RANGES, "Sketch"},
    "table1": set(),
    "haar": {
        f"{name}, {transform}"
        for name in ("Geometric", "Filter", "Priority sampling")
        for transform in ("dyadic", "wavelets")
    },
    "rounding": {"Geometric", "Geometric, rounded up", "Priority sampling", "Priority sampling, rounded up"},
    "weights": {
        f"{name}{weights}"
        for name in ("Threshold sampling", "Priority sampling", "Filter-priority")
        for weights in ("", ", plain")
    },
    "theta_by_range": {"2 cells", "15 cells", "110 cells", "811 cells", "6,000 cells"},
    "theta_by_density": {"density 0.3 %", "density 1 %", "density 10 %"},
    "two_dimensional": {
        f"{name}{transform}"
        for name in ("Geometric", "Filter", "Priority sampling")
        for transform in ("", ", products")
    },
    "private_size": {"Filter", "Threshold sampling", "Priority sampling", "Filter-priority"},
    "imputation": {"Absent: 0", "Absent: θ/2", "Absent: mean of stopped noise"},
    "dyadic_time": {*RANGES, "Threshold sampling"},
}


STATED = ("filtering", "sampling", "filter_priority", "ranges_small")
"""Those whose text names a number, which has a cross."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.mark.parametrize("name", SERIES)
def test_experiment_runs_and_is_drawn(name: str, results: Path) -> None:
    overrides = {"trials": 2} if name != "table1" else {}
    run = dpbench.run(
        f"sparse/{name}", results=results, scale="smoke", jobs=1, overrides=overrides
    )  # warns of failures
    assert not run.left_out
    numbers, labels = drawn(name, run.trials())
    assert labels - {PAPER} == SERIES[name]
    assert (PAPER in labels) == (name in STATED)
    for column in ("abs_error", "median_relative_error", "rate", "density"):
        assert column not in numbers or np.isfinite(numbers[column]).all()


def drawn(name: str, trials: pd.DataFrame) -> tuple[pd.DataFrame, set[str]]:
    script = load_script(EXPERIMENTS / "sparse" / f"{name}.py")
    numbers = script.numbers(trials)
    with paper_style():
        figure = script.draw(numbers)
        figure.draw_without_rendering()
    labels = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    plt.close(figure)
    return numbers, labels


def test_errors_by_size_are_those_of_the_trials() -> None:
    made = {"mechanism": "filter", "abs_error": 9.0, "median_relative_error/10": 0.1, "median_relative_error/100": 0.2}
    rows = [{**made, "trial": t, "abs_error/10": 1.0 + t, "abs_error/100": 10.0 + t} for t in range(3)]
    numbers, _ = drawn("ranges_small", as_stored(pd.DataFrame(rows)))
    assert numbers["cells"].tolist() == [10, 100]
    assert numbers["abs_error"].tolist() == [2, 11]
    assert numbers["abs_error_se"].tolist() == pytest.approx([3**-0.5] * 2)
    assert numbers["median_relative_error"].tolist() == pytest.approx([0.1, 0.2])


def test_consistency_says_what_is_saved() -> None:
    made = {"mechanism": "filter", "trial": 0, "median_relative_error/10": 0.1}
    cases = (("skewed", False, 10.0), ("skewed", True, 6.0), ("uniform", False, 10.0), ("uniform", True, 9.0))
    rows = [
        {**made, "dataset.places": places, "mechanism.consistent": checked, "abs_error/10": error}
        for places, checked, error in cases
    ]
    numbers, _ = drawn("consistency", as_stored(pd.DataFrame(rows)))
    assert numbers["saved"].tolist() == pytest.approx([0, 0.4, 0, 0.1])


def test_throughput_is_non_zero_entries_a_second_without_the_slow_first_release() -> None:
    rows = [
        {"mechanism": m, "mechanism.laborious": slow, "density": d, "nonzeros": 1e6 * d, "seconds": s, "trial": t}
        for m, slow, each in (("geometric", None, 0.1), ("filter", False, 0.001), ("filter", True, 0.2))
        for d in (0.001, 0.1)
        for t, s in enumerate((7.0, each, each, each))
    ]
    numbers, labels = drawn("throughput", as_stored(pd.DataFrame(rows)))
    table = numbers.set_index(["mechanism", "form", "density"])["rate"]
    assert table["filter", "shortcut", 0.001] == pytest.approx(1e6)
    assert table["filter", "laborious", 0.1] == pytest.approx(5e5)
    assert table["geometric", "shortcut", 0.1] == pytest.approx(1e6)
    assert labels == {"Geometric", "Filter"}


def test_table_shows_how_much_larger_the_noisy_table_is() -> None:
    rows = [{"dataset": "telecom", "density": 0.01, "cells": 1000.0, "nonzeros": 10.0, "mean": 2.0}]
    numbers, _ = drawn("table1", as_stored(pd.DataFrame(rows)))
    assert numbers["blow_up"].tolist() == [100]
    assert numbers["stated"].tolist() == ["0.5 % to 2 %"]


def test_a_mechanism_looks_the_same_in_every_figure_and_its_variants_differ() -> None:
    from dpbench.figures import style

    alone = style.looks(["Geometric", "Filter", "Priority sampling"])
    among = style.looks(["Filter, dyadic", "Geometric", "Geometric, dyadic"])
    assert among["Filter, dyadic"] == alone["Filter"]
    assert among["Geometric"] == alone["Geometric"]
    assert among["Geometric, dyadic"]["color"] == alone["Geometric"]["color"]
    assert among["Geometric, dyadic"] != alone["Geometric"]
    assert style.looks(["filter"])["filter"] == alone["Filter"]


def test_an_error_of_nought_draws_no_line_off_a_logarithmic_panel() -> None:
    made = {"mechanism": "filter", "trial": 0, "median_relative_error/10": 0.0, "median_relative_error/100": 0.2}
    rows = [{**made, "abs_error/10": 1.0, "abs_error/100": 10.0}]
    script = load_script(EXPERIMENTS / "sparse" / "ranges_small.py")
    figure = script.draw(script.numbers(as_stored(pd.DataFrame(rows))))
    absolute, relative = (ax.get_lines()[0].get_xdata().tolist() for ax in figure.axes)
    plt.close(figure)
    assert absolute == [10, 100]
    assert relative == [100]
