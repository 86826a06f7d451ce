"""The record: what is written is read again, damage is named, long curves are thinned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpbench.claims.recorded import code_digest, is_current
from dpbench.errors import UserError
from dpbench.model.environment import Environment
from dpbench.model.record import Costs, Record, RecordedVerdict
from dpbench.reproduce.make_record import POINTS, thinned
from dpbench.storage.record import names, read, read_all, read_numbers, write

CLASSES = {"source": ("incidence",), "mechanism": ("lpa",), "task": ("column_counts",)}
NUMBERS = pd.DataFrame(
    {
        "dataset": ["netflix", "netflix"],
        "mechanism": ["lpa", "gs"],
        "epsilon": [np.log(2), np.log(2)],
        "trials": [20, 20],
        "mae": [24526.123456789, 1 / 3],
        "mae_se": [12.0, np.nan],
        "places": ["", ""],
    }
)


def record(**changes):
    facts = {
        "experiment": "gs/fig9",
        "title": "Figure 9",
        "scale": "paper",
        "trials": 20,
        "seed": 0,
        "data_seeds": (0, 1),
        "settings": 2,
        "identity": "ab",
        "code": code_digest(CLASSES),
        "classes": CLASSES,
        "origins": ("netflix: generated, seed 0",),
        "not_private": {"lpa": "Δ looks at the data"},
        "environment": Environment.here(),
        "written": "2026-01-01",
        "costs": Costs(12.5, 20.0, 10**9, 10**6),
        "verdicts": (RecordedVerdict("gs/one", "reproduced", "> 1", 2.0, 1.5, 2.5, trials=20),),
    }
    return Record(**facts | changes)


def test_what_is_written_is_read_again(tmp_path):
    files = write(record(), NUMBERS, tmp_path)
    assert [file.name for file in files] == ["fig9.csv", "fig9.json"]
    assert names(tmp_path) == ["gs/fig9"]
    found = read("gs/fig9", tmp_path)
    assert found.verdicts == record().verdicts
    assert found.costs == record().costs
    assert found.environment == record().environment
    pd.testing.assert_frame_equal(read_numbers(found), NUMBERS, rtol=1e-11)
    assert read_all(tmp_path).keys() == {"gs/fig9"}


def test_what_is_not_on_record_is_none(tmp_path):
    assert read("gs/fig9", tmp_path) is None
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_damage_is_named(tmp_path, kind):
    write(record(), NUMBERS, tmp_path)
    path = tmp_path / "gs" / f"fig9.{kind}"
    path.write_text(path.read_text().replace("12", "13", 1))
    with pytest.raises(UserError, match=f"fig9.{kind}"):
        read_numbers(read("gs/fig9", tmp_path))


def test_trials_that_were_found_finished_keep_their_costs():
    """Drawing and judging again takes no time; what the trials took is still what they took."""
    again = record(costs=Costs(None, 20.0, 10**8, 10**6))
    assert again.after(record()).costs == record().costs
    assert again.after(None).costs == again.costs
    assert again.after(record(identity="cd")).costs == again.costs, "other trials"
    assert record(costs=Costs(3.0)).after(record()).costs == Costs(3.0), "computed anew"


def test_trials_that_were_added_count():
    """The time that passed is unknown then: it would be that of the earlier trials, or of the new ones only."""
    before = record(costs=Costs(12.0, 20.0, 10**9, 10**7))
    more = record(costs=Costs(None, 50.0, 10**8, 2 * 10**7))
    assert more.after(before).costs == Costs(None, 50.0, 10**9, 2 * 10**7)
    unknown = record(costs=Costs(12.0, 20.0, None, 10**7))
    assert record(costs=Costs(None, 50.0)).after(unknown).costs.memory is None


def test_a_record_knows_whether_the_code_is_still_the_same():
    assert is_current(record())
    assert not is_current(record(code="ab"))
    assert not is_current(record(classes={**CLASSES, "mechanism": ("gone",)}))


def test_the_code_of_another_mechanism_is_another_one():
    assert code_digest(CLASSES) != code_digest({**CLASSES, "mechanism": ("gs",)})


def test_long_curves_are_thinned_and_keep_their_ends():
    w = np.arange(1, 20_001)
    curves = pd.concat([pd.DataFrame({"dataset": name, "epsilon": 0.1, "w": w, "error": 1 / w}) for name in "ab"])
    few = thinned(curves)
    for _, part in few.groupby("dataset"):
        assert POINTS * 0.8 <= len(part) <= POINTS
        assert part["w"].iloc[0] == 1
        assert part["w"].iloc[-1] == 20_000
        assert part["w"].is_monotonic_increasing
    pd.testing.assert_frame_equal(thinned(NUMBERS), NUMBERS)
