"""Many new entries at a time into an MLflow database file, through MLflow's own table definitions.

The public calls make ten transactions per entry, which costs more than the trials of a quick run. This makes one for
hundreds. If the installed MLflow has other tables, nothing is written and the caller uses the public calls. Imported by
`tracking` only.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LARGEST = 1.7976931348623157e308  # what MLflow stores for infinity
TABLES = ("SqlRun", "SqlTag", "SqlParam", "SqlMetric", "SqlLatestMetric")
BATCH = 200  # entries in one transaction


@dataclass(frozen=True)
class NewEntry:
    """An entry that MLflow does not have yet."""

    name: str
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    step: int


def can_log(client: Any) -> bool:
    """Whether the client writes to a database of this machine whose tables are the known ones."""
    try:
        from mlflow.store.tracking.dbmodels import models

        store = client._tracking_client.store
        return store.engine.dialect.name == "sqlite" and all(hasattr(models, name) for name in TABLES)
    except (ImportError, AttributeError):
        return False


def log_new(client: Any, experiment: str, entries: Sequence[NewEntry]) -> bool:
    """Write the entries, all or none. False if the tables do not fit."""
    from mlflow.store.tracking.dbmodels import models
    from sqlalchemy import insert
    from sqlalchemy.exc import SQLAlchemyError

    place = client.get_experiment(experiment).artifact_location
    now = int(time.time() * 1000)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for entry in entries:
        run = uuid.uuid4().hex
        rows["SqlRun"].append(_run(run, entry, experiment, place, now))
        tags = {**entry.tags, "mlflow.runName": entry.name}
        rows["SqlTag"] += [{"run_uuid": run, "key": key, "value": value} for key, value in tags.items()]
        rows["SqlParam"] += [{"run_uuid": run, "key": key, "value": value} for key, value in entry.params.items()]
        metrics = [_metric(run, key, value, entry.step, now) for key, value in entry.metrics.items()]
        rows["SqlMetric"] += metrics
        rows["SqlLatestMetric"] += metrics
    try:
        with client._tracking_client.store.engine.begin() as connection:
            for name, mine in rows.items():
                if mine:
                    connection.execute(insert(getattr(models, name).__table__), mine)
    except SQLAlchemyError:
        return False
    return True


def _run(run: str, entry: NewEntry, experiment: str, place: str, now: int) -> dict[str, Any]:
    return {
        "run_uuid": run,
        "name": entry.name,
        "source_type": "UNKNOWN",
        "source_name": "",
        "entry_point_name": "",
        "user_id": "unknown",
        "status": "FINISHED",
        "start_time": now,
        "end_time": now,
        "deleted_time": None,
        "source_version": "",
        "lifecycle_stage": "active",
        "artifact_uri": f"{place}/{run}/artifacts",
        "experiment_id": int(experiment),
    }


def _metric(run: str, key: str, value: float, step: int, now: int) -> dict[str, Any]:
    stored = 0.0 if math.isnan(value) else max(-LARGEST, min(LARGEST, value))
    return {"run_uuid": run, "key": key, "value": stored, "timestamp": now, "step": step, "is_nan": math.isnan(value)}
