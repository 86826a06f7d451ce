"""The history of `check` over commits: what is stored, and what replaces what."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

from dpbench.cli.check import main
from dpbench.errors import UserError
from dpbench.gate import history
from dpbench.gate.baselines import CellNumbers, ExperimentNumbers
from dpbench.gate.history import FILE, SPEED, HistoryPoint
from dpbench.gate.speed import ReleaseTime


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    commit("first")
    return tmp_path


def commit(text: str) -> None:
    Path("file").write_text(text)
    subprocess.run(["git", "add", "file"], check=True)
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    subprocess.run(["git", *who, "commit", "-q", "-m", text], check=True)


def numbers(scale: float = 1.0) -> list[ExperimentNumbers]:
    labels = {"mechanism": "noisy", "task": "t"}
    cells = {
        "a": CellNumbers(labels, "t", {"mae": [scale, 3 * scale]}),
        "b": CellNumbers(labels, "t", {"mae": [8 * scale]}),
    }
    return [ExperimentNumbers("mine/sweep", cells)]


def test_a_line_per_commit(repository: Path) -> None:
    """The geometric mean of the means 2 and 8 is 4. The same commit again replaces its line, also what was not committed."""
    path = repository / FILE
    Path("file").write_text("changed")
    (uncommitted,) = history.add(path, history.points(numbers(7), {}))
    assert uncommitted.commit.endswith("+")
    Path("file").write_text("first")
    (first,) = history.add(path, history.points(numbers(), {}))
    assert (first.value, first.metric, "+" in first.commit) == (4.0, "mae", False)
    commit("second")
    time = ReleaseTime("noisy on small", 2.5, 2.0, 3.0)
    whole = history.add(path, history.points(numbers(2), {("mine/sweep", "noisy"): time}))
    assert [(point.metric, point.value) for point in whole] == [("mae", 4.0), ("mae", 8.0), (SPEED, 2.5)]
    assert history.read(path) == whole
    assert len(path.read_text().splitlines()) == 4


def test_outside_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UserError, match="--history needs a git repository"):
        list(history.points(numbers(), {}))
    with pytest.raises(UserError, match="--history needs a git repository"):  # before anything is measured
        main(["--history"])


def test_the_trend() -> None:
    """Lines begin at 1, and the panel that moved most comes first."""
    values = {"calm": (1.0, 1.01), "wild": (2.0, 6.0)}
    whole = [
        HistoryPoint(f"c{at}", f"2026-01-0{at + 1}", name, "lpa", "mae", value)
        for name, pair in values.items()
        for at, value in enumerate(pair)
    ]
    figure = history.trend(whole)
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == ["wild: mae", "calm: mae"]
    (line,) = figure.axes[0].get_lines()
    assert math.isclose(float(line.get_ydata()[1]), 3.0)
    assert line.get_ydata()[0] == 1.0


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("head\nodd line\n")
    with pytest.raises(UserError, match="restore it from git"):
        history.read(tmp_path / FILE)
