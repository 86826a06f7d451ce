"""What comes of a claim: its verdict, with the group of cells, or the choice of parameters, that decides it.

Imported by all who judge claims or show verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.claims.ledger import CONTRADICTED, INCONCLUSIVE, REPRODUCED, UNTESTABLE, Claim
from dpbench.results.commands import RESULTS, run_command

# From worst to best: the worst group decides what must hold for each, the best one what must hold for some.
RANK = {CONTRADICTED: 0, INCONCLUSIVE: 1, REPRODUCED: 2}


@dataclass(frozen=True)
class Group:
    """The measure in one group of cells, with its interval."""

    labels: Mapping[str, Any]
    value: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True)
class Verdict:
    """What came of a claim. `value`, `low`, `high` are those of the deciding group."""

    claim: Claim
    verdict: str
    reason: str = ""
    groups: tuple[Group, ...] = ()
    decider: Group | None = None
    scale: str = ""
    trials: int = 0
    """Fewest trials of a cell that was used."""
    results: Path = RESULTS
    evidence: str = ""
    """Of an audit: by what, and on how many pairs of neighbours."""

    @property
    def measured(self) -> str:
        return self.claim.region.show(self.decider.value) if self.decider else ""

    @property
    def interval(self) -> str:
        if self.decider is None or self.decider.low == self.decider.high:
            return ""
        low, high = (self.claim.region.show(end) for end in (self.decider.low, self.decider.high))
        return f"at least {low}" if np.isinf(self.decider.high) else f"{low} to {high}"

    @property
    def where(self) -> str:
        """Which group decided, out of how many."""
        if self.decider is None or len(self.groups) < 2:
            return self.evidence
        found = self.decider.verdict
        alike = sum(group.verdict == found for group in self.groups)
        rank = "best" if self.claim.some else "closest" if found == REPRODUCED else f"{alike} such"
        which = f"{describe(self.decider.labels)} ({rank} of {len(self.groups)})"
        return f"{which}; {self.evidence}" if self.evidence else which

    @property
    def command(self) -> str:
        """What would make it testable."""
        claim = self.claim
        if self.verdict != UNTESTABLE or not claim.experiment or claim.untestable:
            return ""
        return run_command(claim.experiment, self.results, claim.scale if claim.scale != "smoke" else None)


def describe(labels: Mapping[str, Any]) -> str:
    parts = (f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in labels.items())
    return ", ".join(parts)
