"""The calibration table: ours is counted in the built data, and what is printed and published is the card's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpbench.cli import main
from dpbench.config import catalogue
from dpbench.config.entries import datasets
from dpbench.data import Incidence, Records
from dpbench.ranking.worlds import calibration, stated, statistics
from dpbench.sources import cards
from dpbench.sources.cache import open_dataset


def test_statistics_are_counted() -> None:
    data = Incidence.from_rows([[0, 1, 2], [0, 1], [0], [0], []], columns=5)
    numbers = statistics(data)
    assert (numbers["used_rows"], numbers["used_columns"], numbers["largest_count"]) == (4, 3, 4)
    assert (numbers["rows_of_one"], numbers["rows_below_10"]) == (2, 4)
    assert numbers["row_q50"] == 1.5
    # Counts 4, 2, 1, 0, 0 over at least 0.005; Δ = 3.
    assert numbers["lpa_mre_percent"] == pytest.approx(100 * 3 / np.log(2) * np.mean([0.25, 0.5, 1, 200, 200]))
    assert numbers["order"] == pytest.approx(-1)


def test_the_sample_misses_what_only_large_rows_hold() -> None:
    """Column 0 is held by 12 small rows, columns 1 to 20 by 20 large rows: in a sample of one record, column 0 is the first."""
    data = Incidence.from_rows([[0]] * 12 + [list(range(1, 21))] * 20 + [[21]] * 3, columns=40)
    numbers = statistics(data)
    assert numbers["top_20_in_sample_percent"] == pytest.approx(90)  # columns 0 and 21 are taken for two of the twenty
    records = Records.from_rows([[0, 0, 1], [1]], items=2)
    assert statistics(records)["distinct_percent"] == pytest.approx(75)


@pytest.mark.parametrize("name", [name for name in catalogue.options("dataset") if cards.load(name).known])
def test_every_number_of_a_card_is_a_statistic_with_a_source(name: str) -> None:
    card = cards.load(name)
    dataset = next(datasets(catalogue.dataset(name).generated(), "smoke", 0))
    counted = statistics(open_dataset(dataset).data)
    for fact in card.known:
        assert fact.statistic in counted
        assert fact.source
        assert (fact.printed is None) != (fact.published is None)


def test_rows_have_both_sources_and_every_world() -> None:
    known = stated(cards.load("netflix"))
    assert known["rows"] == (480189, 480189, "gs, Table 2; the training set")
    rows = list(calibration(catalogue.dataset("trajectory"), "smoke"))
    assert {row.world for row in rows} == {*catalogue.dataset("trajectory").worlds}
    medians = {row.world: row.ours for row in rows if row.statistic == "count_q50"}
    assert medians["uneven"] < medians["middle"] < medians["even"]  # type: ignore[operator]
    assert [(row.printed, row.ours) for row in rows if row.statistic == "largest_row"] == [(55, 55)] * 4


def test_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "calibration", "trajectory", "--scale", "smoke", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"dataset", "world", "statistic", "printed", "published", "ours", "source", "scale", "seed"} == {*rows[0]}
    assert main(["data", "calibration", "trajectory", "--scale", "smoke"]) == 0
    assert "trajectory, smoke scale" in capsys.readouterr().out
    assert main(["data", "calibration", "kos"]) == 2
    assert "kos is read from files only" in capsys.readouterr().err
    assert main(["data", "calibration", "trajectry"]) == 2
    assert "did you mean 'trajectory'" in capsys.readouterr().err
