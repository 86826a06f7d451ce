"""Verdicts counted, and the command that would decide an open one. Imported by whatever shows verdicts."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpbench.model.claim import CONTRADICTED, ERRATUM, REPRODUCED, UNTESTABLE, VERDICTS
from dpbench.model.verdict import Evidence, Verdict
from dpbench.storage.commands import run_command


def command(verdict: Verdict) -> str:
    """The command that would make a claim testable; empty if none would."""
    claim = verdict.claim
    if verdict.verdict != UNTESTABLE or not claim.experiment or claim.untestable:
        return ""
    scale = claim.scale if claim.scale != "smoke" else None
    return run_command(claim.experiment, verdict.results, scale) + _files(verdict)


def _files(verdict: Verdict) -> str:
    """What a command must add to read the original files that a verdict rests on, or needs."""
    names = verdict.files or filter(None, [verdict.claim.original])
    return "".join(f" dataset.{name}.source=files" for name in names)


def repeat(verdict: Verdict) -> str:
    """The command that computes again what a verdict rests on."""
    claim = verdict.claim
    if not claim.experiment or claim.untestable:
        return shlex.join(["python", "-m", "dpbench", "claims", "--id", claim.id])
    words = run_command(claim.experiment, verdict.results, verdict.scale or claim.scale) + _files(verdict)
    readings, worlds = ({getattr(case, what) for case in verdict.cases} for what in ("reading", "world"))
    return words + " reading=all" * (len(readings) > 1) + " world=all" * (len(worlds) > 1)


@dataclass(frozen=True)
class Tally:
    """The verdicts on a list of claims, counted once per statement of a paper."""

    counts: Mapping[str, int]
    """The number of claims with each verdict, without known errata."""
    by_evidence: Mapping[tuple[str, Evidence | None], int]
    """The same by verdict and evidence; what is not there is 0."""
    errata: Mapping[str, int]
    """The number of known errata with each verdict."""
    repeats: int
    """Claims that repeat another one, or state the same fact: shown, but not counted."""
    ours: int
    """Hypotheses and notes of ours: shown, but not counted."""
    noisy: int
    """Number of verdicts (reproduced or contradicted) from noisy trials, also of claims that are not counted."""
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
            return "No claim is reproduced or contradicted by noisy trials."
        return (
            f"Reproduced or contradicted by noisy trials: {self.noisy}. The intervals of each hold together with 95 %. The same "
            f"verdict at 99.9 %: {self.firm}."
        )


FIRM = 0.001


def tally(verdicts: Sequence[Verdict]) -> Tally:
    stated = [v for v in verdicts if v.claim.counted]
    errata = [v for v in stated if v.claim.basis == ERRATUM]
    counted = [v for v in stated if v.claim.basis != ERRATUM]
    noisy = [v for v in verdicts if v.error > 0 and v.verdict in (REPRODUCED, CONTRADICTED)]
    return Tally(
        counts={name: sum(v.verdict == name for v in counted) for name in VERDICTS},
        by_evidence=Counter((v.verdict, v.evidence) for v in counted),
        errata=Counter(v.verdict for v in errata),
        repeats=sum(bool(v.claim.copy_of or v.claim.same_as) and not v.claim.ours for v in verdicts),
        ours=sum(v.claim.ours for v in verdicts),
        noisy=len(noisy),
        firm=sum(v.error <= FIRM for v in noisy),
    )
