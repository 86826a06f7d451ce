"""What the page opens with: per paper, in words, what holds and what does not. Made from the verdicts alone.

Imported by `view`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.claims.verdicts import tally
from dpbench.model.claim import CONTRADICTED, OPEN, REPRODUCED, UNTESTABLE
from dpbench.model.verdict import Verdict
from dpbench.report.text import listed


@dataclass(frozen=True)
class Answer:
    """The result for one paper, in three sentences."""

    paper: str
    counts: str
    """How many of its claims hold, and how many could not be tested."""
    holding: list[Verdict]
    """The claims that hold, the most informative first."""
    failing: list[Verdict]
    source: str
    """Where the verdicts come from: runs at a scale, or the record."""


def answers(verdicts: Sequence[Verdict]) -> list[Answer]:
    """One answer per paper, in the order of the verdicts."""
    papers = dict.fromkeys(v.claim.paper for v in verdicts)
    return [_answer(paper, [v for v in verdicts if v.claim.paper == paper]) for paper in papers]


def _answer(paper: str, verdicts: Sequence[Verdict]) -> Answer:
    own = [v for v in verdicts if not v.claim.copy_of]
    holding, failing = (_telling([v for v in own if v.verdict == kind]) for kind in (REPRODUCED, CONTRADICTED))
    return Answer(paper, _counts(verdicts), holding, failing, _source(own))


def _counts(verdicts: Sequence[Verdict]) -> str:
    counted = tally(verdicts)
    count = counted.counts
    tested = counted.claims - count[UNTESTABLE]
    if not tested:
        return f"None of its {counted.claims} claims was tested."
    parts = [_verb(count[REPRODUCED], "holds", "hold"), _verb(count[CONTRADICTED], "does not", "do not")]
    parts += [_verb(count[OPEN], "is open", "are open")] if count[OPEN] else []
    rest = f"; {count[UNTESTABLE]} more could not be tested" if count[UNTESTABLE] else ""
    return f"Of {_verb(tested, 'claim that was', 'claims that were')} tested, {listed(parts)}{rest}."


def _verb(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def _telling(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The same verdicts, the most informative first: claims that the paper's text states and that were measured with noise.

    Among equals, the experiments take turns.
    """

    def weight(v: Verdict) -> tuple[bool, bool, bool]:
        claim = v.claim
        return (claim.exact or claim.made or not claim.experiment, claim.basis != "text", v.verdict == UNTESTABLE)

    ordered = sorted(verdicts, key=weight)
    seen: dict[str, int] = {}
    turns = []
    for v in ordered:
        turns.append(seen.setdefault(v.claim.experiment, 0))
        seen[v.claim.experiment] += 1
    return [v for _, v in sorted(zip(turns, ordered, strict=True), key=lambda pair: (weight(pair[1]), pair[0]))]


def _source(verdicts: Sequence[Verdict]) -> str:
    """What decided the claims: `runs at scale smoke`, `recorded at COMMIT`."""
    tested = [v for v in verdicts if v.verdict != UNTESTABLE and v.claim.experiment]
    scales = sorted({v.scale for v in tested if not v.recorded and v.scale})
    parts = [f"runs at scale {listed(scales)}"] if scales else []
    parts += [listed(sorted({v.recorded for v in tested if v.recorded}))] if any(v.recorded for v in tested) else []
    return listed(parts)
