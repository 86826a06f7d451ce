"""What travels between a run and its workers: chunks of trials, and what became of them. Plain types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpbench.identity import Code
from dpbench.model.setting import Setting

TrialValue = float | int | str | None
TrialRow = Mapping[str, TrialValue]
"""One trial: `trial`, `seconds`, and the columns `metric.*`, `expected.*`, `chosen.*`, `diagnostic.*`."""


@dataclass(frozen=True)
class Chunk:
    """A unit of work: some trials of one setting."""

    setting: Setting
    seed: int
    trials: tuple[int, ...]
    """In order. Trials 2i and 2i + 1 belong together."""
    lost: tuple[int, ...] = ()
    """Trials that just ended another process."""
    session: str = ""
    """The requesting process, if some code has no source: its results are valid only for that process."""

    @property
    def name(self) -> tuple[str, int]:
        """Identifies it in a run: the id of its setting, and its first trial."""
        return self.setting.id, self.trials[0]

    def without_objects(self) -> Chunk:
        """The same by names only. Only this is sent back: a returned copy of a class would replace the original."""
        mechanism, task = (replace(variant, instance=None) for variant in (self.setting.mechanism, self.setting.task))
        return replace(self, setting=replace(self.setting, mechanism=mechanism, task=task))


@dataclass(frozen=True)
class Failure:
    """A trial that did not finish, and why."""

    trial: int
    error: str
    details: str = ""
    """The whole traceback."""
    kind: str = ""
    """What all failures of this kind have in common, without the numbers in their messages; empty: `error`."""
    place: str = ""
    """FILE:LINE, in the user's own code if any of it was running."""
    stopped: bool = False
    """Ended from outside, at an arbitrary line."""

    @property
    def alike(self) -> tuple[str, str]:
        """What identifies the problem: the kind, and the place or only its file."""
        where = self.place.rpartition(":")[0] if self.stopped else self.place
        return self.kind or self.error, where


@dataclass(frozen=True)
class Outcome:
    """The result of a chunk: the rows of the finished trials, the failures, or the refusal of the whole chunk."""

    chunk: Chunk
    rows: list[TrialRow] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    refused: str = ""
    """Why this worker refuses it: its code or data differ."""
    worker: str = ""
    setting: str = ""
    """The setting's id as computed from the worker's own code and data."""
    code: Code | None = None
    """The worker's own code, when that is why it refuses."""
