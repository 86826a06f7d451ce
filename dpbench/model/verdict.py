"""The verdict on a claim, with the group of cells, or the choice of parameters, that decides it. Plain types, imported by
everything that judges claims or shows verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.model.claim import BY_CONSTRUCTION, CONTRADICTED, ON_DATA, ON_READING, OPEN, REPRODUCED, Claim

# From worst to best: the worst group decides a claim with `each`, the best one a claim with `some`.
MOST_NAMED = 4
RANK = {CONTRADICTED: 0, OPEN: 1, REPRODUCED: 2}


class Evidence(StrEnum):
    """What a verdict rests on, the strongest first."""

    PROOF = "proof"
    """A closed form, an enumeration, a replay or arithmetic: no data of the paper is needed."""
    FILES = "original files"
    """The paper's own data."""
    WORLDS = "every world"
    """All worlds of the datasets: all stand-ins that agree with what is printed and published about the originals."""
    STAND_IN = "one stand-in"
    """One generated dataset in place of the original, or some of its worlds."""


@dataclass(frozen=True)
class Group:
    """The measure in one group of cells, with its interval."""

    labels: Mapping[str, Any]
    value: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True)
class Case:
    """The outcome in one admissible reading of the text and in one world."""

    reading: str
    world: str
    """`default`, or `DATASET: WORLD` if one dataset is not in its default world."""
    verdict: str
    value: float | None = None
    """The measured value in the group of settings that decided; None if nothing was measured."""
    low: float | None = None
    high: float | None = None
    where: str = ""
    trials: int = 0

    @property
    def name(self) -> str:
        """`reading with world`, without what is the default."""
        parts = [part for part in (self.reading, self.world) if part != "default"]
        return " with ".join(parts) or "default"


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim. `value`, `low`, `high` are those of the deciding group."""

    claim: Claim
    verdict: str
    reason: str = ""
    groups: tuple[Group, ...] = ()
    decider: Group | None = None
    scale: str = ""
    trials: int = 0
    """The number of trials of the cells that were used; the smallest if they differ."""
    cases: tuple[Case, ...] = ()
    """The outcome in every reading and world that was tried; empty for a proof."""
    untried: tuple[str, ...] = ()
    """Admissible readings that would change what was measured, and were not run."""
    needs: int | None = None
    """If it is open: about how many trials would decide; None if that is not known."""
    results: Path = Path("results")
    evidence: Evidence | None = None
    """What it rests on; None if nothing could be tested."""
    method: str = ""
    """For an audit or a computation: the method, and the number of pairs of neighbours or cases."""
    files: tuple[str, ...] = ()
    """The datasets that were read from original files; empty: decided on generated data."""
    expected: tuple[str, ...] = ()
    """The metrics of which expected values, given all but the last noise of each release, were used instead of sampled ones."""
    data_seeds: int = 1
    """Draws of the generated data: if there are several, the interval includes the spread between them."""
    error: float = 0.0
    """Bound on the probability that the mechanisms' noise made the verdict wrong; 0 without noise."""
    recorded: str = ""
    """Its origin if it was not decided by a run of the user: "recorded at COMMIT"."""
    others: tuple[Verdict, ...] = ()
    """Verdicts from other evidence: generated data beside original files, or vice versa."""

    @property
    def measured(self) -> str:
        return self.claim.region.show(self.decider.value) if self.decider else ""

    @property
    def interval(self) -> str:
        if self.decider is None or self.decider.low == self.decider.high:
            return ""
        if np.isnan(self.decider.low) or np.isnan(self.decider.high):
            return "unknown"
        low, high = (self.claim.region.show(end) for end in (self.decider.low, self.decider.high))
        if np.isinf(self.decider.low) and np.isinf(self.decider.high):
            return "unbounded"
        if np.isinf(self.decider.high):
            return f"at least {low}"
        return f"at most {high}" if np.isinf(self.decider.low) else f"{low} to {high}"

    def named(self, verdict: str) -> list[str]:
        """The cases with this outcome: only their readings or their worlds, if it depends on nothing else."""
        mine = [case for case in self.cases if case.verdict == verdict]
        what = {ON_READING: "reading", ON_DATA: "world"}.get(self.verdict, "name")
        return list(dict.fromkeys(getattr(case, what) for case in mine))

    @property
    def sides(self) -> str:
        """The readings and worlds for and against the claim, as text; empty if only one case was tried."""
        if len(self.cases) < 2:
            return ""
        words = {REPRODUCED: "holds", CONTRADICTED: "fails", OPEN: "open", BY_CONSTRUCTION: "by construction"}
        sides = {word: self.named(verdict) for verdict, word in words.items()}
        if len(told := {word: names for word, names in sides.items() if names}) == 1:
            return f"{next(iter(told))} in all {len(self.cases)} cases"
        return "; ".join(f"{word} in {_some(names)}" for word, names in told.items())

    @property
    def where(self) -> str:
        """Which group decided, out of how many."""
        if self.decider is None or len(self.groups) < 2:
            return self.method
        decided = self.decider.verdict
        alike = sum(group.verdict == decided for group in self.groups)
        rank = "best" if self.claim.some else "closest" if decided == REPRODUCED else f"{alike} such"
        which = f"{describe(self.decider.labels)} ({rank} of {len(self.groups)})"
        return f"{which}; {self.method}" if self.method else which

    @property
    def expectations(self) -> str:
        """Says that expected values were used; empty if none were."""
        return f"expected {', '.join(self.expected)}, given all but the last noise" if self.expected else ""

    @property
    def source(self) -> str:
        """Where the numbers come from."""
        if self.recorded:
            return f"{self.recorded}: {replace(self, recorded='').source}"
        if self.files:
            return f"original files of {', '.join(self.files)}"
        if not self.scale:
            return ""
        draws = "one draw" if self.data_seeds == 1 else f"{self.data_seeds} draws"
        return f"generated data, {self.scale} size, {draws}"


def _some(names: Sequence[str]) -> str:
    """The first names of a list; the table of cases has all."""
    return (
        ", ".join(names)
        if len(names) <= MOST_NAMED
        else f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"
    )


def describe(labels: Mapping[str, Any]) -> str:
    parts = (f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in labels.items())
    return ", ".join(parts)
