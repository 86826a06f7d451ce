"""The audit's findings on the compared mechanisms: an error says little if the guarantee does not hold.

Read from the sealed file that `python -m dpbench audit` writes, or given. Imported by the tables of boards and by the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dpbench.auditing.cache import stored
from dpbench.auditing.summary import by_mechanism
from dpbench.model.finding import Finding


def findings_of(results: Path) -> list[Finding]:
    """The findings of the stored audit; empty if there was none."""
    return [each.finding for each in stored(results)]


def verdicts(results: Path) -> Mapping[str, str]:
    """The findings of the stored audit in words, by mechanism."""
    return in_words(findings_of(results))


def in_words(findings: Sequence[Finding]) -> Mapping[str, str]:
    """Findings in words, by mechanism."""
    return {summary.mechanism: summary.words for summary in by_mechanism(findings)}


def violations(findings: Sequence[Finding]) -> Mapping[str, str]:
    """The mechanisms that violate their guarantee, each with what was found."""
    return {summary.mechanism: summary.words for summary in by_mechanism(findings) if summary.verdict == "violated"}
