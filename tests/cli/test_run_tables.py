"""What `run` prints of a plan."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from dpbench.cli.run_tables import print_plan
from dpbench.config.compose import compose
from dpbench.engine.plan import make_plan
from dpbench.results.store import Store

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
