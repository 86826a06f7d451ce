"""The audit's result for a mechanism, over all its choices of parameters, in one line. Imported by the report and `compare`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.audit.finding import Finding, Verdict

ORDER: tuple[Verdict, ...] = ("violated", "inconclusive", "holds", "declared not private")
"""A mechanism's verdict is the first of these that any choice of parameters has."""


@dataclass(frozen=True)
class Summary:
    """A mechanism: the finding that decides, and the others."""

    mechanism: str
    decider: Finding
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        return self.decider.verdict

    @property
    def pairs(self) -> int:
        """Number of pairs behind the verdict: those of all choices that have it."""
        return sum(one.pairs for one in self.findings if one.verdict == self.verdict)

    @property
    def declared(self) -> tuple[Finding, ...]:
        """Choices that are declared not private, if others decide."""
        return tuple(one for one in self.findings if one.verdict == ORDER[-1] != self.verdict)

    @property
    def words(self) -> str:
        """The verdict in a few words."""
        one = self.decider
        if self.verdict == "holds":
            return f"holds{' with private parameters' if self.declared else ''} on {self.pairs} pairs"
        if self.verdict == "violated":
            given = f" with {one.parameters}" if one.parameters else ""
            loss = shown_loss(one)
            return f"violated{given}: a loss of {loss} at ε = {one.epsilon:.4g}"
        if self.verdict == "declared not private":
            return "declared not private, as found"
        return f"inconclusive: {one.reason}"


def by_mechanism(findings: Sequence[Finding]) -> list[Summary]:
    """Each mechanism once, in the order of the findings."""
    found = []
    for name in dict.fromkeys(one.mechanism for one in findings):
        mine = tuple(one for one in findings if one.mechanism == name)
        verdict = next(each for each in ORDER if any(one.verdict == each for one in mine))
        decider = max((one for one in mine if one.verdict == verdict), key=lambda one: one.loss)
        found.append(Summary(name, decider, mine))
    return found


def shown_loss(one: Finding) -> str:
    """The loss found. From the sequential test it is only a lower bound."""
    sign = "at least " if one.method == "sequential test" else ""
    return "∞" if math.isinf(one.loss) else f"{sign}{one.loss:.4g}"
