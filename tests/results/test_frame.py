"""Frames of trials: what `summarise` says of them, by hand."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpbench.errors import Damaged
from dpbench.results.frame import manifests, metric_names, summarise


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
            "chosen.w": 3.0,
        }
    )
    assert metric_names(frame) == ["mae", "mse", "variance"]
    (row,) = summarise(frame, ["dataset", "mechanism"]).to_dict("records")
    assert row["trials"] == 4
    assert row["mae"] == 3.0
    assert row["mae_se"] == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)
    assert row["mae_p95"] == pytest.approx(np.quantile([1, 2, 3, 6], 0.95))
    assert (row["bias2"], row["bias"]) == (4.0, 2.0)


def test_plans_are_found_by_scale_and_damaged_ones_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "plans" / "gs"
    folder.mkdir(parents=True)
    for age, scale in ((100, "smoke"), (50, "laptop")):
        path = folder / f"fig9@{scale}.json"
        path.write_text(json.dumps({"experiment": "gs/fig9", "scale": scale, "trials": 6, "cells": [], "datasets": {}}))
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    assert manifests(tmp_path)["gs/fig9"]["scale"] == "laptop", "the latest"
    assert manifests(tmp_path, "smoke")["gs/fig9"]["scale"] == "smoke"
    assert manifests(tmp_path, "paper") == {}
    for damage in ("", "{", "[]", '{"experiment": "gs/fig9"}'):
        (folder / "fig9@laptop.json").write_text(damage)
        for scale in (None, "laptop"):
            with pytest.warns(Damaged, match=r"fig9@laptop.json is damaged"):
                found = manifests(tmp_path, scale)
            assert [m["scale"] for m in found.values()] == ([] if scale else ["smoke"])
