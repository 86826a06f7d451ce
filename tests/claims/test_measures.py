"""Measures: the expression language of claims, the cells it reads, and the intervals."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from dpbench.claims.cells import CellTrials, cells_of
from dpbench.claims.scope import MissingResults, Scope
from dpbench.errors import UserError

from support.runs import as_stored
from support.verdicts import LN2, cell, evaluate


def grid() -> list[CellTrials]:
    """mae is 1, 2, 3 for three group sizes and 1.5 for the tuned one, times ten on the second dataset."""
    found = []
    for dataset, factor in (("one", 1), ("two", 10)):
        for w, mae in ((5, 1.0), (50, 2.0), (500, 3.0), ("auto", 1.5)):
            labels = {"dataset": dataset, "mechanism": "gs", "epsilon": LN2, "mechanism.w": w}
            maes = factor * np.array([mae - 0.1, mae + 0.1])
            found.append(cell(labels, **{"mae": maes, "chosen.scale": [factor, factor]}))
    return found


def value(text: str, cells: list[CellTrials] | None = None, **numbers: float) -> float:
    return evaluate(text, Scope(grid() if cells is None else cells, numbers)).value


def test_measures() -> None:
    assert value("mae(dataset=one, w=5)") == pytest.approx(1)
    assert value("mae(dataset=two, w=auto) / mae(dataset=one, w=50, epsilon=ln2)") == pytest.approx(7.5)
    assert value("mae(dataset=one, w=auto) / least(mae(dataset=one), over=w) - 1") == pytest.approx(0.5)
    assert value("argmin(mae(dataset=one), over=w)") == 5
    assert value("argmax(mae(dataset=one), over=w)") == 500
    assert value("most(average(mae(), over=w), over=dataset)") == pytest.approx(20), "auto is no number: not averaged"
    assert value("mae(dataset=two, w=5) / chosen.scale(dataset=two, w=5)") == pytest.approx(1)
    assert value("metric('chosen.scale', dataset=two, w=5)") == 10
    assert value("max(mae(dataset=one, w=5), 7, -1) + min(2, 3)") == 9
    assert value("-2 ** 2 * (x + 1) / exp(0) + sqrt(4)", x=2) == -10
    sizes = [cell({"mechanism": "a"}, items=[n, n], mae=[n - 1, n + 1]) for n in (10, 20)]
    assert value("mae(items=20) / mae(items=10)", sizes) == 2, "a metric without noise is a label too"


def test_a_choice_among_cells_may_differ_by_dataset() -> None:
    cells = [
        cell({"dataset": dataset, "mechanism": "sra", "mechanism.l": size}, mae=[size, size])
        for dataset in ("one", "two")
        for size in (10, 30)
    ]
    cells += [cell({"dataset": dataset, "mechanism": "lpa"}, mae=[7, 7]) for dataset in ("one", "two")]
    choice = [{"dataset": "one", "l": [10, None]}, {"dataset": "two", "l": [30, None]}]
    left = Scope(cells).any_of(choice)
    assert evaluate("mae(dataset=one, mechanism=sra)", left).value == 10
    assert evaluate("mae(dataset=two, mechanism=sra)", left).value == 30
    assert evaluate("mae(dataset=two, mechanism=lpa)", left).value == 7, "null keeps what has no l"
    assert {c.labels["mechanism"] for c in Scope(cells).where({"l": 10}).cells} == {"sra"}
    with pytest.raises(MissingResults, match=r"no trials of dataset=three or dataset=one, l=5"):
        Scope(cells).any_of([{"dataset": "three"}, {"dataset": "one", "l": 5}])


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()",
        "mae.__class__",
        "(lambda: 1)()",
        "[1][0]",
        "[x for x in (1, 2)]",
        "'text'",
        "open('x')",
        "mae(dataset=one, w=5) if 1 else 2",
        "mae(**{'dataset': 'one'})",
        "1 <",
        "exp(1, 2)",
        "1 and 2",
        "f'{1}'",
        "True.real",
        "mae(dataset=[1])",
        "nothing",
    ],
)
def test_nothing_else_of_python_is_reachable(text: str) -> None:
    with pytest.raises((UserError, MissingResults)):
        value(text)


def test_a_measure_that_leaves_several_cells_says_by_what_they_differ() -> None:
    with pytest.raises(UserError, match=r"mae: 2 cells are left, which differ in dataset"):
        value("mae(w=5)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mae(dataset=three)", "no trials of dataset=three"),
        ("mae(size=3)", "no cell has a parameter 'size'"),
        ("mea(dataset=one, w=5)", "no metric 'mea' was stored: did you mean 'mae'"),
        ("least(mae(), over=l)", "no cell has a parameter 'l'"),
        ("argmin(mae(w=5), over=dataset)", "dataset has no numbers here"),
    ],
)
def test_what_the_results_lack_is_named(text: str, message: str) -> None:
    with pytest.raises(MissingResults, match=message):
        value(text)


def test_the_interval_of_a_mean_is_students_at_least() -> None:
    """Of many symmetric values it is Student's; of few it is wider, because they hide the tail of their law."""
    from scipy import stats

    for n, wider in ((200, 1.05), (20, 1.2), (6, 7.0)):
        values = stats.norm.ppf((np.arange(n) + 0.5) / n)  # without skewness
        found = evaluate("mae()", Scope([cell({"dataset": "one"}, mae=values)]))
        half = stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)
        assert found.low <= -half
        assert found.high >= half
        assert found.high - found.low <= 2 * half * wider


