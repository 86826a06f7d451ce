"""Generated data and original files in one figure: which runs stand beside which, and under which names."""

from __future__ import annotations

import pandas as pd
import pytest

from dpbench.figures import original_files, records, style
from dpbench.model.run import Run

from support import runs


def frame(*datasets: str) -> pd.DataFrame:
    return pd.DataFrame({"dataset": datasets, "mechanism": "sra", "mechanism.l": 30.0, "metric.mse": 1.0})


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> dict[str, Run]:
    """A run on generated data; one on files; one on files with other parameters; and one of another experiment."""
    names = ("movielens", "gowalla")
    generated = runs.run("analytics/fig7", [runs.dataset(name) for name in names])
    files = [runs.dataset("movielens", original=True), runs.dataset("gowalla")]
    found = {
        "generated": generated,
        "files": runs.run("analytics/fig7", files, repetitions=7),
        "changed": runs.run("analytics/fig7", files, altered=("sra: l = 5 instead of 30",)),
        "other": runs.run("analytics/fig9", files),
    }
    monkeypatch.setattr(Run, "each", classmethod(lambda cls, results, scale=None: found))
    monkeypatch.setattr(original_files.frame, "trials", lambda run: frame("movielens", "gowalla"))
    return found


def test_files_stand_behind_the_generated_data(stored: dict[str, Run]) -> None:
    trials, told = original_files.with_files(stored["generated"], frame("movielens", "gowalla"))
    assert trials["dataset"].tolist() == ["movielens", "gowalla", "movielens (files)"]
    assert told == ["movielens (files): original files, 7 trials per setting"]


def test_a_run_on_files_stands_alone(stored: dict[str, Run]) -> None:
    trials, told = original_files.with_files(stored["files"], frame("movielens", "gowalla"))
    assert len(trials) == 2
    assert told == []


def test_files_have_the_name_and_the_l_of_their_dataset() -> None:
    assert style.name("movielens (files)") == "MovieLens\n(files)"
    assert len(records.paper_settings(frame("movielens (files)", "gowalla"))) == 1  # l = 30 is MovieLens' alone
