"""Expected errors beside sampled ones: which of the two summaries, claims and captions use."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpbench
from dpbench.claims.cells import cells_of
from dpbench.figures import captions
from dpbench.storage.frame import EXPECTED, METRIC, estimates, expected_names, summarise


def trials(**columns):
    body = {"mechanism": ["a", "a", "b", "b"], "setting": ["s", "s", "t", "t"], "trial": [0, 1, 0, 1]}
    body |= {"seconds": 1.0, "data_seed": 0, "task": "column_counts", "metric.mae": [1.0, 3.0, 5.0, 9.0]}
    return pd.DataFrame(body | columns)


def test_a_summary_takes_expectations_where_every_trial_of_a_setting_has_them():
    frame = trials(**{"expected.mae": [2.5, 2.5, 6.0, np.nan]})
    table = summarise(frame, ["mechanism"]).set_index("mechanism")
    assert table["mae"].to_dict() == {"a": 2.5, "b": 7.0}
    assert table["mae_se"].to_dict() == {"a": 0.0, "b": 2.0}
    assert table["mae_p95"]["a"] == pytest.approx(2.9)  # of the sampled errors
    assert expected_names(frame) == ["mae"]


def test_trials_without_the_column_are_read_as_before():
    assert estimates(trials()).equals(trials())
    assert summarise(trials(), ["mechanism"])["mae"].tolist() == [2.0, 7.0]


def test_claims_take_the_same_values():
    one, other = cells_of(trials(**{"expected.mae": [2.5, 2.5, 6.0, np.nan]}))
    assert one.values["mae"].tolist() == [2.5, 2.5]
    assert (one.expected, other.expected) == ({"mae"}, set())
    assert other.values["mae"].tolist() == [5.0, 9.0]
    assert "expected.mae" not in one.labels
    assert one.law("mae").certain  # equal expectations are
    assert not other.law("mae").certain


def test_the_caption_says_so():
    lines = captions.expected_line(["mae", "abs_error/200", "mse"], ["dataset", "mae", "mae_se", "abs_error"])
    assert lines == ["where it is known, an error is the expected error given all but the last noise step"]
    assert captions.expected_line(["mse"], ["precision"]) == []


def test_a_run_stores_both(tmp_path):
    data = dpbench.Incidence.from_rows([[0, 1], [1, 2], [2, 3], [0, 3]] * 10, columns=4)
    run = dpbench.run(dataset=data, mechanism=["lpa", "zero"], epsilon=1.0, trials=4, results=tmp_path, tracking="none")
    frame = run.trials()
    lpa = frame[frame["mechanism"] == "lpa"]
    assert lpa[EXPECTED + "mae"].tolist() == [2.0] * 4  # Δ/ε
    assert lpa[METRIC + "mae"].nunique() == 4
    summary = run.summary().set_index("mechanism")
    assert (summary["mae"]["lpa"], summary["mae_se"]["lpa"]) == (2.0, 0.0)
    assert frame[frame["mechanism"] == "zero"][EXPECTED + "mae"].isna().all()
