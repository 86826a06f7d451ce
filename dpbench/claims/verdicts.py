"""Verdicts counted, and the command that would decide an open one. Imported by whatever shows verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpbench.model.claim import CONTRADICTED, REPRODUCED, UNTESTABLE, VERDICTS
from dpbench.model.verdict import Verdict
from dpbench.storage.commands import run_command


def command(verdict: Verdict) -> str:
    """The command that would make a claim testable; empty if none would."""
    claim = verdict.claim
    if verdict.verdict != UNTESTABLE or not claim.experiment or claim.untestable:
        return ""
    return run_command(claim.experiment, verdict.results, claim.scale if claim.scale != "smoke" else None)


@dataclass(frozen=True)
class Tally:
    """The verdicts on a list of claims, counted once per statement of a paper."""

    counts: Mapping[str, int]
    copies: int
    """Claims that repeat another one with a mechanism of ours: shown, but not counted."""
    noisy: int
    """Number of verdicts (reproduced or contradicted) from noisy trials."""
    wrong: float
    """Upper bound of the expected number of these that are wrong because of noise."""
    firm: int
    """Number of these that stay the same with intervals of 99.9 %."""

    @property
    def claims(self) -> int:
        return sum(self.counts.values())

    def share(self, verdict: str) -> float:
        """The part of the claims that have a verdict, in percent."""
        return 100 * self.counts[verdict] / max(1, self.claims)

    @property
    def error(self) -> str:
        """The error rate over all claims, as text."""
        if not self.noisy:
            return "No verdict depends on noisy trials."
        return (
            f"Verdicts that depend on noisy trials: {self.noisy}. Each is wrong with a probability of at most 5 %: its intervals "
            f"hold together with 95 %. The same at 99.9 %: {self.firm}. Expected wrong verdicts because of noise: at most "
            f"{self.wrong:.2g}."
        )


FIRM = 0.001


def tally(verdicts: Sequence[Verdict]) -> Tally:
    counted = [v for v in verdicts if not v.claim.copy_of]
    noisy = [v for v in counted if v.error > 0 and v.verdict in (REPRODUCED, CONTRADICTED)]
    return Tally(
        counts={name: sum(v.verdict == name for v in counted) for name in VERDICTS},
        copies=len(verdicts) - len(counted),
        noisy=len(noisy),
        wrong=sum(v.error for v in noisy),
        firm=sum(v.error <= FIRM for v in noisy),
    )
