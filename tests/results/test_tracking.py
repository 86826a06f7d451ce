"""MLflow: one run a cell, trials as steps; a tracker that is down costs a warning; `track` logs what is missing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

Call = Callable[..., "subprocess.CompletedProcess[str]"]
QUICK = ("run", "scale=smoke", "dataset=[trajectory]", "mechanism=[lpa,alpa]", "epsilon=[1]", "figure=false")


def test_runs_are_logged_once_and_later_when_the_tracker_was_down(dpbench: Call, tmp_path: Path) -> None:
    from mlflow.tracking import MlflowClient

    down = dpbench(*QUICK, "trials=5", "tracking.uri=http://127.0.0.1:9")
    assert down.returncode == 0
    assert "warning" in down.stderr
    assert "python -m dpbench track" in down.stderr
    assert "gs/fig9: 2 runs logged" in dpbench("track").stdout
    assert "gs/fig9: 0 runs logged" in dpbench("track").stdout

    client = MlflowClient(f"sqlite:///{tmp_path / 'results' / 'mlflow.db'}")
    (experiment,) = [e for e in client.search_experiments() if e.name.startswith("gs/fig9")]
    runs = client.search_runs([experiment.experiment_id])
    assert sorted(r.data.params["mechanism"] for r in runs) == ["alpa", "lpa"]
    history = client.get_metric_history(runs[0].info.run_id, "mae")
    assert [m.step for m in sorted(history, key=lambda m: m.step)] == [0, 1, 2, 3, 4]
    # More trials of the same cells: logged again, whole, because the logged ones are fewer.
    dpbench(*QUICK, "trials=7", "tracking=none")
    assert "gs/fig9: 2 runs logged" in dpbench("track").stdout
