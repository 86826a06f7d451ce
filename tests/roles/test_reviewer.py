"""The path of a reviewer who wants one figure: the tutorial "Reproduce one figure", a part of a figure, and what is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from support.tutorials import follow

Call = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = pytest.mark.slow


def test_the_tutorial(tmp_path: Path) -> None:
    told = follow("one_figure", tmp_path)
    assert "gs/fig9" in told.output("list experiments")
    assert "Nothing was computed." in told.output("dry=true")
    assert "0 failed" in told.output("scale=smoke tracking=none")
    assert "wrote results/figures/gs/fig9.png" in told.output("figures gs/fig9")
    assert "contradicted: the integral" in told.output("claims gs/erratum-laplace-mean")
    for form in ("png", "pdf", "csv"):
        assert (tmp_path / f"results/figures/gs/fig9.{form}").is_file()


def test_a_part_of_a_figure(dpbench: Call, tmp_path: Path) -> None:
    listed = json.loads(dpbench("list", "experiments", "--json").stdout)
    (title,) = [row["what it shows"] for row in listed if row["id"] == "gs/fig9"]
    assert "Figure 9" in title
    planned = dpbench("run", "experiment=gs/fig9", "scale=smoke", "dry=true", "dataset=[trajectory]")
    assert "Nothing was computed." in planned.stdout
    words = ("run", "experiment=gs/fig9", "scale=smoke", "dataset=[trajectory]", "mechanism=[lpa,gs]", "tracking=none")
    done = dpbench(*words)
    assert done.returncode == 0, done.stderr
    assert "Not gs/fig9 as defined" in done.stdout, "a part of a figure says so"
    assert "±" in done.stdout
    assert "e+0" not in done.stdout, "numbers are written as people write them"
    numbers = pd.read_csv(tmp_path / "results/figures/gs/fig9.csv")
    assert {"lpa", "gs"} == {*numbers["mechanism"]}
    first = (tmp_path / "results/figures/gs/fig9.png").read_bytes()
    again = dpbench("figures", "gs/fig9")
    assert again.returncode == 0
    assert (tmp_path / "results/figures/gs/fig9.png").read_bytes() == first, "drawn from the stored trials alone"
    assert "0 trials computed" in dpbench(*words).stdout
    claims = dpbench("claims", "gs")
    assert claims.returncode == 0, claims.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "experiment=gs/fig99"), "unknown experiment 'gs/fig99': did you mean 'gs/fig9'?"),
        (("run", "dataset=[nosuch]", "mechanism=[lpa]"), "unknown dataset 'nosuch': expected one of: "),
        (
            ("run", "dataset=[movielens]", "mechanism=[lpa]", "task=[high_counts]", "scale=smoke"),
            "the task high_counts needs incidence data, not records",
        ),
        (
            ("run", "dataset=[trajectory]", "dataset.trajectory.source=files", "mechanism=[lpa]"),
            "needs dataset.trajectory.path=",
        ),
    ],
)
def test_what_is_wrong_is_named(words: tuple[str, ...], told: str, dpbench: Call) -> None:
    done = dpbench(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "building" not in done.stderr, "nothing is built for a run that cannot be"
    assert "data get trajectory" not in done.stderr, "no download is advised that does not exist"
