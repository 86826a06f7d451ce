"""Makes the record of a finished run, with long curves thinned. Imported by `carry_out` and the comparison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from dpbench.auditing.cache import record_answers
from dpbench.claims import recorded
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.claims.recorded import code_digest
from dpbench.claims.replays import replayed
from dpbench.identity import digest
from dpbench.model.record import Costs, Record, RecordedVerdict
from dpbench.model.run import Run
from dpbench.paths import RECORD
from dpbench.reproduce.costs import disk_of
from dpbench.sources.cache import folder
from dpbench.storage.frame import SECONDS, SETTING, TRIAL, expected_names

POINTS = 500
"""Most points of one curve."""
LABELS = ("dataset", "mechanism", "epsilon", "task", "data_seed", "noise")
"""Columns of a script's numbers that are labels of a row. So are all columns `dataset.*`, `mechanism.*` and `task.*`."""


def is_label(column: str) -> bool:
    """Whether a column of a script's numbers is a label."""
    group, dot, _ = column.partition(".")
    return column in LABELS or (bool(dot) and group in ("dataset", "mechanism", "task"))


def take(run: Run, numbers: pd.DataFrame, *, seconds: float | None, memory: int | None) -> Record:
    """The record of a finished run; `numbers` are those of its script."""
    trials = run.trials()
    computing = float(trials.drop_duplicates([SETTING, TRIAL])[SECONDS].sum())
    data = {folder(setting.dataset) for setting in run.settings}
    classes = {
        "source": tuple(sorted({setting.dataset.source for setting in run.settings})),
        "mechanism": tuple(sorted({setting.mechanism.cls for setting in run.settings})),
        "task": tuple(sorted({setting.task.cls for setting in run.settings})),
    }
    return Record(
        experiment=run.name,
        title=run.title,
        scale=run.scale,
        trials=run.repetitions,
        seed=run.seed,
        data_seeds=run.data_seeds,
        settings=len({setting.id for setting in run.settings}),
        identity=digest(sorted({setting.id for setting in run.settings})),
        code=code_digest(classes),
        classes=classes,
        origins=tuple(run.origins()),
        not_private=run.caveats,
        epsilons=tuple(sorted({setting.epsilon for setting in run.settings})),
        expected=tuple(expected_names(trials)),
        environment=run.environment,
        written=run.written,
        costs=Costs(seconds, computing, memory, disk_of(run, sorted(data))),
        verdicts=verdicts(run, judge_of(run)),
    )


def record_audits(folder: Path = RECORD) -> Path:
    """Record what the audits of all claims about privacy find, by the code that is here."""
    for claim in ledger():
        if claim.audit is not None:
            replayed(claim.audit)
    return record_answers(folder)


def verdicts(run: Run, judge: Judge) -> tuple[RecordedVerdict, ...]:
    """The verdicts on the claims that this run decides, with those of other evidence."""
    mine = [judge.verdict(claim) for claim in ledger() if claim.experiment == run.name]
    return tuple(kept for verdict in mine for kept in recorded.all_of(verdict))


def judge_of(run: Run) -> Judge:
    """A judge that uses only the runs of a results folder, at the scale of this run."""
    return Judge(run.results, run.scale, record=None)


def thinned(numbers: pd.DataFrame, points: int = POINTS) -> pd.DataFrame:
    """The same with at most about `points` rows of each curve: half of them linearly spaced, half logarithmically, and both ends.

    A curve is a group of rows with the same labels.
    """
    labels = [column for column in numbers.columns if is_label(str(column))]
    if not labels or len(numbers) <= points:
        return numbers
    kept: list[np.ndarray] = []
    for rows in numbers.groupby(labels, sort=False, dropna=False).indices.values():
        kept.append(rows[_places(rows.size, points)])
    return numbers.iloc[np.sort(np.concatenate(kept))].reset_index(drop=True)


def _places(size: int, points: int) -> np.ndarray:
    if size <= points:
        return np.arange(size)
    even = np.linspace(0, size - 1, points // 2)
    ratio = np.geomspace(1, size, points - points // 2) - 1
    return np.unique(np.concatenate([even, ratio]).round().astype(int))
