"""Results in MLflow, by its public API: one entry for each run, and below it one for each dataset and mechanism.

Written from the store by the parent process only; imported by the verbs `run` and `track`. A thread does the work, so that a
tracking server can neither delay nor end a run.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePath
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from dpbench.model.run import Dataset, Run
from dpbench.storage import mlflow_client
from dpbench.storage.files import inside, is_inside
from dpbench.storage.frame import CHOSEN, DATA_SEED, DIAGNOSTIC, SECONDS, SETTING, metric_names, summarise, trials
from dpbench.storage.mlflow_client import TrackerDown

if TYPE_CHECKING:
    import pandas as pd

RUN_TAG, TRIALS_TAG, FILES_TAG = "dpbench.run", "dpbench.trials", "dpbench.files"
# Without it, versions of MLflow open the experiment on a view of language models.
KIND_TAG = {"mlflow.experimentKind": "custom_model_development"}
BATCH = 800  # metrics of one log_batch: with 100 parameters below MLflow's limit of 1000
MOST_ENTRIES = 50_000  # that MLflow returns in one answer
PATIENCE = 30.0  # seconds without an answer of MLflow after which the end of a command waits no longer
LOOK = 0.2  # seconds between two checks for an answer
LATER = 2.0  # seconds before MLflow is imported: the first trials of a plan run in this process, and are timed


class Tracker:
    """Logs the runs of one command in a thread, which imports MLflow and makes a new database while the trials run."""

    def __init__(self, uri: str | None, results: Path) -> None:
        """uri: None for the one of MLflow's own variables, or the database in the results folder."""
        self._uri, self._results = uri, results
        self._jobs: list[_Job] = []
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._needed, self._loaded = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Begin before there is anything to log."""
        mlflow_client.set_defaults()  # in this thread: the environment must not change while workers start
        self._thread.start()

    def add(self, run: Run, figures: Iterable[Path] = ()) -> _Job:
        """Log what MLflow does not have of a run, or with fewer trials. figures: files to store with it."""
        job = _Job(run, trials(run), self._uri, list(figures))
        self._jobs.append(job)
        self._queue.put(job)
        self._needed.set()
        return job

    def finish(self) -> list[_Job]:
        """Wait until everything is logged, or MLflow no longer answers. Returns all jobs; those that failed have a problem."""
        self._queue.put(None)
        if all(job.done for job in self._jobs):
            return self._jobs
        if self._thread.ident is None:
            self.start()
        self._loaded.wait()  # importing takes a minute where the machine is busy: that is no silence of MLflow
        asked = time.monotonic()
        while not all(job.done for job in self._jobs):
            self._thread.join(LOOK)
            silence = time.monotonic() - max(asked, *(job.answered for job in self._jobs))
            if silence > PATIENCE or not self._thread.is_alive():
                break
        for job in self._jobs:
            if not job.done:
                job.problem = f"it did not answer, or another process was logging, for {PATIENCE:.0f} s"
        return self._jobs

    def _work(self) -> None:
        self._needed.wait(LATER)
        with suppress(Exception):  # whatever it is, the first run meets it again and reports it
            mlflow_client.load()
        self._loaded.set()
        with suppress(Exception), mlflow_client.only_one(self._results):
            mlflow_client.connect(mlflow_client.full_uri(self._uri, self._results))
        while (job := self._queue.get()) is not None:
            job.work()


def track(run: Run, uri: str | None, figures: Iterable[Path] = ()) -> int:
    """Log one run, and wait for it. Returns the number of settings that were logged: none if MLflow has it already."""
    tracker = Tracker(uri, run.results)
    job = tracker.add(run, figures)
    tracker.finish()
    if job.problem:
        raise TrackerDown(job.problem)
    return job.logged


@dataclass
class _Entry:
    """What MLflow shows as one of its runs: our whole run, or its settings of one dataset and mechanism."""

    name: str
    tags: dict[str, str]
    params: dict[str, str]
    datasets: list[Dataset]
    points: dict[int, dict[str, float]] = field(default_factory=dict)
    """Numbers by step, which is the index of epsilon in the run's grid, and by name."""


