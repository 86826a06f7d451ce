"""Advice from boards: hand-made maps whose answers are known."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from dpbench.errors import UserError
from dpbench.ranking.advice import GUARANTEES, BoardPoint, Shape, advise, held_out, map_of, mean_row, points_of
from dpbench.ranking.boards import Board
from dpbench.ranking.held_out import cost_rows, elsewhere

WIDE, LONG = Shape(1e5, 1e6, 10, 1.0), Shape(1e3, 1e6, 10, 1.0)
POINTS = [
    BoardPoint("wide", "", WIDE, {"a": 1.0, "b": 4.0, "zero": 50.0}),
    BoardPoint("long", "", LONG, {"a": 3.0, "b": 1.0, "zero": 500.0}),
]


def test_the_nearest_point_decides() -> None:
    near_wide = advise(Shape(9e4, 1e6, 10, 1.0), points=POINTS)
    assert (near_wide.best.who, near_wide.nearest[0].dataset) == ("a", "wide")
    assert advise(Shape(1100, 1e6, 10, 1.0), points=POINTS).best.who == "b"
    assert not near_wide.is_guess
    assert advise(Shape(10, 1e9, 3, 10.0), points=POINTS).is_guess


def test_the_expected_ratio_is_the_weighted_geometric_mean() -> None:
    halfway = Shape(1e4, 1e6, 10, 1.0)
    advice = {one.who: one.expected for one in advise(halfway, points=POINTS).recommendations}
    assert advice["a"] == pytest.approx(3**0.5)
    assert advice["b"] == pytest.approx(2.0)


def test_counts_below_the_noise_are_not_worth_a_release() -> None:
    advice = advise(Shape(1e6, 1e5, 1, 1.0), points=POINTS)
    assert advice.too_small
    assert advice.best.who == "zero"
    assert not advise(Shape(1e6, 1e7, 1, 1.0), points=POINTS).too_small


def test_a_dataset_is_held_out_with_all_its_worlds() -> None:
    other_world = BoardPoint("wide", "other", WIDE, {"a": 1.0, "b": 4.0, "zero": 50.0})
    told = {
        (point.dataset, point.world): (who, cost) for point, who, cost in held_out(Board.PURE, [*POINTS, other_world])
    }
    assert told == {("wide", ""): ("b", 4.0), ("wide", "other"): ("b", 4.0), ("long", ""): ("a", 3.0)}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"columns": 0}, "columns=0 is not valid: expected a positive number"),
        ({"users": float("nan")}, "users=nan is not valid"),
        ({"row": 2e5}, "a user has at most all 100000 columns"),
    ],
)
def test_impossible_shapes(change: dict[str, Any], problem: str) -> None:
    facts = {"columns": 1e5, "users": 1e6, "row": 10, "epsilon": 1.0}
    with pytest.raises(UserError, match=problem):
        advise(Shape(**(facts | change)), points=POINTS)


def test_the_shape_of_a_setting_comes_from_zero_and_from_public_sizes() -> None:
    """Publishing zeros errs by the mean count; L1 over MAE is the number of columns."""
    rows = [
        {
            "board": "pure ε",
            "dataset": "netflix",
            "epsilon": 1.0,
            "who": who,
            "mechanism": who,
            "mae": mae,
            "l1": 5923 * mae,
            "ratio": mae / 2,
        }
        for who, mae in (("zero", 1884.8), ("lpa", 2.0))
    ]
    (point,) = points_of(pd.DataFrame(rows), Board.PURE, "laptop", files=False)
    assert point.shape.columns == pytest.approx(5923)
    assert point.shape.mean_count == pytest.approx(1884.8)
    assert point.shape.users == pytest.approx(160063, rel=1e-3)
    assert point.ratios == {"zero": 942.4, "lpa": 1.0}
    assert mean_row("retail", "", "laptop", 908576, files=True) == pytest.approx(908576 / 88162)
    assert mean_row("movielens", "", "paper", 1000209, files=False) == pytest.approx(1000209 / 6040)


def test_the_shape_of_a_sample_is_its_own() -> None:
    """Of a sample of a file, the card's mean row says nothing; a record that states the number of users says all."""
    assert mean_row("foursquare", "", "laptop", 8849, files=True) is None
    row = {"board": "pure ε", "dataset": "foursquare", "epsilon": 1.0, "who": "zero", "mechanism": "zero", "ratio": 1.0}
    numbers = pd.DataFrame([row | {"mae": 8849 / 4330, "l1": 8849.0, "individuals": 962.0}])
    (point,) = points_of(numbers, Board.PURE, "laptop", files=True)
    assert point.shape.users == pytest.approx(962)
    assert point.shape.row == pytest.approx(8849 / 962)
    assert not points_of(numbers.drop(columns="individuals"), Board.PURE, "laptop", files=True)


def test_advice_of_a_board_without_a_map_is_the_winner_elsewhere() -> None:
    ratios = {("x", "a"): 1.0, ("x", "b"): 3.0, ("y", "a"): 4.0, ("y", "b"): 1.0, ("z", "a"): 1.0, ("z", "b"): 5.0}
    rows = [
        {"board": "pure ε", "place": place, "share": "1 %", "epsilon": 1.0, "who": who, "ratio": ratio}
        for (place, who), ratio in ratios.items()
    ]
    told = {one.dataset: (one.advised, one.cost) for one in elsewhere("ranges", pd.DataFrame(rows), Board.PURE)}
    assert told == {"x": ("a", 1.0), "y": ("a", 4.0), "z": ("b", 5.0)}
    (row,) = cost_rows([*elsewhere("ranges", pd.DataFrame(rows), Board.PURE)])
    assert row == ("ranges", "pure ε", "3", "3", f"{20 ** (1 / 3):.2f}", "4.00", "4.80", "5.00")


def test_what_advice_costs_is_printed_by_board(dpbench: Any) -> None:
    if not map_of(GUARANTEES["pure"]):
        pytest.skip("no board is on record")
    done = dpbench("advise", "--held-out")
    assert done.returncode == 0, done.stderr
    assert "counts of columns" in done.stdout
    assert "the K largest columns" in done.stdout
    wrong = dpbench("advise", "--held-out", "--columns", "5")
    assert (wrong.returncode, "--columns has no effect with --held-out" in wrong.stderr) == (2, True)
    short = dpbench("advise", "--columns", "5")
    assert (short.returncode, "--users is missing" in short.stderr) == (2, True)


def test_the_verb(dpbench: Any) -> None:
    words = ("advise", "--columns", "20000", "--users", "1e6", "--row", "40", "--epsilon", "0.5")
    if not map_of(GUARANTEES["pure"]):
        pytest.skip("no board is on record")
    told = dpbench(*words)
    assert told.returncode == 0, told.stderr
    assert "Use " in told.stdout
    assert "times the best (median of" in told.stdout
    wrong = dpbench(*words, "--guarantee", "exact")
    assert wrong.returncode == 2
    assert "--guarantee='exact' is not valid" in wrong.stderr
