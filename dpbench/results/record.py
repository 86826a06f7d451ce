"""The record: the reproduction as it was run once at paper size, kept as text beside the code.

Two files per experiment: EXPERIMENT.json (sealed) says how it was run, what it cost and which verdicts it gave;
EXPERIMENT.csv has the numbers of its figure. Written by `reproduce`; figures, claims and report read it if an experiment has
not been run.
"""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dpbench.errors import UserError
from dpbench.paths import RECORD
from dpbench.results.environment import Environment
from dpbench.results.folder import write_aside
from dpbench.seals import seal, text_digest, unseal

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 12
"""Significant digits of the numbers: two runs of the same code agree in nine."""
MISSING = "nan"
"""What a missing number is written as; an empty word stays an empty word."""
RELEASED = "released."
"""Begins the names of columns with words that a mechanism has released. Other noise releases other words: they name no row."""


@dataclass(frozen=True)
class Costs:
    """What a run cost, on the machine that the environment names."""

    seconds: float | None = None
    """From the first trial to the last; None if some were found finished, or are shared with another experiment."""
    computing: float = 0.0
    """Seconds of all releases together, whatever the number of workers."""
    memory: int | None = None
    """Peak memory of the process and its workers together, in bytes; None if it cannot be measured."""
    disk: int = 0
    """Bytes of the stored trials and of the cached data."""


@dataclass(frozen=True)
class RecordedVerdict:
    """The verdict on one claim."""

    claim: str
    verdict: str
    expect: str = ""
    """What we expect according to the paper."""
    value: float | None = None
    """The measured value in the group of settings that decided; None if nothing was measured."""
    low: float | None = None
    high: float | None = None
    where: str = ""
    """Which group of settings decided, out of how many."""
    reason: str = ""
    files: tuple[str, ...] = ()
    """The datasets of original files that it is about; empty: it was decided on generated data."""
    trials: int = 0
    error: float = 0.0
    """Probability that such a verdict is wrong because of the mechanisms' noise."""


@dataclass(frozen=True)
class Record:
    """One experiment as it was run once."""

    experiment: str
    title: str
    scale: str
    trials: int
    """Trials per setting and data seed; a mechanism may have fewer, as the numbers show."""
    seed: int
    """Seed of the noise."""
    data_seeds: tuple[int, ...]
    settings: int
    identity: str
    """One digest of the ids of all settings: parameters, seed, data and code."""
    code: str
    """One digest of the code alone."""
    classes: Mapping[str, tuple[str, ...]]
    """The sources, mechanisms and tasks that ran, by registered name."""
    origins: tuple[str, ...]
    """Where the data comes from, as text."""
    not_private: Mapping[str, str] = field(default_factory=dict)
    """The mechanisms that are not private as run, each with the reason."""
    epsilons: tuple[float, ...] = ()
    """The budgets of its settings."""
    environment: Environment = field(default_factory=Environment)
    written: str = ""
    """When it was run (UTC)."""
    costs: Costs = field(default_factory=Costs)
    verdicts: tuple[RecordedVerdict, ...] = ()
    """Of each claim one or more: the strongest evidence first, then other evidence, such as original files of other data."""
    checksum: str = ""
    """Of the file of numbers."""
    folder: Path = field(default=RECORD, compare=False, metadata={"stored": False})
    """Where it is stored."""

    @property
    def commit(self) -> str:
        return self.environment.commit or self.environment.versions.get("dpbench-repro", "an unknown version")

    def after(self, earlier: Record | None) -> Record:
        """The same with the costs of an earlier record of the same settings, when this run found trials finished.

        What all releases took is known from the trials. The time that passed is kept only if no trial has been added.
        """
        if earlier is None or self.costs.seconds is not None or earlier.identity != self.identity:
            return self
        now, before = self.costs, earlier.costs
        costs = dataclasses.replace(
            now,
            seconds=before.seconds if math.isclose(now.computing, before.computing) else None,
            memory=max((one.memory for one in (now, before) if one.memory is not None), default=None),
            disk=max(now.disk, before.disk),
        )
        return dataclasses.replace(self, costs=costs)

    def numbers(self) -> pd.DataFrame:
        """The numbers of its figure, as its script gave them; long curves are thinned. UserError when damaged."""
        path = self.folder / f"{self.experiment}.csv"
        try:
            text = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as problem:
            raise _damaged(path, problem) from None
        if text_digest(text) != self.checksum:
            raise _damaged(path, "its checksum does not match")
        return _frame(text)

    def save(self, numbers: pd.DataFrame, folder: Path = RECORD) -> list[Path]:
        """Write both files, replacing existing ones."""
        text = _text(numbers)
        body = dataclasses.asdict(self) | {"checksum": text_digest(text)}
        del body["folder"]
        files = [folder / f"{self.experiment}.{kind}" for kind in ("csv", "json")]
        for path, content in zip(files, (text, seal(body)), strict=True):
            write_aside(path, content.encode())
        return files


def as_recorded(numbers: pd.DataFrame) -> pd.DataFrame:
    """The numbers of a script as a record returns them: a column of digits is read as numbers, whatever it was."""
    return _frame(_text(numbers))


def _text(numbers: pd.DataFrame) -> str:
    return numbers.to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\n", na_rep=MISSING)


def _frame(text: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[MISSING])


def names(folder: Path = RECORD) -> list[str]:
    """The experiments that are on record."""
    return [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.glob("**/*.json"))]


def read(experiment: str, folder: Path = RECORD) -> Record | None:
    """The record of an experiment; None when there is none. UserError when it is damaged.

    It may come from somebody else: it is checked as a run is, and nothing that it names is imported.
    """
    path = folder / f"{experiment}.json"
    if not path.is_file():
        return None
    from dpbench.results.sealed import made

    try:
        found = made(Record, unseal(path.read_bytes()))
        if found.experiment != experiment:
            raise ValueError("its name is not the one it was written under")
    except (OSError, ValueError) as problem:
        raise _damaged(path, problem) from None
    return dataclasses.replace(found, folder=folder)


def read_all(folder: Path = RECORD) -> dict[str, Record]:
    """Every record, by experiment."""
    found = {name: read(name, folder) for name in names(folder)}
    return {name: record for name, record in found.items() if record is not None}


def _damaged(path: Path, problem: object) -> UserError:
    return UserError(f"{path} is not what `reproduce --record` wrote ({problem}): restore it from version control")
