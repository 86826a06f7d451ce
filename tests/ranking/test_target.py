"""Which ε reaches an error: bisection against closed forms, and the front door."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.errors import UserError
from dpbench.model.run import Run
from dpbench.ranking.entry import Where
from dpbench.ranking.target import HIGHEST, LOWEST, STEPS, Target, search, smallest

Call = Callable[..., subprocess.CompletedProcess[str]]


def found(error: Callable[[float], tuple[float, float]], target: float, direction: int = -1) -> tuple[object, int]:
    """What the search returns for an error as a function of ε, and how often it asked."""
    searching, asked = search(target, direction, 2.0), 1
    position = next(searching)
    while True:
        try:
            position, asked = searching.send(error(2 ** (position / STEPS))), asked + 1
        except StopIteration as end:
            return end.value, asked


@pytest.mark.parametrize("target", [0.02, 0.5, 3.0, 700.0])
def test_bisection_finds_the_first_budget_of_the_grid(target: float) -> None:
    grid = range(LOWEST, HIGHEST + 1)
    expected = next(k for k in grid if 1 / 2 ** (k / STEPS) <= target)
    (at, maybe, certain), asked = found(lambda epsilon: (1 / epsilon, 0.0), target)
    assert at == maybe == certain == expected
    assert asked <= 12  # the two ends and the logarithm of 129


def test_the_interval_is_where_the_target_leaves_the_confidence_interval() -> None:
    """A mean of 1/ε with a standard error of a tenth: twice that on either side."""
    grid = range(LOWEST, HIGHEST + 1)
    (at, maybe, certain), _ = found(lambda epsilon: (1 / epsilon, 0.1 / epsilon), 0.5)
    assert at == next(k for k in grid if 1 / 2 ** (k / STEPS) <= 0.5)
    assert maybe == next(k for k in grid if 0.8 / 2 ** (k / STEPS) <= 0.5)
    assert certain == next(k for k in grid if 1.2 / 2 ** (k / STEPS) <= 0.5)


def test_what_is_never_or_always_reached_is_known_at_the_ends() -> None:
    assert found(lambda _: (7.0, 0.0), 5.0) == ((None, None, None), 1)
    assert found(lambda _: (3.0, 0.0), 5.0)[0] == (LOWEST, LOWEST, LOWEST)
    assert found(lambda epsilon: (min(1.0, epsilon), 0.0), 0.5, direction=1)[0] == (-STEPS, -STEPS, -STEPS)


def test_lpa_against_its_closed_form(dpbench: Call, tmp_path: Path) -> None:
    """The mean absolute error of Laplace noise is bound / ε. Stored trials are used again, and zero reaches nothing."""
    words = [
        "compare",
        "lpa(bound=60)",
        "--dataset",
        "trajectory",
        "--experiment",
        "cross/leaderboard",
        "--trials",
        "4",
    ]
    where = Where("smoke", ["trajectory"], results=tmp_path / "results", jobs=1, overrides={"trials": 4})
    run, reached = smallest("lpa(bound=60)", where, Target("mae", 30.0))
    mine = next(one for one in reached if one.mechanism == "lpa(bound=60)")
    assert mine.low is not None
    assert mine.high is not None
    assert mine.low < 60 / 30 <= mine.high
    assert mine.high / mine.low < 2 ** (3 / STEPS)
    assert next(one for one in reached if one.mechanism == "zero").epsilon is None
    before = sum(1 for _ in (tmp_path / "results").glob("trials/*/*/*.parquet"))
    done = dpbench(*words, "--target", "mae=30")
    assert done.returncode == 0, done.stderr
    assert "choice costs budget" in done.stdout
    assert sum(1 for _ in (tmp_path / "results").glob("trials/*/*/*.parquet")) == before
    assert {s.id for s in Run.load(tmp_path / "results", run.name).settings} == {s.id for s in run.settings}


def test_wrong_use(dpbench: Call, tmp_path: Path) -> None:
    for words, told in (
        (["--target", "mae"], "--target mae is not valid: expected a metric and a number, such as mae=5"),
        (["--target", "mea=5"], "unknown metric 'mea': did you mean 'mae'"),
        (["--target", "mae=5", "--epsilon", "1"], "--epsilon has no effect with --target"),
    ):
        done = dpbench("compare", "--dataset", "trajectory", *words)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    with pytest.raises(UserError, match="has no better direction"):
        smallest(None, Where("smoke", ["trajectory"], results=tmp_path), Target("signed", 5.0))
