"""Frames of trials: what `summarise` says of them, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpbench.engine.frame import metric_names, summarise


def test_summary_of_a_few_trials() -> None:
    frame = pd.DataFrame(
        {
            "dataset": ["a"] * 4,
            "mechanism": ["m"] * 4,
            "epsilon": 1.0,
            "task": "t",
            "cell": "c",
            "trial": range(4),
            "seconds": 0.1,
            "mae": [1.0, 2.0, 3.0, 6.0],
            "mse": [5.0, 5.0, 7.0, 7.0],
            "variance": [2.0, 2.0, 2.0, 2.0],
            "info.w": 3.0,
        }
    )
    assert metric_names(frame) == ["mae", "mse", "variance"]
    (row,) = summarise(frame, ["dataset", "mechanism"]).to_dict("records")
    assert row["trials"] == 4
    assert row["mae"] == 3.0
    assert row["mae_se"] == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)
    assert row["mae_p95"] == pytest.approx(np.quantile([1, 2, 3, 6], 0.95))
    assert (row["bias2"], row["bias"]) == (4.0, 2.0)
