"""Several draws of the generated data: settings of their own, averaged with equal weight, and never taken for repeats."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpbench.claims.cells import cells_of
from dpbench.config.compose import compose
from dpbench.errors import UserError
from dpbench.model.run import Run
from dpbench.model.setting import listed_seeds, origins
from dpbench.storage.frame import moments, summarise

from support.homes import RUN, only_run, trials
from support.stores import setting

Call = Callable[..., "subprocess.CompletedProcess[str]"]
WORDS = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "runner.jobs=1")
VALUES = {0: [1.0, 3.0], 1: [5.0], 2: [4.0, 4.0, 10.0]}
"""By seed: draws with unequal numbers of trials, as an interrupted run has them."""


def drawn() -> pd.DataFrame:
    rows = [
        {
            "mechanism": "m",
            "data_seed": seed,
            "setting": f"m{seed}",
            "trial": trial,
            "seconds": 0.1,
            "metric.mae": value,
        }
        for seed, values in VALUES.items()
        for trial, value in enumerate(values)
    ]
    rows += [{**rows[0], "mechanism": "one", "setting": "one", "trial": t, "metric.mae": 2.0 * t} for t in range(3)]
    return pd.DataFrame(rows)


def test_draws_have_equal_weight_and_their_spread_is_the_standard_error() -> None:
    several, one = summarise(drawn(), ["mechanism"]).to_dict("records")
    means = [2.0, 5.0, 6.0]
    assert (several["trials"], several["data_seeds"]) == (6, 3)
    assert several["mae"] == pytest.approx(np.mean(means))
    assert several["mae_se"] == pytest.approx(np.std(means, ddof=1) / np.sqrt(3))
    assert several["mae_p95"] == pytest.approx(np.quantile(np.concatenate(list(VALUES.values())), 0.95))
    assert (one["data_seeds"], one["mae"]) == (1, 2.0)
    assert one["mae_se"] == pytest.approx(2 / np.sqrt(3)), "trials on one draw are repeats"
    by_seed = summarise(drawn(), ["mechanism", "data_seed"])
    assert "data_seeds" not in by_seed
    assert by_seed["mae"].tolist() == [*means, 2.0]


def test_one_draw_gives_the_same_bits_as_before() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": np.repeat(["x", "y"], 7), "b": 1, "metric.mae": rng.random(14), "data_seed": 4})
    plain = frame.drop(columns="data_seed")
    pd.testing.assert_frame_equal(summarise(frame, ["a", "b"]), summarise(plain, ["a", "b"]), check_exact=True)
    mean, error = moments(frame, ["a"], ["metric.mae"])
    groups = plain.groupby("a", sort=False)["metric.mae"]
    assert (mean["metric.mae"] == groups.mean()).all()
    assert (error["metric.mae"] == groups.sem()).all()


def test_the_standard_error_covers_the_spread_between_draws() -> None:
    """5 seeds x 20 trials, the draws twice as far apart as the trials. Student's interval with 4 degrees of freedom holds
    the truth in 95 % of 2000 runs (false alarm below 0.1 %: 4 standard errors of a proportion); the pooled one in a third."""
    rng = np.random.default_rng(0)
    runs = 2000
    values = rng.normal(size=(runs, 5, 1)) * 2 + rng.normal(size=(runs, 5, 20))
    index = np.indices(values.shape).reshape(3, -1)
    frame = pd.DataFrame({"run": index[0], "data_seed": index[1], "metric.mae": values.ravel()})
    table = summarise(frame, ["run"])
    held = (table["mae"].abs() < 2.776 * table["mae_se"]).mean()
    assert abs(held - 0.95) < 4 * np.sqrt(0.95 * 0.05 / runs)
    pooled = frame.groupby("run")["metric.mae"].agg(["mean", "sem"])
    assert (pooled["mean"].abs() < 1.984 * pooled["sem"]).mean() < 0.5


def test_a_claims_cell_counts_draws_not_trials() -> None:
    frame = drawn().assign(dataset="d", epsilon=1.0)
    several, one = cells_of(frame)
    assert several.units("mae").tolist() == [2.0, 5.0, 6.0]
    assert several.stored == {"m0": 2, "m1": 1, "m2": 3}
    assert "data_seed" not in several.labels
    assert (one.trials, one.stored) == (3, {"one": 3})


def test_where_data_come_from_in_words() -> None:
    uses = [dataclasses.replace(setting().dataset, name=name, seed=seed) for name in "ab" for seed in (3, 4, 5)]
    uses.append(dataclasses.replace(setting(original=True).dataset, name="c"))
    uses.append(dataclasses.replace(setting().dataset, name="d", seed=1))
    uses.append(dataclasses.replace(uses[-2], name="e", individuals=(1000, 107092)))
    assert origins(uses) == [
        "a, b: generated, seeds 3 to 5",
        "c: original files",
        "d: generated, seed 1",
        "e: sample of the original file (1,000 of 107,092 individuals)",
    ]
    assert [listed_seeds(s) for s in ([0], [1, 0], [7, 0, 1], [2, 1, 0])] == ["0", "0, 1", "0, 1, 7", "0 to 2"]


def test_a_mixed_run_draws_the_generated_data_only(tmp_path: Path) -> None:
    (tmp_path / "retail.dat").write_text("0 1 2\n1 2\n")
    words = [f"dataset.transactions.path={tmp_path / 'retail.dat'}", "data_seeds=3", "data_seed=2"]
    config = compose("sensitivity/error", "smoke", words)
    seeds: dict[str, list[int]] = {}
    for use in config.datasets:
        seeds.setdefault(use.name, []).append(use.seed)
    assert seeds.pop("transactions") == [2]
    assert set(map(tuple, seeds.values())) == {(2, 3, 4)}
    assert "seeds of the data: 2 to 4 instead of 0" in config.changes
    with pytest.raises(UserError, match="data_seeds has no effect on original files, which no seed changes"):
        compose("sensitivity/error", "smoke", [*words, "dataset=[transactions]"])


def test_an_experiment_may_have_several_draws(tmp_path: Path) -> None:
    """What it sets counts as its own definition; a user may still change it."""
    chosen = "".join(f"  - override /{g}: [{n}]\n" for g, n in (("dataset", "netflix"), ("mechanism", "lpa")))
    path = tmp_path / "experiment" / "mine" / "draws.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"# @package _global_\ndefaults:\n{chosen}  - override /task: [column_counts]\ndata_seeds: 3\n")
    own = compose("mine/draws", "smoke", folders=[tmp_path])
    assert [use.seed for use in own.datasets] == [0, 1, 2]
    assert own.changes == ()
    one = compose("mine/draws", "smoke", ["data_seeds=1"], folders=[tmp_path])
    assert one.changes == ("seed of the data: 0 instead of 0 to 2",)


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "many", "null", "[1,2]", "1001", "true"])
def test_a_wrong_number_of_draws_is_refused(given: str) -> None:
    with pytest.raises(UserError, match=r"data_seeds=.* is not valid: expected"):
        compose("gs/fig9", "smoke", [f"data_seeds={given}"])


# Through the front door.


def test_the_fourth_draw_is_the_one_of_its_seed_alone(dpbench: Call, home: Path) -> None:
    """`data_seed=3` and the fourth of `data_seeds=4` share their trials, and what is printed names draws, not repeats."""
    assert "5 trials computed" in dpbench(*WORDS, "trials=5", "data_seed=3").stdout
    alone = trials(home / "results")
    assert alone["data_seed"].tolist() == [3] * 5
    dry = dpbench(*WORDS, "trials=5", "data_seeds=4", "dry=true").stdout
    assert "data seed" in dry
    assert "4 settings, 20 trials, 5 done already" in dry
    done = dpbench(*WORDS, "trials=5", "data_seeds=4")
    assert "15 trials computed, 5 found finished, 0 failed" in done.stdout
    run = only_run(home / "results")
    frame = run.trials()
    assert frame["data_seed"].dtype == np.int64
    assert frame["data_seed"].tolist() == [seed for seed in range(4) for _ in range(5)]
    mine = frame[frame["data_seed"] == 3].drop(columns="seconds").reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, alone, check_exact=True)
    (row,) = run.summary().to_dict("records")
    means = frame.groupby("data_seed")["metric.mae"].mean()
    assert (row["trials"], row["data_seeds"]) == (20, 4)
    assert row["mae"] == pytest.approx(means.mean())
    assert row["mae_se"] == pytest.approx(means.sem())
    line = next(line for line in done.stdout.splitlines() if "│" in line and "noisy" in line)
    assert [cell.strip() for cell in line.split("│")][4:6] == ["4", "20"]
    printed = [float(number) for number in line.split("│")[6].split("±")]
    assert printed == pytest.approx([row["mae"], row["mae_se"]], rel=0.06), "rounded"
    assert "generated, seeds 0 to 3" in done.stdout
    assert "4 draws, so 3 degrees of freedom" in done.stdout
    assert any("3 degrees of freedom" in remark for remark in run.remarks())
    _drawn_and_named(run)


def _drawn_and_named(run: Run) -> None:
    from dpbench.figures.draw import draw, notes
    from dpbench.storage.commands import own_command

    drawing = draw(run)
    assert drawing.numbers["data_seeds"].tolist() == [4]
    assert "5 trials per setting and draw of the data, ε = 1; small: generated, seeds 0 to 3" in notes(run)[1]
    assert own_command(run).split("data_seed")[1:] == ["s=4"]
    assert [str(s).rpartition(", ")[2] for s in run.settings][1:] == [f"data seed {n}" for n in (1, 2, 3)]


def test_data_that_know_no_seed_have_one_draw(dpbench: Call, home: Path) -> None:
    code = (home / "strangers.py").read_text().replace("rng.choice", "np.random.default_rng(5).choice")
    (home / "strangers.py").write_text(code.replace("rng.integers(1, 12)", "7"))
    done = dpbench(*WORDS, "trials=2", "data_seeds=2")
    assert done.returncode == 2
    assert "data_seeds has no effect: the seed does not change the data of small" in done.stderr