def test_metrics_of_a_cell_stay_paired() -> None:
    """The same trials stand behind both: a ratio that never varies has no interval, however noisy its parts."""
    noise = np.random.default_rng(3).exponential(1, 10)
    found = evaluate("l1() / mae()", Scope([cell({"dataset": "one"}, mae=noise, l1=7 * noise)]))
    assert found.low == pytest.approx(7)
    assert found.high == pytest.approx(7)


def test_a_frame_becomes_cells() -> None:
    frame = pd.DataFrame(
        {
            "dataset": ["a", "a", "b"],
            "mechanism.l": [10, 10, np.nan],
            "task.k": [5, 5, 7],
            "setting": ["x", "x", "y"],
            "trial": [0, 1, 0],
            "seconds": [0.1, 0.2, 0.3],
            "metric.mae": [1.0, 3.0, 5.0],
            "diagnostic.name": ["u", "v", "w"],
        }
    )
    one, two = cells_of(frame)
    json.dumps([one.labels, two.labels])  # numbers of a frame are numpy's, which JSON does not know
    assert (one.id, dict(one.labels), one.trials) == ("x", {"dataset": "a", "mechanism.l": 10, "task.k": 5}, 2)
    assert dict(two.labels) == {"dataset": "b", "task.k": 7}
    assert set(one.values) == {"mae", "seconds"}


def test_sizes_of_queries_are_parts_of_the_domain() -> None:
    """At another scale the sizes have other names and the same parts."""
    for domain in (20_000, 1_000_000):
        rows = []
        for mechanism, factor in (("filter", 1.0), ("geometric", 2.0)):
            errors = {f"abs_error/{int(domain * part)}": factor * part for part in (0.01, 0.1, 0.5)}
            rows.append(
                {
                    "mechanism": mechanism,
                    "task.upto": 0.5,
                    "setting": mechanism,
                    "trial": 0,
                    "abs_error": factor,
                    **errors,
                }
            )
        cells = cells_of(as_stored(pd.DataFrame(rows).assign(seconds=1.0)))
        assert value("abs_error(mechanism=geometric)", cells) == 2, "the mean over all sizes"
        assert value("abs_error(mechanism=geometric, part=0.1)", cells) == pytest.approx(0.2)
        assert value("argmax(abs_error(mechanism=filter), over=part)", cells) == 0.5
        large = Scope(cells).where({"part": ">= 0.05"})
        assert [g["part"] for g in large.groups(["part"])] == [0.1, 0.5]


def test_a_first_trial_that_loads_code_is_no_time_of_the_mechanism() -> None:
    frame = pd.DataFrame(
        {
            "mechanism": "a",
            "setting": "x",
            "trial": range(5),
            "seconds": [0.9, 0.01, 0.012, 0.011, 0.009],
            "metric.mae": 1.0,
        }
    )
    assert value("seconds()", cells_of(frame)) == pytest.approx(0.0106)
