"""Frames of trials and their summaries by `summarise`, against a direct computation."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpbench.claims.cells import cells_of
from dpbench.errors import Damaged
from dpbench.storage.frame import metric_names, summarise
from dpbench.storage.store import Store

from support.homes import RUN, only_run, trials
from support.stores import filled, name_of, rows, run

Call = Callable[..., "subprocess.CompletedProcess[str]"]


def test_summary_of_a_few_trials() -> None:
    frame = pd.DataFrame(
        {
            "dataset": ["a"] * 4,
            "mechanism": ["m"] * 4,
            "epsilon": 1.0,
            "task": "t",
            "setting": "c",
            "trial": range(4),
            "seconds": 0.1,
            "metric.mae": [1.0, 2.0, 3.0, 6.0],
            "metric.mse": [5.0, 5.0, 7.0, 7.0],
            "metric.pair_variance": [None, 2.0, None, 4.0],
            "metric.pair_bias2": [None, 8.0, None, 10.0],
            "chosen.w": 3.0,
        }
    )
    assert metric_names(frame) == ["mae", "mse"]
    (row,) = summarise(frame, ["dataset", "mechanism"]).to_dict("records")
    assert row["trials"] == 4
    assert row["mae"] == 3.0
    assert row["mae_se"] == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)
    assert row["mae_p95"] == pytest.approx(np.quantile([1, 2, 3, 6], 0.95))
    assert (row["variance"], row["bias2"], row["bias"]) == (3.0, 9.0, 3.0)
    assert row["variance_se"] == pytest.approx(np.std([2, 4], ddof=1) / np.sqrt(2))


def test_a_squared_bias_below_zero_has_no_root() -> None:
    frame = pd.DataFrame({"d": ["a"] * 2, "metric.mae": 1.0, "metric.pair_variance": 1.0, "metric.pair_bias2": -4.0})
    (row,) = summarise(frame, ["d"]).to_dict("records")
    assert (row["bias2"], row["bias"]) == (-4.0, 0.0)


def test_a_frame_has_labels_and_all_stored_columns(tmp_path: Path) -> None:
    frame = filled(tmp_path, 3, repetitions=5, chunk=2).trials()
    assert len(frame) == 15
    labels = ["dataset", "mechanism", "epsilon", "task", "dataset.rows", "mechanism.number", "data_seed", "setting"]
    assert list(frame.columns[:10]) == [*labels, "trial", "seconds"]
    assert list(frame["mechanism.number"]) == [0] * 5 + [1] * 5 + [2] * 5
    assert list(frame["setting"].unique()) == [name_of(i) for i in range(3)]
    expected = [r["metric.mae"] for i in range(3) for r in rows(range(5), i)]
    assert list(frame["metric.mae"]) == expected


def test_trials_that_two_mechanisms_share_stand_under_both_names(tmp_path: Path) -> None:
    """As GS as printed and a reading of `gs_mean` do: claims on either find all trials, once."""
    made = filled(tmp_path, 2, repetitions=5, chunk=2)
    first, second = made.settings
    reading = replace(first, mechanism=replace(first.mechanism, name="reading"))
    frame = replace(made, settings=(first, second, reading)).trials()
    assert frame.groupby("mechanism", sort=False).size().to_dict() == {first.mechanism.name: 10, "reading": 5}
    cells = cells_of(frame)
    assert [(cell.id, cell.labels["mechanism"], cell.total) for cell in cells] == [
        (setting.id, setting.mechanism.name, 5) for setting in (first, second, reading)
    ]


def test_settings_with_other_columns_stand_together(tmp_path: Path) -> None:
    """One tells a word, one a number, one nothing, and their metrics differ."""
    made = run(tmp_path, 3, repetitions=2)
    store = Store(tmp_path)
    for number, (metric, told) in enumerate((("mae", {"chosen.w": "auto"}), ("mae", {"chosen.w": 3.0}), ("f1", {}))):
        for trial in range(2):
            store.write(name_of(number), [{"trial": trial, "seconds": 0.1, f"metric.{metric}": 1.0, **told}], "")
    frame = made.trials()
    assert list(frame["chosen.w"]) == ["auto", "auto", 3.0, 3.0, None, None]
    assert frame["metric.f1"].isna().tolist() == [True] * 4 + [False] * 2
    assert metric_names(frame) == ["mae", "f1"]


def test_damage_is_told_to_whoever_reads(tmp_path: Path) -> None:
    made = filled(tmp_path, 2, repetitions=6, chunk=2)
    path = next((tmp_path / "trials").rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.warns(Damaged, match=path.name):
        assert len(made.trials()) == 10


# Pairs of trials, through the front door.

PAIRS = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "runner.jobs=1")


def pairs(results: Path, trials: int) -> dict[str, float]:
    (row,) = only_run(results).summary(["mechanism"]).to_dict("records")
    assert row["trials"] == trials
    return {name: row[name] for name in ("variance", "variance_se", "bias2", "bias2_se", "mse", "mae_se")}


def direct(home: Path, count: int) -> tuple[float, float]:
    """Variance and squared bias of the published numbers, from error vectors of the same trials made here."""
    from dpbench.engine.worker import trial_rngs
    from dpbench.mechanisms.base import MECHANISMS
    from dpbench.sources.cache import open_dataset

    setting = only_run(home / "results").settings[0]
    data = open_dataset(setting.dataset).data
    mechanism = MECHANISMS.make(setting.mechanism.cls)
    released = [
        mechanism.release(data, epsilon=1.0, rng=trial_rngs(0, setting.key, trial)[0]).counts for trial in range(count)
    ]
    errors = np.array(released) - data.counts
    a, b = errors[0::2], errors[1::2]
    return float(((a - b) ** 2 / 2).mean()), float((a * b).mean())


def test_variance_and_bias_are_those_of_the_error_vectors(
    dpbench: Call, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(home)
    dpbench(*PAIRS, "trials=10")
    found = pairs(home / "results", 10)
    variance, bias2 = direct(home, 10)
    assert found["variance"] == pytest.approx(variance, rel=1e-12)
    assert found["bias2"] == pytest.approx(bias2, rel=1e-12)


def test_fewer_and_odd_numbers_of_trials_do_not_tell_the_history(dpbench: Call, home: Path) -> None:
    """20 and then 10 is as 10 alone; 7 and then 12 as 12 alone; 20 and then 9 as 9 alone; and so is any chunk."""
    histories = {"a": (20, 10), "b": (7, 12), "c": (20, 9), "d": (1, 2)}
    for folder, counts in histories.items():
        for chunk, count in enumerate(counts):
            dpbench(*PAIRS, f"trials={count}", f"results={folder}", f"runner.chunk={3 + 4 * chunk}")
        dpbench(*PAIRS, f"trials={counts[-1]}", f"results={folder}-alone")
        assert pairs(home / folder, counts[-1]) == pytest.approx(
            pairs(home / f"{folder}-alone", counts[-1]), rel=0, abs=0, nan_ok=True
        )
        pd.testing.assert_frame_equal(trials(home / folder), trials(home / f"{folder}-alone"), check_exact=True)


def test_partners_that_failed_and_were_mended_leave_no_trace(dpbench: Call, home: Path) -> None:
    """Trials fail, fewer are asked for once mended, then all: the numbers of a run in which nothing failed."""
    words = (*RUN, "mechanism=[flaky]", "epsilon=[1]", "runner.jobs=1")
    assert dpbench(*words, "trials=61").returncode == 1
    failed = 61 - len(trials(home / "results"))
    assert failed > 2
    assert dpbench(*words, "trials=61").returncode == 1
    files = len(list((home / "results" / "trials").rglob("*.parquet")))
    assert dpbench(*words, "trials=61").returncode == 1
    assert len(list((home / "results" / "trials").rglob("*.parquet"))) == files, "what tells nothing new is not stored"
    (home / "mended").touch()
    stored = set(trials(home / "results")["trial"])
    late = next(trial for trial in range(0, 60, 2) if trial not in stored and trial + 1 in stored)
    assert dpbench(*words, f"trials={late + 1}").returncode == 0, "without the partner, which is stored already"
    assert dpbench(*words, "trials=61").returncode == 0
    dpbench(*words, "trials=61", "results=undisturbed")
    pd.testing.assert_frame_equal(trials(home / "results"), trials(home / "undisturbed"), check_exact=True)
