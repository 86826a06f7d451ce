"""A run with overrides is distinguished from its experiment: what differs, where it is stored, and when it disappears."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.config.compose import compose
from dpbench.model.run import Run

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), ()),
        (("runner.jobs=1", "results=elsewhere", "tracking=none", "figure=false", "metrics=[mae]"), ()),
        # Said again as the experiment says it: nothing differs.
        (("dataset=[checkin,document,netflix,trajectory]", "epsilon=[0.1,ln2,ln3]", "trials=6", "seed=0"), ()),
        (("dataset=[netflix]",), ("datasets left out: checkin, document, trajectory",)),
        (("mechanism=[lpa,fpa,gs_r,gs_s,gs,gs_mean,gs_private,zero,alpa]",), ("mechanisms added: alpa",)),
        (("epsilon=[ln2,0.5]",), ("epsilons left out: 0.1, 1.099", "epsilons added: 0.5")),
        (("trials=3",), ("trials per setting: 3 instead of 6",)),
        (("trials=300",), ("trials per setting: 300 instead of 6",)),
        (("seed=5", "data_seed=2"), ("seed of the noise: 5 instead of 0", "seed of the data: 2 instead of 0")),
        (("data_seeds=5", "data_seed=1"), ("seeds of the data: 1 to 5 instead of 0",)),
        (("data_seeds=1",), ()),
        (("noise=exact",), ("noise: exact instead of float",)),
        (("noise=float",), ()),
        (("mechanism.gs.w=[5,10]",), ("gs: w = 5, 10 instead of default",)),
        (("dataset.trajectory.columns=700",), ("trajectory: columns = 700 instead of 1402",)),
        (("task=[leaderboard]",), ("tasks left out: column_counts", "tasks added: leaderboard")),
    ],
)
def test_what_differs(words: tuple[str, ...], told: tuple[str, ...]) -> None:
    assert compose("gs/fig9", "smoke", words).changes == told


def test_what_makes_numbers_mean_something_else() -> None:
    harmless = ["dataset=[netflix]", "epsilon=[ln2,0.5]", "trials=3", "seed=5", "data_seeds=2", "noise=exact"]
    assert compose("gs/fig9", "smoke", harmless).altered == ()
    assert compose("gs/fig9", "smoke", {"mechanism.gs.w": [5, 10]}).altered == ("gs: w = 5, 10 instead of default",)
    smaller = compose("gs/fig9", "smoke", {"dataset.trajectory.columns": 700, "trials": 3})
    assert smaller.altered == ("trajectory: columns = 700 instead of 1402",)


def test_files_instead_of_a_generator_are_one_change(tmp_path: Path) -> None:
    (tmp_path / "retail.dat").write_text("0 1 2\n1 2\n")
    words = ("dataset.transactions.source=files", f"dataset.transactions.path={tmp_path / 'retail.dat'}")
    run = compose("sensitivity/error", "smoke", words)
    (told,) = run.changes
    assert run.altered == (), "the original files are what the experiment is about"
    assert told.startswith("transactions: ")
    assert " instead of " in told
    assert str(tmp_path) not in told


def test_an_experiment_that_cannot_be_had_as_defined_tells_the_overrides(tmp_path: Path) -> None:
    """As when it is on original files that are not here."""
    home = tmp_path / "conf" / "experiment" / "mine"
    home.mkdir(parents=True)
    (home / "real.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /dataset: [kos]\n  - override /mechanism: [lpa]\n"
        "  - override /task: [column_counts]\n"
    )
    run = compose("mine/real", "smoke", {"dataset": ["trajectory"]}, [tmp_path / "conf"])
    assert run.changes == ("dataset=[trajectory]",)


def test_a_narrowed_run_says_so_until_the_whole_is_run_again(dpbench: Call, tmp_path: Path) -> None:
    quick = ("run", "experiment=sparse/table1", "scale=smoke", "tracking=none", "figure=false", "runner.jobs=1")
    narrowed = dpbench(*quick, "dataset=[adult]")
    line = (
        "Not sparse/table1 as defined (datasets left out: census, onthemap, telecom); figures and report show this run "
        "until: python -m dpbench run experiment=sparse/table1 scale=smoke\n"
    )
    assert line in narrowed.stdout
    assert Run.load(tmp_path / "results", "sparse/table1").changes == ("datasets left out: census, onthemap, telecom",)
    assert "note: sparse/table1: not as the experiment is defined" in dpbench("figures").stdout
    whole = dpbench(*quick)
    assert "3 trials computed, 1 found finished" in whole.stdout
    assert "as defined" not in whole.stdout
    assert "note:" not in dpbench("figures").stdout
