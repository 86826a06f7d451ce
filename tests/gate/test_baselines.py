"""The files of the baselines: what is in them, and that they read back as they were."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpbench.errors import UserError
from dpbench.gate import baselines
from dpbench.gate.baselines import CellNumbers, ExperimentNumbers, FigureNumbers
from dpbench.gate.comparison import compare
from dpbench.gate.entries import metric_of, metrics_of_tasks
from dpbench.gate.figure import figure_numbers
from dpbench.gate.measure import is_time
from dpbench.paths import BASELINES
from dpbench.storage.frame import CHOSEN, DIAGNOSTIC, EXPECTED
from dpbench.tasks.base import TASKS

from support.paths import ROOT
from support.utility_numbers import declared, suite


@pytest.fixture(scope="module")
def committed() -> dict[str, ExperimentNumbers]:
    return baselines.load(BASELINES)


def test_times_are_never_compared(committed: dict[str, ExperimentNumbers]) -> None:
    assert all(is_time(name) for name in ("seconds", "build_seconds", "entries_per_second", "chosen.solve_seconds"))
    assert not is_time("mae")
    for numbers in committed.values():
        for cell in numbers.cells.values():
            assert not [name for name in cell.values if is_time(name)]


def test_the_committed_baselines_are_small() -> None:
    """They grow with every experiment, but cloning the repository must stay quick."""
    assert sum(path.stat().st_size for path in BASELINES.glob("**/*")) < 11_000_000


def test_every_number_of_the_baselines_is_declared_by_its_task(committed: dict[str, ExperimentNumbers]) -> None:
    for numbers in committed.values():
        for cell in numbers.cells.values():
            for name in cell.values:
                if not name.startswith((CHOSEN, DIAGNOSTIC)):
                    metric = name.removeprefix(EXPECTED)  # the expectation of a metric is as good as declared
                    assert metrics_of_tasks()(cell.task, metric) is not None, (numbers.experiment, cell.task, name)


def test_what_releases_choose_and_what_figures_show_is_guarded(committed: dict[str, ExperimentNumbers]) -> None:
    cells = [cell for numbers in committed.values() for cell in numbers.cells.values()]
    assert sum(any(name.startswith(CHOSEN) for name in cell.values) for cell in cells) > 1000
    assert any(cell.words for cell in cells)
    assert sum("pair_variance" in cell.values for cell in cells) > 1000
    assert all(numbers.figure is not None and numbers.figure.rows for numbers in committed.values())


def test_what_tasks_call_noiseless_is(committed: dict[str, ExperimentNumbers]) -> None:
    """In the committed numbers: the same in every trial; and an experiment of one trial has nothing else to be held by."""
    seen = set()
    for numbers in committed.values():
        for cell in numbers.cells.values():
            for name, values in cell.values.items():
                found = metric_of(metrics_of_tasks(), cell.task, name)
                if found.noiseless:
                    assert np.ptp(values) == 0, (numbers.experiment, name)
                    seen.add(cell.task)
                elif not name.startswith((CHOSEN, DIAGNOSTIC)):
                    assert len(values) != 1, (numbers.experiment, name)
    assert seen == {name for name, cls in TASKS.items() if any(metric.noiseless for metric in cls.metrics)}


def test_files_read_back(tmp_path: Path) -> None:
    old = suite(0)
    body = old["x/fig"].cells["k0"]
    odd = {
        "odd": [float("nan")] * 6,
        "large": [1e300, -2.5e-17, 3, float("inf"), 0, 1],
        "chosen.scale": [2.5] * 6,
        "pair_variance": [1.0, 2.0, 3.0],
    }
    words = {"diagnostic.top_1": ["Café", 'a "b"', "c", "d, e", "f", "g"], "diagnostic.all": ["same"] * 6}
    cells = dict(old["x/fig"].cells) | {"k0": replace(body, values=dict(body.values) | odd, words=words)}
    figure = FigureNumbers(["dataset", "mae"], [["a, b", "1.5"], ["ö\n", ""]])
    old["x/fig"] = replace(old["x/fig"], cells=cells, data={"d": "f00"}, figure=figure)
    path = baselines.save(tmp_path, old["x/fig"])
    assert path == tmp_path / "x" / "fig.json"
    assert '"chosen.scale": 2.5' in path.read_text(), "one number stands for all trials"
    read = baselines.load(tmp_path)
    assert compare(old, read, declared, same_seed=True).moved == set()
    assert (read["x/fig"].data, read["x/fig"].figure) == ({"d": "f00"}, figure)
    assert read["x/fig"].cells["k0"].words == words
    again = baselines.save(tmp_path / "again", read["x/fig"])
    assert again.read_text() == path.read_text()
    assert again.with_suffix(".csv").read_bytes() == path.with_suffix(".csv").read_bytes()
    path.with_suffix(".csv").write_text("dataset,mae\n1\n")
    with pytest.raises(UserError, match=r"fig\.csv is not a baseline .*expected 2 columns"):
        baselines.load(tmp_path)
    path.write_text(path.read_text()[:200])
    with pytest.raises(UserError, match=r"fig\.json is not a baseline .*check x/fig --update"):
        baselines.load(tmp_path)
    assert baselines.forget(tmp_path, set()) == ["again/x/fig", "x/fig"]
    assert not list(tmp_path.glob("**/*.csv"))


def test_figures_are_made_of_the_trials_of_the_baselines(committed: dict[str, ExperimentNumbers]) -> None:
    """The stored trials, with fewer digits than those that were measured, give the stored numbers again. Scripts of cross also
    need the run."""
    for name, body in committed.items():
        if name.startswith("cross/"):
            continue
        again = {name: replace(body, figure=figure_numbers(body))}
        found = compare({name: body}, again, metrics_of_tasks(), same_seed=True)
        assert (name, found.moved, found.compared > len(body.cells)) == (name, set(), True)


def test_an_own_experiment_needs_no_script() -> None:
    labels = {"dataset": "d", "mechanism": "m", "epsilon": 1, "task": "t"}
    cell = CellNumbers(labels, "t", {"mae": [1.0, 3.0], "pair_variance": [2.0]})
    figure = figure_numbers(ExperimentNumbers("mine/none", {"k": cell}, trials=2))
    assert figure is not None
    row = dict(zip(figure.columns, figure.rows[0], strict=True))
    assert (row["mae"], row["variance"], row["seconds"]) == ("2", "2", "1")


def test_the_baselines_end_lines_as_git_does() -> None:
    """A file that git changes on another system would differ from what `--update` writes."""
    shown = subprocess.run(["git", "ls-files", "--eol", "results/baselines"], cwd=ROOT, capture_output=True, text=True)
    if shown.returncode:
        pytest.skip("not a git checkout")
    assert "w/crlf" not in shown.stdout
