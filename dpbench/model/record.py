"""The record: what one experiment gave when it was run once at paper size. Plain types, imported by whoever uses records.

`storage/record.py` reads and writes the files.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dpbench.model.environment import Environment
from dpbench.model.verdict import Case
from dpbench.paths import RECORD


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
    expected: tuple[str, ...] = ()
    """The metrics of which expected values were used, given all but the last noise."""
    evidence: str = ""
    """What it rests on; empty in records from before evidence was kept: then it is one reading and one stand-in, or files."""
    cases: tuple[Case, ...] = ()
    """The outcome in every reading and world that was tried."""
    untried: tuple[str, ...] = ()
    """Admissible readings that were not run."""
    needs: int | None = None
    """If it is open: about how many trials would decide."""


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
    expected: tuple[str, ...] = ()
    """The metrics of which its numbers are expectations given all but the last noise, where these are known."""
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
            memory=max((costs.memory for costs in (now, before) if costs.memory is not None), default=None),
            disk=max(now.disk, before.disk),
        )
        return dataclasses.replace(self, costs=costs)
