"""Every experiment of analytics at smoke size, on the command line: trials, numbers and figures."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from dpbench.cli import main
from dpbench.figures.draw import load_script, script

from support.runs import as_stored

IDS = ("fig1", "table4", "fig5", "fig6", "fig7", "fig8", "fig9", "fig10", "fig11", "table5", "readings")


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them, two trials each; the figures that see the same trials compute nothing anew."""
    place = tmp_path_factory.mktemp("analytics")
    here = Path.cwd()
    os.chdir(place)
    try:
        for name in IDS:
            words = ["run", f"experiment=analytics/{name}", "scale=smoke", "trials=2", "runner.jobs=1", "tracking=none"]
            assert main(words) == 0, name
    finally:
        os.chdir(here)
    return place / "results" / "figures" / "analytics"


def read(figures: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(figures / f"{name}.csv")


@pytest.mark.parametrize("name", IDS)
def test_is_drawn(figures: Path, name: str) -> None:
    for end in (".png", ".pdf", ".csv"):
        assert (figures / f"{name}{end}").stat().st_size > 500 * (end != ".csv")
    assert len(read(figures, name))


def test_fig1_counts_every_user_once(figures: Path) -> None:
    numbers = read(figures, "fig1")
    assert numbers["users"].sum() == 24009
    assert (numbers["users"] >= 0).all()
    assert numbers["below"].max() == 851  # the largest user belongs to the last bin


def test_table4(figures: Path) -> None:
    numbers = read(figures, "table4").set_index("dataset")
    assert list(numbers.index) == ["gowalla", "foursquare", "netflix", "movielens"]
    assert numbers.loc["movielens", "smallest"] == 20
    assert numbers.loc["foursquare", "average"] == pytest.approx(28.2, abs=0.01)


def test_fig6_has_both_panels_and_marks_the_best(figures: Path) -> None:
    numbers = read(figures, "fig6")
    assert set(numbers["counts"]) == {"Item counts", "Edge counts"}
    for _, rows in numbers.groupby(["mechanism", "counts"]):
        assert len(rows) == 9
        assert rows.loc[rows["mse"].idxmin(), "l"] == rows["best_l"].iloc[0]
        assert rows["best_l"].nunique() == rows["equation_22"].nunique() == 1


@pytest.mark.parametrize("name", ["fig7", "fig8"])
def test_fig7_and_fig8_show_each_dataset_with_the_papers_l(figures: Path, name: str) -> None:
    numbers = read(figures, name).set_index(["dataset", "mechanism"])
    assert len(numbers) == 4 * 7
    assert (numbers["trials"] == 2).all()
    # 604 users of at least 20 records: l = 30 takes more than 20 of each.
    assert numbers.loc[("movielens", "sra"), "reduction"] > 604 * 20 / 50000
    assert numbers.loc[("foursquare", "sra"), "reduction"] < 4529 * 10 / 127699


def test_fig9_has_every_k(figures: Path) -> None:
    numbers = read(figures, "fig9")
    found = numbers.groupby(["dataset", "mechanism"])["k"].agg(list)
    assert found["gowalla", "hpa"] == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    assert found["netflix", "hpa"][-1] == 500  # there are 888 items
    assert numbers["precision"].between(0, 1).all()
    assert list(dict.fromkeys(numbers["mechanism"])) == ["lpa", "fpa", "gs", "gs_mean", "gs_private", "sra", "hpa"]


def test_fig10_has_the_raw_data_beside_the_samples(figures: Path) -> None:
    numbers = read(figures, "fig10").set_index(["dataset", "mechanism"])
    assert numbers.loc[("gowalla", "raw"), "records"] == pytest.approx(73960)
    for dataset in ("gowalla", "foursquare", "netflix", "movielens"):
        sra, hpa = (numbers.loc[(dataset, m), "records"] for m in ("sra", "hpa"))
        assert sra == hpa < numbers.loc[(dataset, "raw"), "records"]


def test_fig11_shares(figures: Path) -> None:
    numbers = read(figures, "fig11")
    assert list(dict.fromkeys(numbers["series"])) == ["raw", "sra", "hpa"]
    assert numbers.groupby("series")["share"].sum().tolist() == pytest.approx([1, 1, 1])


def test_table5_says_that_titles_are_made_up(figures: Path) -> None:
    numbers = read(figures, "table5")
    for column in ("raw", "released.sra", "released.hpa"):
        assert numbers[column].dropna().str.startswith("Made-up movie").all()


def test_table5_marks_the_tie_for_the_tenth_place() -> None:
    path = script("analytics/table5")
    assert path is not None
    table5 = load_script(path)
    row = {f"diagnostic.raw_{i}": f"movie {i}" for i in range(1, 12)} | {
        f"diagnostic.top_{i}": f"movie {i + 2}" for i in range(1, 11)
    }
    row |= {f"raw_count_{i}": 30.0 - min(i, 10) for i in range(1, 12)} | {
        "listed": 11.0,
        "right_first": 8.0,
        "trial": 0,
    }
    numbers = table5.numbers(
        as_stored(pd.DataFrame([{**row, "mechanism": "hpa"}, {**row, "trial": 1, "mechanism": "hpa"}]))
    )
    assert numbers["rank"].tolist() == [*map(str, range(1, 10)), "10=", "10="]
    assert set(numbers["hpa_hits"]) == {8.0}
    assert numbers["hpa_right"].sum() == 9  # movie 12 is not among the eleven
    assert table5.draw(numbers) is not None