@dataclass
class _Job:
    """The logging of one run.

    A metric has one value per step, so entries are not changed: those of fewer trials, or that were cut off, are deleted
    and written anew. The run's own entry is FINISHED only when all others are written.
    """

    run: Run
    frame: pd.DataFrame
    uri: str | None
    figures: list[Path]
    logged: int = 0
    problem: str = ""
    done: bool = False
    answered: float = 0.0
    """When MLflow last answered, by the monotonic clock."""

    def work(self) -> None:
        try:
            if not self.frame.empty:
                with mlflow_client.only_one(self.run.results):
                    self._log(mlflow_client.connect(self._address))
        except TrackerDown as error:
            self.problem = str(error)
        except Exception as error:  # mlflow raises its own, SQLAlchemy's, requests' and urllib3's
            text = " ".join(mlflow_client.without_passwords(str(error)).split())[:300]
            self.problem = f"{type(error).__name__}: {text}"
        self.done = True

    def _log(self, client: Any) -> None:
        run = self.run
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "") if self.uri is None else ""
        name = name or run.experiment or run.name
        if existing := client.get_experiment_by_name(name):
            experiment = existing.experiment_id
            if not {*KIND_TAG} & {*existing.tags}:  # made by the user, or before MLflow had kinds
                client.set_experiment_tag(experiment, *next(iter(KIND_TAG.items())))
        else:
            folder = self._artifacts if self._address.startswith("sqlite:") else None
            experiment = client.create_experiment(name, artifact_location=folder, tags=KIND_TAG)
        key = _digest(run.label, run.scale, run.seed, sorted({setting.id for setting in run.settings}))
        logged = client.search_runs([experiment], f"tags.`{RUN_TAG}` = '{key}'", max_results=MOST_ENTRIES)
        for entry in logged:
            if entry.info.status == "FINISHED" and int(entry.data.tags.get(TRIALS_TAG, 0)) >= len(self.frame):
                self._log_files(client, entry)
                return
        for entry in logged:
            client.delete_run(entry.info.run_id)
            self.answered = time.monotonic()
        children = self._children()
        parent = self._write(client, experiment, self._parent(children), {RUN_TAG: key})
        for child in children:
            tags = {RUN_TAG: key, "mlflow.parentRunId": parent.info.run_id}
            entry = self._write(client, experiment, child, tags)
            client.set_terminated(entry.info.run_id, end_time=self._ended)
            self.logged += len(child.points)
        client.set_terminated(parent.info.run_id, end_time=self._ended)
        self._log_files(client, parent)

    def _children(self) -> list[_Entry]:
        """The settings that have trials, those together that differ in epsilon only."""
        columns = [c for c in self.frame.columns if c == SECONDS or c.startswith((CHOSEN, DIAGNOSTIC))]
        numeric = list(self.frame[columns].select_dtypes("number").columns)
        means = self.frame.groupby(SETTING, sort=False)[numeric].mean()
        rows = summarise(self.frame, [SETTING]).set_index(SETTING).join(means).to_dict("index")
        children: dict[str, _Entry] = {}
        for setting in self.run.settings:
            if setting.id not in rows:
                continue
            alike = repr((setting.dataset, setting.mechanism, setting.task, setting.noise))
            if alike not in children:
                tags = {"dpbench.data": setting.dataset.origin, "dpbench.guarantee": setting.guarantee}
                tags |= {"dpbench.private": "yes" if setting.private else f"no: {setting.caveat}"}
                params = {DATA_SEED: setting.dataset.seed, "noise": setting.noise, **setting.labels()}
                del params["epsilon"]  # it is a metric
                if "dataset.path" in params:  # entries may be on a server that others read
                    params["dataset.path"] = PurePath(str(params["dataset.path"])).name
                name = re.sub(r", ε=[^ ,]*", "", str(setting))
                texts = {param: str(value) for param, value in params.items()}
                children[alike] = _Entry(name, tags, texts, [setting.dataset])
            row = rows[setting.id]
            numbers = {name: row[name] for name in self.run.metrics if name in row} | {"epsilon": setting.epsilon}
            numbers |= {name: value for name, value in row.items() if name != "trials"} | {"trials": row["trials"]}
            children[alike].points[self._grid.index(setting.epsilon)] = {
                _allowed(name): float(value) for name, value in numbers.items() if value == value
            }
        return list(children.values())

    def _parent(self, children: list[_Entry]) -> _Entry:
        """The whole run, with the first metric of each child: MLflow's page shows children only once they are unfolded."""
        run = self.run
        tags = {TRIALS_TAG: str(len(self.frame)), "dpbench.planned": str(run.planned)}
        tags |= {"mlflow.note.content": run.title, "dpbench.changes": "; ".join(run.changes)}
        values = {kind: [getattr(s, kind).name for s in run.settings] for kind in ("dataset", "mechanism", "task")}
        texts = {name: map(str, listed) for name, listed in (values | {"epsilon": self._grid}).items()}
        params = {name: ", ".join(dict.fromkeys(listed)) for name, listed in texts.items()}
        datasets = {setting.dataset.fingerprint: setting.dataset for setting in run.settings}
        parent = _Entry(f"{run.label} ({run.scale})", tags, params, list(datasets.values()))
        first = _allowed([*run.metrics, *metric_names(self.frame)][0])
        for child in children:
            for step, numbers in child.points.items():
                if first in numbers:
                    parent.points.setdefault(step, {})[f"{first}/{_allowed(child.name)}"[:250]] = numbers[first]
        return parent

    def _write(self, client: Any, experiment: str, entry: _Entry, tags: dict[str, str]) -> Any:
        """Write an entry, within MLflow's limits of number and length. Returns MLflow's run."""
        from mlflow.entities import Metric, Param

        run = self.run
        commit = run.environment.commit or run.environment.versions.get("dpbench-repro", "")
        tags |= entry.tags | {
            "mlflow.source.name": "dpbench",
            "mlflow.source.type": "LOCAL",
            "mlflow.source.git.commit": commit,
        }
        with suppress(KeyError, OSError, ImportError):  # a user without a name, as in a container
            tags["mlflow.user"] = getpass.getuser()
        tags = {name: text[:5000] for name, text in tags.items() if text}
        written = client.create_run(experiment, start_time=self._began, tags=tags, run_name=entry.name[:250])
        texts = {"experiment": run.experiment or run.name, "scale": run.scale, "seed": str(run.seed), **entry.params}
        params = [Param(name[:250], text[:6000]) for name, text in texts.items()][:100]
        now = int(time.time() * 1000)
        metrics = [Metric(name, v, now, step) for step, numbers in entry.points.items() for name, v in numbers.items()]
        for start in range(0, max(1, len(metrics)), BATCH):
            client.log_batch(written.info.run_id, metrics[start : start + BATCH], [] if start else params)
            self.answered = time.monotonic()
        client.log_inputs(written.info.run_id, [_input(dataset) for dataset in entry.datasets])
        return written

    def _log_files(self, client: Any, entry: Any) -> None:
        """Store the summary and the figures with the run's entry, if they changed."""
        summary = self.run.summary().to_csv(index=False)
        digest = _digest(summary, *(path.read_bytes() for path in self.figures))
        stored = entry.data.tags.get(FILES_TAG)
        if stored == digest or (stored and not self.figures):
            return
        if self._address == mlflow_client.default_uri(self.run.results) and not self._is_own(entry.info.artifact_uri):
            # The database was moved, or is somebody else's: its path may point anywhere.
            where = f"{self._address} keeps files elsewhere, in {entry.info.artifact_uri}"
            raise TrackerDown(f"the settings are logged, the summary and figures are not: {where}")
        client.log_text(entry.info.run_id, summary, "summary.csv")
        for path in self.figures:
            client.log_artifact(entry.info.run_id, str(path))
        client.set_tag(entry.info.run_id, FILES_TAG, digest)

    def _is_own(self, uri: str) -> bool:
        """Whether a path is inside our folder: dots and links in somebody else's database may lead anywhere."""
        below = uri.startswith(self._artifacts + "/")
        return below and is_inside(self.run.results.resolve(), Path(url2pathname(urlsplit(uri).path)))

    @property
    def _artifacts(self) -> str:
        """Where the results folder's own database keeps files. MLflow stores it as an absolute path."""
        return inside(self.run.results, self.run.results / "mlartifacts").resolve().as_uri()

    @cached_property
    def _address(self) -> str:
        return mlflow_client.full_uri(self.uri, self.run.results)

    @cached_property
    def _grid(self) -> list[float]:
        return sorted({setting.epsilon for setting in self.run.settings})

    @cached_property
    def _began(self) -> int:
        """When the run began, in MLflow's unit, milliseconds."""
        with suppress(ValueError):
            return int(datetime.fromisoformat(self.run.written).timestamp() * 1000)
        return int(time.time() * 1000)

    @property
    def _ended(self) -> int:
        return self._began + int(self.run.seconds * 1000)


def _input(dataset: Dataset) -> Any:
    """A dataset as MLflow's input: its name, its fingerprint, where it comes from and its statistics."""
    from mlflow.data.code_dataset_source import CodeDatasetSource
    from mlflow.entities import Dataset as DatasetEntity
    from mlflow.entities import DatasetInput, InputTag

    source = CodeDatasetSource({"source": dataset.source, "origin": dataset.origin}).to_json()
    profile = json.dumps(dict(dataset.statistics))
    entity = DatasetEntity(dataset.name[:500], dataset.fingerprint[:36], "code", source[:60000], profile=profile)
    return DatasetInput(entity, [InputTag("mlflow.data.context", "evaluation")])


def _allowed(name: str) -> str:
    """A metric's name that MLflow accepts: letters, digits and a few signs."""
    return re.sub(r"[^\w.-]+", " ", name).strip()[:250]


def _digest(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
