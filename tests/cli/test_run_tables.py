"""What `run` prints of a plan."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import pytest
from rich.console import Console

from dpbench.cli.run import _print_next, print_changes
from dpbench.cli.run_plan import print_plan
from dpbench.cli.run_tables import print_results
from dpbench.config.compose import compose
from dpbench.engine.execute import Result
from dpbench.engine.plan import make_plan
from dpbench.model.trial import Failure
from dpbench.storage.store import Store

from support import runs
from support.stores import rows


def test_a_trial_that_runs_again_beside_its_partner_is_done(tmp_path: Path) -> None:
    """Trial 1 is stored, and its partner 0 is not: both will run, and only one of the four trials is done."""
    words = {"dataset": ["trajectory"], "mechanism": ["lpa"], "epsilon": 1, "trials": 4, "results": tmp_path}
    plan = make_plan(compose(scale="smoke", overrides=words))
    (setting,) = plan.run.settings
    store = Store(tmp_path)
    store.write(setting.id, rows([1]), "{}")
    printed = io.StringIO()
    print_plan(Console(file=printed, width=150), plan, store)
    assert "1 settings, 4 trials, 1 done already" in printed.getvalue()
    (row,) = [line for line in printed.getvalue().splitlines() if "column_counts" in line]
    assert [cell.strip() for cell in row.strip("│ ").split("│")][-2:] == ["4", "1"]


def test_what_to_install_for_mlflows_page_is_printed_as_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Square brackets are markup to rich, which would swallow the name of the extra."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    words = {"dataset": ["trajectory"], "mechanism": ["lpa"], "epsilon": 1, "trials": 2}
    plan = make_plan(compose(scale="smoke", overrides=words))
    _print_next(Console(width=200), Result(plan))
    assert "Browse the results: pip install 'dpbench-repro[ui]' && python -m mlflow ui" in capsys.readouterr().out


@pytest.mark.parametrize("width", [30, 50, 60, 70, 76, 80, 100, 150])
@pytest.mark.parametrize("fails", [False, True])
def test_names_and_numbers_are_whole_at_any_width(width: int, fails: bool, tmp_path: Path) -> None:
    words = {
        "dataset": ["trajectory"],
        "mechanism": ["clipped_laplace"],
        "epsilon": "ln2",
        "trials": 4,
        "results": tmp_path,
    }
    plan = make_plan(compose(scale="smoke", overrides=words))
    (setting,) = plan.run.settings
    store = Store(tmp_path)
    store.write(setting.id, rows([0, 1, 2]), "{}")
    printed = io.StringIO()
    failures = {setting.id: [Failure(3, "it did not go as it should have gone")]} if fails else {}
    print_results(Console(file=printed, width=width), plan.run, failures)
    text = printed.getvalue()
    assert all(len(line) <= max(width, 40) for line in text.splitlines()), text
    for whole in ("trajectory", "0.6931", " ± "):
        assert whole in text
    joined = "".join(line.split("│")[2].strip() if "│" in line else line for line in text.splitlines())
    assert "clipped_laplace" in joined


@pytest.mark.parametrize("original", [False, True])
def test_a_run_on_original_files_replaces_no_other(original: bool) -> None:
    """It is kept beside the run on generated data, so nothing has to be run again to see that one."""
    printed = io.StringIO()
    run = runs.run("gs/fig9", [runs.dataset("netflix", original=original)], changes=("trials per setting: 2",))
    print_changes(Console(file=printed, width=150), run)
    assert "Not gs/fig9 as defined (trials per setting: 2)" in printed.getvalue()
    assert ("show this run until" in printed.getvalue()) is not original
