"""The engine on the command line: determinism, resuming, failures, users' classes. A user's folder with own YAML and code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpbench

from support.cluster import until
from support.homes import RUN, only_run, trials
from support.paths import ROOT

Call = Callable[..., "subprocess.CompletedProcess[str]"]


def test_jobs_backend_and_interruption_change_nothing(dpbench: Call, home: Path) -> None:
    """One job, two jobs, and killed in the middle and run again: the same numbers to the bit."""
    words = (*RUN, "mechanism=[slow,lpa]", "trials=60", "epsilon=[1]", "runner.chunk=6")
    for jobs in (1, 2):
        assert dpbench(*words, f"runner.jobs={jobs}", f"results=jobs{jobs}").returncode == 0
    one, two = trials(home / "jobs1"), trials(home / "jobs2")
    assert len(one) == 120
    pd.testing.assert_frame_equal(one, two, check_exact=True)

    command = [sys.executable, "-m", "dpbench", *words, "runner.jobs=1", "results=killed"]
    process = subprocess.Popen(command, cwd=home, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
    until(lambda: len(list((home / "killed").glob("trials/**/*.parquet"))) >= 3, "three files")
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(list((home / "killed").glob("trials/**/*.parquet")))
    assert 3 <= kept < 20, "the run was to be killed in the middle"
    again = dpbench(*words, "runner.jobs=2", "results=killed")
    assert f"{120 - 6 * kept} trials computed, {6 * kept} found finished" in again.stdout
    pd.testing.assert_frame_equal(one, trials(home / "killed"), check_exact=True)


def test_nothing_finished_is_computed_again(dpbench: Call, home: Path) -> None:
    words = (*RUN, "mechanism=[noisy]", "trials=10")
    assert "30 trials computed, 0 found finished" in dpbench(*words).stdout
    files = {p: p.stat().st_mtime_ns for p in home.glob("results/trials/**/*.parquet")}
    assert "0 trials computed, 30 found finished" in dpbench(*words).stdout
    assert files == {p: p.stat().st_mtime_ns for p in home.glob("results/trials/**/*.parquet")}


def test_more_trials_are_those_of_a_fresh_run(dpbench: Call, home: Path) -> None:
    """Nothing is computed twice, and what is measured over pairs of trials is that of a fresh run."""
    words = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "runner.jobs=1", "runner.chunk=10")
    dpbench(*words, "trials=15", "results=grown")
    assert "15 trials computed, 15 found finished" in dpbench(*words, "trials=30", "results=grown").stdout
    dpbench(*words, "trials=30", "results=fresh")
    pd.testing.assert_frame_equal(trials(home / "grown"), trials(home / "fresh"), check_exact=True)


def test_variance_and_bias_across_trials(dpbench: Call, home: Path) -> None:
    """The variance is that of the noise, 2 (2Δ/ε)², within 5 % over 75000 draws (se 0.8 %), and no bias is left."""
    dpbench(*RUN, "mechanism=[noisy]", "epsilon=[1]", "trials=3000")
    (row,) = only_run(home / "results").summary(["mechanism"]).to_dict("records")
    variance = 2 * trials(home / "results")["chosen.scale"].iloc[0] ** 2
    assert row["variance"] == pytest.approx(variance, rel=0.05)
    assert row["bias2"] == pytest.approx(0, abs=0.02 * variance)
    assert row["mse"] == pytest.approx(row["variance"] + row["bias2"], rel=0.05)


def test_failures_are_shown_and_only_they_are_tried_again(dpbench: Call, home: Path) -> None:
    words = (*RUN, "mechanism=[noisy,flaky]", "epsilon=[1]", "trials=30")
    first = dpbench(*words)
    assert first.returncode == 1
    assert "RuntimeError: no luck today" in first.stdout + first.stderr
    failed = int(first.stdout.rpartition("finished, ")[2].split()[0])
    assert 0 < failed < 30
    frame = trials(home / "results")
    assert len(frame) == 60 - failed
    (home / "mended").touch()
    second = dpbench(*words)
    assert second.returncode == 0
    assert f"{failed} trials computed, {60 - failed} found finished, 0 failed" in second.stdout
    assert len(trials(home / "results")) == 60
    dpbench(*words, "results=undisturbed")
    pd.testing.assert_frame_equal(trials(home / "results"), trials(home / "undisturbed"), check_exact=True)


def test_a_worker_that_dies_costs_one_trial_only(dpbench: Call, home: Path) -> None:
    words = (*RUN, "mechanism=[noisy,deadly]", "epsilon=[1]", "trials=100", "runner.jobs=2", "runner.chunk=10")
    done = dpbench(*words)
    assert done.returncode == 1
    assert "ended the worker process: exit status 9" in done.stdout
    frame = trials(home / "results")
    assert (frame["mechanism"] == "noisy").sum() == 100
    alive = (frame["mechanism"] == "deadly").sum()
    assert f"{100 + alive} trials computed, 0 found finished, {100 - alive} failed" in done.stdout
    assert 90 <= alive < 100  # each dies with probability 0.02; the seed is fixed


def test_damaged_trials_are_noticed_and_computed_again(dpbench: Call, home: Path) -> None:
    words = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "trials=40")
    dpbench(*words)
    before = trials(home / "results")
    one, two = sorted(home.glob("results/trials/**/*.parquet"))
    one.write_bytes(one.read_bytes()[:100])
    body = bytearray(two.read_bytes())
    body[60:70] = b"0123456789"
    two.write_bytes(body)
    again = dpbench(*words)
    assert "is damaged" in again.stderr
    assert "40 trials computed, 0 found finished" in again.stdout
    pd.testing.assert_frame_equal(before, trials(home / "results"), check_exact=True)


def test_damaged_data_is_noticed_and_built_again(dpbench: Call, home: Path, own_cache: Path) -> None:
    words = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "dataset.small.rows=61")
    dpbench(*words)
    (indptr,) = [p for p in own_cache.glob("data/small-*/indptr.npy") if np.load(p).size == 62]
    path = indptr.with_name("indices.npy")
    body = bytearray(path.read_bytes())
    body[-1] ^= 1
    path.write_bytes(body)
    again = dpbench(*words)
    assert "cached data is damaged" in again.stderr
    assert again.returncode == 0
    assert "0 trials computed" in again.stdout, "the same data was built, so the trials still hold"


def test_changed_code_is_computed_anew(dpbench: Call, home: Path) -> None:
    words = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "trials=10")
    dpbench(*words)
    source = home / "strangers.py"
    source.write_text(
        source.read_text().replace('"""Twice the noise of LPA."""', '"""Another word."""  # and a comment')
    )
    assert "0 trials computed" in dpbench(*words).stdout
    source.write_text(
        source.read_text().replace("self.factor * data.largest_row", "1.5 * self.factor * data.largest_row")
    )
    assert "10 trials computed" in dpbench(*words).stdout


def test_dry_run_computes_nothing(dpbench: Call, home: Path, own_cache: Path) -> None:
    words = (*RUN, "mechanism=[noisy,lpa]", "mechanism.lpa.bound=[3,11]", "trials=10", "dataset.small.columns=26")
    plan = dpbench(*words, "dry=true")
    assert plan.returncode == 0
    assert "Not built yet: small" in plan.stdout
    assert not (home / "results").exists()
    assert not [*own_cache.glob("data/*")]
    dpbench(*words)
    plan = dpbench(*words, "dry=true")
    assert "left out: lpa(bound=3) on small: bound=3 is below the largest row 11" in plan.stdout
    assert "6 settings, 60 trials, 60 done already. Nothing was computed." in plan.stdout


def test_a_parameter_given_as_a_list_is_an_axis(dpbench: Call, home: Path) -> None:
    dpbench(*RUN, "mechanism=[noisy]", "mechanism.noisy.factor=[1,3]", "epsilon=[1]", "trials=50")
    frame = trials(home / "results")
    mae = frame.groupby("mechanism.factor")["metric.mae"].mean()
    assert mae[3] / mae[1] == pytest.approx(3, rel=0.15)


def test_a_default_written_out_is_the_same_cell(dpbench: Call, home: Path) -> None:
    dpbench(*RUN, "mechanism=[noisy]", "epsilon=[1]", "trials=10")
    again = dpbench(*RUN, "mechanism=[noisy]", "epsilon=[1.0]", "trials=10", "mechanism.noisy.factor=2")
    assert "0 trials computed, 10 found finished" in again.stdout


def test_seeds_change_the_noise_and_the_data(dpbench: Call, home: Path) -> None:
    words = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "trials=4")
    maes = []
    for i, seeds in enumerate(("seed=0", "seed=1", "data_seed=1")):
        dpbench(*words, seeds, f"results=r{i}")
        maes.append(tuple(trials(home / f"r{i}")["metric.mae"]))
    assert len(set(maes)) == 3


def test_dask_gives_the_same_numbers(dpbench: Call, home: Path) -> None:
    pytest.importorskip("dask.distributed")
    words = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "trials=40")
    dpbench(*words, "runner.jobs=1", "results=here")
    done = dpbench(*words, "runner=dask", "runner.jobs=2", "results=there")
    assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(trials(home / "here"), trials(home / "there"), check_exact=True)


def test_the_same_files_elsewhere_give_the_same_noise(dpbench: Call, home: Path) -> None:
    for folder in ("here", "there"):
        (home / folder).mkdir()
        (home / folder / "rows.dat").write_text("1 2 3\n2 3\n1\n")
        words = (
            "dataset=[transactions]",
            "dataset.transactions.source=files",
            f"dataset.transactions.path={folder}/rows.dat",
        )
        done = dpbench(*RUN[:3], *RUN[4:], *words, "mechanism=[lpa]", "epsilon=[1]", f"results=r_{folder}")
        assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(trials(home / "r_here"), trials(home / "r_there"), check_exact=True)


def test_fewer_trials_lose_nothing(dpbench: Call, home: Path) -> None:
    words = (*RUN, "mechanism=[noisy]", "epsilon=[1]")
    dpbench(*words, "trials=20")
    assert "0 trials computed, 2 found finished" in dpbench(*words, "trials=2").stdout
    assert "0 trials computed, 20 found finished" in dpbench(*words, "trials=20").stdout
    assert "0 trials computed, 20 found finished" in dpbench(*words, "trials=20", "runner.chunk=5").stdout


def test_releases_that_are_none_fail_their_trials(dpbench: Call, home: Path) -> None:
    """Wrong shapes, NaN, odd remarks and SystemExit: the others finish, the table says why, exit status 1."""
    (home / "odd.py").write_text(
        "import numpy as np\nfrom dpbench import Counts, Mechanism\n"
        "class Short(Mechanism):\n    def publish(self, data, epsilon, noise): return Counts(counts=np.ones(1))\n"
        "class Void(Mechanism):\n    def publish(self, data, epsilon, noise):\n"
        "        return Counts(counts=np.full(data.columns, np.nan))\n"
        "class Leaves(Mechanism):\n    def publish(self, data, epsilon, noise): raise SystemExit(3)\n"
        "class Odd(Mechanism):\n    def publish(self, data, epsilon, noise):\n"
        "        odd = {'a': object(), 'b': 'word' if noise.stream('b').random() < 0.5 else 3}\n"
        "        return Counts(counts=data.counts + 0.0, chosen=odd, diagnostics=odd)\n"
        "class Plain:\n    def __init__(self, scale=1.0): self.scale = scale\n"
        "    def release(self, data, epsilon, rng): return Counts(counts=data.counts + self.scale)\n"
    )
    for name in ("Short", "Void", "Leaves", "Odd", "Plain"):
        (home / "mine" / "mechanism" / f"{name.lower()}.yaml").write_text(f"{name.lower()}: {{class: odd.{name}}}\n")
    words = (
        *RUN,
        "mechanism=[short,void,leaves,odd,plain]",
        "epsilon=[1]",
        "trials=8",
        "mechanism.plain.scale=[1,100]",
    )
    done = dpbench(*words)
    assert done.returncode == 1
    for reason in ("shape (1,), expected (25,)", "not finite", "SystemExit: 3"):
        assert reason in done.stdout + done.stderr
    frame = trials(home / "results")
    assert set(frame["mechanism"]) == {"odd", "plain"}
    assert frame.groupby("mechanism.scale")["metric.mae"].mean().to_dict() == {1: 1.0, 100: 100.0}


def test_a_yaml_without_its_own_name_is_not_passed_over(dpbench: Call, home: Path) -> None:
    (home / "mine" / "mechanism" / "flat.yaml").write_text("class: strangers.Noisy\n")
    done = dpbench(*RUN, "mechanism=[lpa,flat]")
    assert done.returncode == 2
    assert "mine/mechanism/flat.yaml: expected `flat: {class: ...}`, as every mechanism has" in done.stderr


def test_a_figure_that_does_not_fit_the_run_is_a_warning(dpbench: Call, home: Path) -> None:
    words = ("run", "experiment=gs/fig7", "dataset=[trajectory]", "mechanism=[lpa]", "scale=smoke", "tracking=none")
    done = dpbench(*words)
    assert done.returncode == 0
    assert "gs/fig7: its script cannot draw this run (KeyError: " in done.stderr
    assert dpbench("figures").returncode == 1


def test_a_file_with_fewer_individuals_than_the_original_is_a_sample(tmp_path):
    """By the dataset's card; the numbers of a run do not depend on it."""
    file = tmp_path / "retail.dat"
    file.write_text("1 2\n2 3\n1\n")
    given = {"mechanism": "zero", "epsilon": 1.0, "trials": 1, "results": tmp_path / "results", "name": "few"}
    run = dpbench.run(dataset="retail", **given, **{"dataset.retail.path": str(file), "runner.jobs": 1})
    assert run.origins() == ["retail: sample of the original file (3 of 88,162 individuals)"]
    assert dpbench.load(tmp_path / "results", "few").origins() == run.origins()
