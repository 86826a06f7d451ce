"""Results to MLflow: one entry per setting, with the mean, the standard error and the number of trials of every metric.

Made from the store by the parent process only, at any time. An entry that is there already is brought up to date, never
logged twice. Every call has a time limit: a tracking server can neither delay nor end a run. Imports the frame; the verbs
`run` and `track` import it. mlflow itself takes two seconds to import: only here.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.errors import UserError
from dpbench.results.frame import CHOSEN, DIAGNOSTIC, METRIC, SECONDS, SETTING, summarise, trials
from dpbench.results.run import Run, Setting

if TYPE_CHECKING:
    import pandas as pd

SETTING_TAG, TRIALS_TAG, FIGURE_TAG = "dpbench.setting", "dpbench.trials", "dpbench.figure"
BATCH = 900  # what one log_batch may carry, with some room
PATIENCE, EACH = 30.0, 0.2  # seconds for the connection, and for each setting, before MLflow is given up


class TrackerDown(Exception):
    """The tracking server or file cannot be used now; the store still has everything."""


def default_uri(results: Path) -> str:
    return f"sqlite:///{(results / 'mlflow.db').resolve()}"


def track(run: Run, uri: str | None, figures: Iterable[Path] = ()) -> int:
    """Log every setting of a run that MLflow does not have with as many trials. Returns how many were logged.

    `figures`: files that are kept with the run, as artifacts of an entry of their own.
    """
    frame = trials(run)
    if frame.empty:
        return 0
    job = _Job(run, frame, uri or default_uri(run.results), list(figures))
    thread = threading.Thread(target=job.work, daemon=True)
    thread.start()
    thread.join(PATIENCE + EACH * len(run.settings))
    if thread.is_alive():
        job.stop = True
        raise TrackerDown(f"{job.uri} did not take them in time; {job.logged} settings are logged")
    if job.error is not None:
        if isinstance(job.error, UserError):
            raise job.error
        text = " ".join(str(job.error).split())[:300]
        raise TrackerDown(f"{type(job.error).__name__}: {text}") from job.error
    return job.logged


@dataclass
class _Job:
    """The logging of one run, in a thread of its own."""

    run: Run
    frame: pd.DataFrame
    uri: str
    figures: list[Path]
    logged: int = 0
    stop: bool = False
    error: Exception | None = None

    def work(self) -> None:
        try:
            self._log()
        except Exception as error:  # mlflow raises its own, SQLAlchemy's, requests' and urllib3's
            self.error = error

    def _log(self) -> None:
        client = _client(self.uri)
        experiment = self._experiment(client)
        entries = _entries(client, experiment)
        table = summarise(self.frame, [SETTING]).set_index(SETTING)
        told = _means(self.frame)
        for setting in {setting.id: setting for setting in self.run.settings}.values():
            if self.stop:
                return
            if setting.id not in table.index:
                continue
            row = table.loc[setting.id]
            entry, count = entries.get(setting.id, ("", 0))
            if count < int(row["trials"]):
                numbers = {**row.dropna().to_dict(), **told.loc[setting.id].dropna().to_dict()}
                self._log_setting(client, experiment, entry, setting, numbers)
                self.logged += 1
        if self.logged and self.figures:
            self._log_figures(client, experiment, entries.get(FIGURE_TAG, ("", 0))[0])

    def _experiment(self, client: Any) -> str:
        files = "".join(f", {name} from files" for name in self.run.original_datasets)
        name = f"{self.run.name} ({self.run.scale}{files})"
        found = client.get_experiment_by_name(name)
        if found:
            return str(found.experiment_id)
        local = self.uri.startswith("sqlite:")
        place = (self.run.results / "mlartifacts").resolve().as_uri() if local else None
        return str(client.create_experiment(name, artifact_location=place))

    def _log_setting(
        self, client: Any, experiment: str, entry: str, setting: Setting, numbers: dict[str, float]
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        now = int(time.time() * 1000)
        count = int(numbers["trials"])
        tags = self._tags(setting)
        params: list[Any] = []
        if not entry:
            entry = client.create_run(experiment, run_name=str(setting), tags=tags).info.run_id
            params = [Param(key, str(value)[:6000]) for key, value in setting.labels().items()][:100]
        metrics = [Metric(_metric_name(name), float(value), now, count) for name, value in numbers.items()]
        for batch in _batches(metrics):
            client.log_batch(entry, metrics=batch, params=params)
            params = []
        # The closing tag last: an entry that was cut off has none, and is completed the next time.
        closing = [RunTag(key, value) for key, value in {**tags, TRIALS_TAG: str(count)}.items()]
        client.log_batch(entry, tags=closing)
        client.set_terminated(entry)

    def _tags(self, setting: Setting) -> dict[str, str]:
        run = self.run
        return {
            SETTING_TAG: setting.id,
            "dpbench.scale": run.scale,
            "dpbench.seed": str(run.seed),
            "dpbench.commit": run.environment.commit or run.environment.versions.get("dpbench-repro", ""),
            "dpbench.data": setting.dataset.origin,
            "dpbench.guarantee": setting.guarantee,
            "dpbench.private": "yes" if setting.private else f"no: {setting.caveat}"[:5000],
        }

    def _log_figures(self, client: Any, experiment: str, entry: str) -> None:
        if not entry:
            tags = {FIGURE_TAG: "yes", "dpbench.scale": self.run.scale}
            entry = client.create_run(experiment, run_name=f"figure of {self.run.name}", tags=tags).info.run_id
        for path in self.figures:
            client.log_artifact(entry, str(path))
        client.set_terminated(entry)


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


def _entries(client: Any, experiment: str) -> dict[str, tuple[str, int]]:
    """The entries that are there: by setting, the entry's id and its number of trials (0: it was cut off)."""
    found: dict[str, tuple[str, int]] = {}
    token = None
    while True:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        for entry in page:
            tags = entry.data.tags
            if FIGURE_TAG in tags:
                found[FIGURE_TAG] = (entry.info.run_id, 0)
            if SETTING_TAG in tags:
                found[tags[SETTING_TAG]] = (entry.info.run_id, int(tags.get(TRIALS_TAG, 0)))
        token = page.token
        if not token:
            return found


def _means(frame: pd.DataFrame) -> pd.DataFrame:
    """The mean time and the means of the numbers that releases chose or told, by setting."""
    columns = [c for c in frame.columns if c == SECONDS or c.startswith((CHOSEN, DIAGNOSTIC))]
    numbers = frame[columns].select_dtypes("number").columns
    return frame.groupby(SETTING, sort=False)[list(numbers)].mean()


def _metric_name(name: str) -> str:
    """MLflow takes letters, digits and a few signs."""
    return "".join(c if c.isalnum() or c in "_-. /" else "_" for c in name.removeprefix(METRIC))


def _batches(metrics: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(metrics), BATCH):
        yield metrics[start : start + BATCH]
