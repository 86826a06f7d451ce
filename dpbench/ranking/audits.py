"""The audit's findings on the compared mechanisms: an error says little if the guarantee does not hold.

Read from the sealed file that `python -m dpbench audit` writes. Imported by the report, for the leaderboard.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dpbench.auditing.cache import stored
from dpbench.auditing.summary import by_mechanism


def verdicts(results: Path) -> Mapping[str, str]:
    """The findings of the stored audit by mechanism; empty if there was none."""
    return {summary.mechanism: summary.words for summary in by_mechanism([each.finding for each in stored(results)])}


def violations(results: Path) -> Mapping[str, str]:
    """The mechanisms that the stored audit found to violate their guarantee, each with what was found."""
    return {
        summary.mechanism: summary.words
        for summary in by_mechanism([each.finding for each in stored(results)])
        if summary.verdict == "violated"
    }
