"""Results in MLflow: one entry per setting, with the mean, the standard error and the number of trials of every metric.

Written from the store by the parent process only, at any time. An existing entry is updated, never logged twice. Every call
has a time limit: a tracking server can neither delay nor end a run. Imports the frame; imported by the verbs `run` and
`track`. mlflow takes two seconds to import, so it is imported only here.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from dpbench.errors import Failed, UserError
from dpbench.results import tracking_bulk as bulk
from dpbench.results.folder import inside, is_inside
from dpbench.results.frame import CHOSEN, DATA_SEED, DIAGNOSTIC, METRIC, SECONDS, SETTING, summarise, trials
from dpbench.results.run import Run, Setting
from dpbench.results.tracking_new import copy_empty

if TYPE_CHECKING:
    import pandas as pd

SETTING_TAG, TRIALS_TAG, FIGURE_TAG = "dpbench.setting", "dpbench.trials", "dpbench.figure"
BATCH = 900  # size of one log_batch, below MLflow's limit
PATIENCE, EACH = 30.0, 0.2  # seconds for the connection, and for each setting, before MLflow is given up


class TrackerDown(Exception):
    """The tracking server or file cannot be used now; the store still has everything."""


def default_uri(results: Path) -> str:
    return f"sqlite:///{inside(results, results / 'mlflow.db').absolute()}"


def track(run: Run, uri: str | None, figures: Iterable[Path] = ()) -> int:
    """Log every setting of a run that MLflow does not have with this many trials. Returns how many were logged.

    `figures`: files stored with the run, as artifacts of a separate entry.
    """
    frame = trials(run)
    if frame.empty:
        return 0
    patience = PATIENCE + EACH * len(run.settings)
    try:
        job = _Job(run, frame, uri or default_uri(run.results), list(figures), patience)
    except Failed as problem:
        raise TrackerDown(str(problem)) from None
    thread = threading.Thread(target=job.work, daemon=True)
    thread.start()
    thread.join(patience)
    if thread.is_alive():
        job.stop = True
        text = f"{job.uri} did not accept them within {patience:.0f} s"
        raise TrackerDown(f"{text}; {job.logged} settings are logged" if job.logged else text)
    if job.error is not None:
        if isinstance(job.error, UserError | TrackerDown):
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
    patience: float
    logged: int = 0
    stop: bool = False
    error: Exception | None = None

    def work(self) -> None:
        try:
            self._log()
        except Exception as error:  # mlflow raises its own, SQLAlchemy's, requests' and urllib3's
            self.error = error

    def _log(self) -> None:
        with _only_one(self.run.results, self.patience):
            if self.uri == default_uri(self.run.results):
                _load()
                copy_empty(self.run.results / "mlflow.db", self._artifacts())
            self._log_all(_client(self.uri))

    def _log_all(self, client: Any) -> None:
        experiment = self._experiment(client)
        entries = _entries(client, experiment)
        table = summarise(self.frame, [SETTING]).set_index(SETTING)
        rows = table.join(_means(self.frame)).to_dict("index")
        waiting: list[tuple[Entry, Setting, dict[str, float]]] = []
        for setting in {setting.id: setting for setting in self.run.settings}.values():
            entry = entries.get(setting.id, Entry())
            if setting.id in rows and entry.trials < int(rows[setting.id]["trials"]):
                numbers = {key: float(value) for key, value in rows[setting.id].items() if value == value}
                waiting.append((entry, setting, numbers))
        self._log_settings(client, experiment, waiting)
        if self.stop:
            return
        drawn = entries.get(FIGURE_TAG, Entry())
        if self.figures and (self.logged or not drawn.trials):
            self._log_figures(client, experiment, drawn.id)

    def _log_settings(
        self, client: Any, experiment: str, waiting: list[tuple[Entry, Setting, dict[str, float]]]
    ) -> None:
        """New entries many at a time if possible; the others one by one."""
        new = [(setting, numbers) for entry, setting, numbers in waiting if not entry.id]
        quick = bulk.can_log(client)
        for start in range(0, len(new) if quick else 0, bulk.BATCH):
            if self.stop:
                return
            batch = [self._new(setting, numbers) for setting, numbers in new[start : start + bulk.BATCH]]
            if not bulk.log_new(client, experiment, batch):
                break
            self.logged += len(batch)
        for entry, setting, numbers in [(Entry(), *one) for one in new[self.logged :]] + [
            w for w in waiting if w[0].id
        ]:
            if self.stop:
                return
            self._log_setting(client, experiment, entry, setting, numbers)
            self.logged += 1

    def _new(self, setting: Setting, numbers: dict[str, float]) -> bulk.NewEntry:
        count = int(numbers["trials"])
        return bulk.NewEntry(
            name=str(setting)[:250],
            tags={**self._tags(setting), TRIALS_TAG: str(count)},
            params=_params(setting),
            metrics={_metric_name(key): value for key, value in numbers.items()},
            step=count,
        )

    def _experiment(self, client: Any) -> str:
        files = "".join(f", {name} from files" for name in self.run.original_datasets)
        name = f"{self.run.name} ({self.run.scale}{files})"
        found = client.get_experiment_by_name(name)
        if found:
            return str(found.experiment_id)
        place = self._artifacts() if self.uri.startswith("sqlite:") else None
        return str(client.create_experiment(name, artifact_location=place))

    def _log_setting(
        self, client: Any, experiment: str, entry: Entry, setting: Setting, numbers: dict[str, float]
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        now = int(time.time() * 1000)
        count = int(numbers["trials"])
        tags = self._tags(setting)
        # Parameters cannot change; an incomplete entry may lack them.
        params = [] if entry.trials else [Param(key, value) for key, value in _params(setting).items()]
        name = entry.id or client.create_run(experiment, run_name=str(setting)[:250], tags=tags).info.run_id
        metrics = [Metric(_metric_name(key), float(value), now, count) for key, value in numbers.items()]
        *before, last = _batches(metrics)
        for batch in before:
            client.log_batch(name, metrics=batch)
        # The number of trials goes with the last batch, which stores its tags at the end: an incomplete entry has none, and
        # is completed the next time.
        closing = {**(tags if entry.id else {}), TRIALS_TAG: str(count)}
        client.log_batch(name, metrics=last, params=params, tags=[RunTag(*tag) for tag in closing.items()])
        client.set_terminated(name)

    def _tags(self, setting: Setting) -> dict[str, str]:
        run = self.run
        return {
            SETTING_TAG: setting.id,
            "dpbench.scale": run.scale,
            "dpbench.seed": str(run.seed),
            "dpbench.commit": run.environment.commit or run.environment.versions.get("dpbench-repro", ""),
            "dpbench.data": setting.dataset.origin,
            "dpbench.guarantee": setting.guarantee,
            "dpbench.noise": setting.noise,
            "dpbench.private": "yes" if setting.private else f"no: {setting.caveat}"[:5000],
        }

    def _log_figures(self, client: Any, experiment: str, entry: str) -> None:
        if not entry:
            tags = {FIGURE_TAG: "begun", "dpbench.scale": self.run.scale}
            entry = client.create_run(experiment, run_name=f"figure of {self.run.name}", tags=tags).info.run_id
        place = client.get_run(entry).info.artifact_uri
        if self.uri == default_uri(self.run.results) and not self._is_own(place):
            # The database was moved, or is somebody else's: its path may point anywhere.
            raise TrackerDown(
                f"the settings are logged, the figure is not: {self.uri} keeps files elsewhere, in {place}"
            )
        for path in self.figures:
            client.log_artifact(entry, str(path))
        client.set_tag(entry, FIGURE_TAG, "yes")
        client.set_terminated(entry)

    def _is_own(self, place: str) -> bool:
        """Whether a path is inside our folder: dots and links in somebody else's database may lead anywhere."""
        below = place.startswith(self._artifacts() + "/")
        return below and is_inside(self.run.results.resolve(), Path(url2pathname(urlsplit(place).path)))

    def _artifacts(self) -> str:
        """Where the results folder's own database keeps files."""
        return inside(self.run.results, self.run.results / "mlartifacts").resolve().as_uri()


