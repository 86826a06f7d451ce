"""`new` in an empty folder: what it writes runs, is tested, audited and listed, and nothing is overwritten."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.cli.new import written
from dpbench.errors import UserError

from support.paths import ROOT

Call = Callable[..., subprocess.CompletedProcess[str]]


def pytest_in(folder: Path) -> subprocess.CompletedProcess[str]:
    """The user's own tests, as the user runs them."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_everything_new_works_together(dpbench: Call, tmp_path: Path) -> None:
    """A mechanism, a dataset, a task and an experiment, in one run by their names alone: ./conf is found."""
    for what, name in (("mechanism", "rounded"), ("dataset", "walks"), ("task", "top"), ("experiment", "mine/sweep")):
        made = dpbench("new", what, name)
        assert made.returncode == 0, made.stderr
        assert f"wrote conf/{what}/{name}.yaml" in made.stdout
    done = dpbench(
        *("run", "dataset=[walks]", "mechanism=[lpa,rounded]", "task=[top]"),
        *("scale=smoke", "epsilon=1", "trials=2", "runner.jobs=1", "tracking=none", "name=whole"),
    )
    assert done.returncode == 0, done.stderr
    assert "rounded" in done.stdout
    assert "top_error" in done.stdout
    assert (tmp_path / "results/figures/whole.png").is_file()
    own = pytest_in(tmp_path)
    assert own.returncode == 0, own.stdout + own.stderr
    listed = json.loads(dpbench("list", "mechanisms", "--json").stdout)
    (row,) = [row for row in listed if row["name"] == "rounded"]
    assert row["parameters"] == "bound='declared'", "as in its YAML: `list` imports no class of a user"
    audited = dpbench("audit", "rounded", "--pairs", "8", "--json")
    assert audited.returncode == 0, audited.stderr
    assert {one["verdict"] for one in json.loads(audited.stdout)} == {"holds"}, "at every budget"
    assert "holds on 8 pairs" in audited.stderr
    again = dpbench("new", "mechanism", "rounded")
    assert (again.returncode, again.stdout) == (2, "")
    assert "mechanism 'rounded' already exists" in again.stderr


def test_own_conf_by_every_verb(dpbench: Call, tmp_path: Path) -> None:
    """Own datasets, experiments and claims, and a folder of another name by --config-dir."""
    conf = tmp_path / "elsewhere"
    for place, text in (
        ("dataset/visits.yaml", "visits: {source: files, files: table, path: visits.csv, user: who, item: place}\n"),
        (
            "experiment/mine/sweep.yaml",
            "# @package _global_\ndefaults:\n  - override /dataset: [visits]\n  - override /mechanism: [lpa]\n"
            "  - override /task: [column_counts]\ntitle: My sweep\nepsilon: [1, 2]\n",
        ),
        (
            "claims/mine.yaml",
            "less:\n  says: little error\n  place: here\n  experiment: mine/sweep\n"
            "  measure: mae()\n  expect: '< 100'\n  where: {epsilon: 2}\n",
        ),
    ):
        (conf / place).parent.mkdir(parents=True, exist_ok=True)
        (conf / place).write_text(text)
    (tmp_path / "visits.csv").write_text("who,place\n" + "".join(f"u{i % 9},p{i % 4}\n" for i in range(36)))
    own = ("--config-dir", "elsewhere")
    done = dpbench("run", *own, "experiment=mine/sweep", "scale=smoke", "trials=2", "runner.jobs=1", "tracking=none")
    assert done.returncode == 0, done.stderr
    assert "wrote results/figures/mine/sweep+visits.png" in done.stderr
    assert "mine/sweep" in dpbench("list", "experiments", *own).stdout
    assert "visits" in dpbench("data", "list", *own).stdout
    drawn = dpbench("figures", "mine/sweep", *own)
    assert (drawn.returncode, "wrote results/figures/mine/sweep+visits.csv" in drawn.stdout) == (0, True)
    conf.rename(tmp_path / "conf")
    assert "My sweep" in dpbench("list", "experiments").stdout
    judged = dpbench("claims", "mine")
    assert judged.returncode == 0, judged.stderr
    assert "mine/less" in judged.stdout
    shown = dpbench("data", "show", "visits", "--trials", "0")
    assert shown.returncode == 0, shown.stderr
    assert "files" in shown.stdout


def test_into_a_folder_of_another_name(dpbench: Call, tmp_path: Path) -> None:
    made = dpbench("new", "mechanism", "rounded", "--config-dir", "my conf")
    assert made.returncode == 0, made.stderr
    assert not (tmp_path / "conf").exists()
    assert "python -m dpbench audit rounded --config-dir 'my conf'" in made.stdout
    assert "rounded" in dpbench("list", "mechanisms", "--config-dir", "my conf").stdout


@pytest.mark.parametrize("name", ["json", "random", "numpy", "dpbench"])
def test_a_file_that_would_hide_a_module_is_not_written(name: str, dpbench: Call, tmp_path: Path) -> None:
    """json.py in the folder one works in would end every command there."""
    refused = dpbench("new", "mechanism", name)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"{name}.py would hide " in refused.stderr
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["Rounded", "my-thing", "class", "a/b", "1st", "", "lpa"])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(UserError, match=r"is not valid|already exists"):
        written("mechanism", name)
