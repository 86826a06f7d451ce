"""The audit's result for a mechanism, over all its choices of parameters, in one line. Imported by the report and `compare`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.model.finding import AuditVerdict, Finding

ORDER: tuple[AuditVerdict, ...] = ("violated", "inconclusive", "holds", "declared not private")
"""A mechanism's verdict is the first of these that any choice of parameters has."""


@dataclass(frozen=True)
class AuditSummary:
    """A mechanism: the finding that decides, and the others."""

    mechanism: str
    decider: Finding
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> AuditVerdict:
        return self.decider.verdict

    @property
    def pairs(self) -> int:
        """Number of pairs behind the verdict: those of all choices that have it."""
        return sum(finding.pairs for finding in self.findings if finding.verdict == self.verdict)

    @property
    def declared(self) -> tuple[Finding, ...]:
        """Choices that are declared not private, if others decide."""
        return tuple(finding for finding in self.findings if finding.verdict == ORDER[-1] != self.verdict)

    @property
    def words(self) -> str:
        """The verdict in a few words."""
        decider = self.decider
        if self.verdict == "holds":
            return f"holds{' with private parameters' if self.declared else ''} on {self.pairs} pairs"
        if self.verdict == "violated":
            given = f" with {decider.parameters}" if decider.parameters else ""
            loss = shown_loss(decider)
            return f"violated{given}: a loss of {loss} at ε = {decider.epsilon:.4g}"
        if self.verdict == "declared not private":
            return "declared not private, as found"
        return f"inconclusive: {decider.reason}"


def by_mechanism(findings: Sequence[Finding]) -> list[AuditSummary]:
    """Each mechanism once, in the order of the findings."""
    summaries = []
    for name in dict.fromkeys(finding.mechanism for finding in findings):
        mine = tuple(finding for finding in findings if finding.mechanism == name)
        verdict = next(each for each in ORDER if any(finding.verdict == each for finding in mine))
        decider = max((finding for finding in mine if finding.verdict == verdict), key=lambda finding: finding.loss)
        summaries.append(AuditSummary(name, decider, mine))
    return summaries


def shown_loss(finding: Finding) -> str:
    """The loss found. From the sequential test it is only a lower bound."""
    sign = "at least " if finding.method == "sequential test" else ""
    return "∞" if math.isinf(finding.loss) else f"{sign}{finding.loss:.4g}"
