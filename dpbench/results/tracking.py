"""Trials to MLflow: one run a cell, trials as steps. Made from the store, by the parent process only, at any time.

Imports the frame; the verbs `run` and `track` import it. mlflow itself takes two seconds to import: only here.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.errors import UserError
from dpbench.results.frame import load_trials, metric_names

if TYPE_CHECKING:
    import pandas as pd

CELL_TAG, TRIALS_TAG = "dpbench.cell", "dpbench.trials"
BATCH = 1000  # what one log_batch may carry


class TrackerDown(Exception):
    """The tracking server or file cannot be used now; the store still has everything."""


def default_uri(results: Path) -> str:
    return f"sqlite:///{(results / 'mlflow.db').resolve()}"


def track(results: Path, manifest: dict[str, Any], uri: str | None, advance: Callable[[], None] = lambda: None) -> int:
    """Log every cell of a plan that MLflow does not have with as many trials. Returns how many were logged."""
    frame = load_trials(results, manifest)
    if frame.empty:
        return 0
    try:
        return _log(frame, manifest, uri or default_uri(results), advance)
    except UserError:
        raise
    except Exception as error:  # mlflow raises its own, SQLAlchemy's, requests' and urllib3's
        raise TrackerDown(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}") from error


def _log(frame: pd.DataFrame, manifest: dict[str, Any], uri: str, advance: Callable[[], None]) -> int:
    client = _client(uri)
    name = f"{manifest['experiment']} ({manifest['scale']})"
    found = client.get_experiment_by_name(name)
    experiment = found.experiment_id if found else client.create_experiment(name)
    logged = _logged(client, experiment)
    count = 0
    for cell in manifest["cells"]:
        rows = frame[frame["cell"] == cell["id"]]
        if len(rows) and logged.get(cell["id"], 0) < len(rows):
            _log_cell(client, experiment, cell, rows)
            count += 1
        advance()
    return count


def _client(uri: str) -> Any:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    if uri.startswith("sqlite:///"):
        Path(uri.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.tracking import MlflowClient
    for noisy in ("mlflow", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return MlflowClient(tracking_uri=uri)


def _logged(client: Any, experiment: str) -> dict[str, int]:
    """Cells that are logged already, with their number of trials."""
    logged: dict[str, int] = {}
    token = None
    while True:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        for run in page:
            tags = run.data.tags
            # A run that was cut off while it was being logged has no closing tag and does not count.
            if CELL_TAG in tags and TRIALS_TAG in tags:
                logged[tags[CELL_TAG]] = max(logged.get(tags[CELL_TAG], 0), int(tags[TRIALS_TAG]))
        token = page.token
        if not token:
            return logged


def _log_cell(client: Any, experiment: str, cell: dict[str, Any], rows: pd.DataFrame) -> None:
    from mlflow.entities import Metric, Param

    labels = cell["labels"]
    title = f"{labels['mechanism']} on {labels['dataset']}, ε={labels['epsilon']:.4g}"
    now = int(time.time() * 1000)
    run = client.create_run(experiment, run_name=title, tags={CELL_TAG: cell["id"]})
    names = [*metric_names(rows), "seconds", *(c for c in rows.columns if c.startswith(("chosen.", "diagnostic.")))]
    numeric = rows[["trial", *names]].select_dtypes("number").dropna(axis=1, how="all")
    values = [
        Metric(name, float(value), now, int(trial))
        for name in numeric.columns
        if name != "trial"
        for trial, value in zip(numeric["trial"], numeric[name], strict=True)
        if value == value
    ]
    params = [Param(key, str(value)[:6000]) for key, value in labels.items()]
    client.log_batch(run.info.run_id, params=params[:100])
    for start in range(0, len(values), BATCH):
        client.log_batch(run.info.run_id, metrics=values[start : start + BATCH])
    client.set_tag(run.info.run_id, TRIALS_TAG, str(len(rows)))
    with contextlib.suppress(Exception):
        client.set_terminated(run.info.run_id)