def _client(uri: str) -> Any:
    _load()
    if uri.startswith("sqlite:///"):
        Path(uri.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=uri)


def _load() -> None:
    """Import MLflow without telemetry, retries for minutes, or messages about migrations."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sqlalchemy import event
        from sqlalchemy.engine import Engine
    if not event.contains(Engine, "connect", _in_no_hurry):
        event.listen(Engine, "connect", _in_no_hurry)
    for noisy in ("mlflow", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _in_no_hurry(connection: Any, _: Any) -> None:
    """Let the system decide when SQLite writes to the disk: otherwise ten transactions per setting would each wait for it.

    A killed process loses nothing, and after a power cut the entries can be made again from the store.
    """
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous=OFF")


@dataclass(frozen=True)
class Entry:
    """An entry of MLflow: its id, and its number of trials (0: there is none, or it is incomplete)."""

    id: str = ""
    trials: int = 0


def _entries(client: Any, experiment: str) -> dict[str, Entry]:
    """The existing entries, by setting."""
    found: dict[str, Entry] = {}
    token = None
    while True:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        for entry in page:
            tags = entry.data.tags
            if FIGURE_TAG in tags:
                found[FIGURE_TAG] = Entry(entry.info.run_id, int(tags[FIGURE_TAG] == "yes"))
            if SETTING_TAG in tags:
                told = tags.get(TRIALS_TAG, "")
                found[tags[SETTING_TAG]] = Entry(entry.info.run_id, int(told) if told.isdecimal() else 0)
        token = page.token
        if not token:
            return found


@contextmanager
def _only_one(results: Path, patience: float) -> Iterator[None]:
    """Only one process at a time logs from a results folder: two would make duplicate entries and damage a new database."""
    import fcntl

    until = time.monotonic() + patience
    with ExitStack() as stack:
        with suppress(OSError):  # a read-only folder: no other process logs from it either
            lock = stack.enter_context(inside(results, results / "mlflow.lock").open("wb"))
            while not _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
                if time.monotonic() > until:
                    raise TrackerDown("another process is logging from this folder")
                time.sleep(0.1)
        yield


def _locked(lock: IO[bytes], how: int) -> bool:
    import fcntl

    try:
        fcntl.flock(lock, how)
    except BlockingIOError:
        return False
    return True


def _means(frame: pd.DataFrame) -> pd.DataFrame:
    """The mean time and the means of chosen parameters and diagnostics, by setting."""
    columns = [c for c in frame.columns if c == SECONDS or c.startswith((CHOSEN, DIAGNOSTIC))]
    numbers = frame[columns].select_dtypes("number").columns
    return frame.groupby(SETTING, sort=False)[list(numbers)].mean()


def _params(setting: Setting) -> dict[str, str]:
    """Parameters within MLflow's limits of number and length."""
    labels = {DATA_SEED: setting.dataset.seed, **setting.labels()}
    return {key: str(value)[:6000] for key, value in [*labels.items()][:100]}


def _metric_name(name: str) -> str:
    """A name that MLflow accepts: letters, digits and a few signs."""
    return "".join(c if c.isalnum() or c in "_-. /" else "_" for c in name.removeprefix(METRIC))


def _batches(metrics: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(metrics), BATCH):
        yield metrics[start : start + BATCH]
