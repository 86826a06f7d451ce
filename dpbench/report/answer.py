"""What the page opens with: per paper, in words, what holds and what does not. Made from the verdicts alone.

Imported by `view`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.claims.verdicts import Tally, tally
from dpbench.model.claim import (
    BY_CONSTRUCTION,
    CONTRADICTED,
    ERRATUM,
    ON_BOTH,
    ON_DATA,
    ON_READING,
    OPEN,
    REPRODUCED,
    UNTESTABLE,
)
from dpbench.model.verdict import Evidence, Verdict
from dpbench.report.text import listed

BY = {Evidence.PROOF: "by proof", Evidence.FILES: "on original files", Evidence.WORLDS: "in every world"}
DEPENDS = {ON_READING: "on the reading", ON_DATA: "on the data", ON_BOTH: "on both"}
MOST_NAMED = 3
LEFT = {OPEN: ("is open", "are open"), BY_CONSTRUCTION: ("was given to the generator", "were given to the generator")}
LEFT |= {UNTESTABLE: ("is not testable", "are not testable")}


@dataclass(frozen=True)
class PaperAnswer:
    """The result for one paper: what holds with every assumption that was tried, what depends on what, what cannot be."""

    paper: str
    sentences: list[str]
    """The same in words, with the numbers of claims."""
    holding: list[Verdict]
    """The claims that hold, the firmest and most informative first."""
    depending: list[Verdict]
    failing: list[Verdict]
    """The claims that fail, the firmest first."""
    source: str
    """Where the verdicts come from: runs at a scale, or the record."""


def answers(verdicts: Sequence[Verdict]) -> list[PaperAnswer]:
    """One answer per paper, in the order of the verdicts."""
    papers = dict.fromkeys(v.claim.paper for v in verdicts)
    return [_answer(paper, [v for v in verdicts if v.claim.paper == paper]) for paper in papers]


def _answer(paper: str, verdicts: Sequence[Verdict]) -> PaperAnswer:
    own = [v for v in verdicts if v.claim.counted and v.claim.basis != ERRATUM]
    kinds = ((REPRODUCED,), tuple(DEPENDS), (CONTRADICTED,))
    holding, depending, failing = (_telling([v for v in own if v.verdict in kind]) for kind in kinds)
    return PaperAnswer(paper, sentences(own), holding, depending, failing, _source(own))


def whatever(v: Verdict) -> bool:
    """Whether a verdict holds with every assumption that was tried: it rests on no single stand-in, no admissible reading was
    left out, and it is not about times, which another implementation changes."""
    return v.evidence in BY and not v.untried and "seconds" not in v.claim.measure


def sentences(counted: Sequence[Verdict]) -> list[str]:
    """What holds with every assumption that was tried, what depends on what, what cannot be, and what is left: counted claims."""
    found = tally(counted)
    firm = {word: [v for v in counted if v.verdict == word and whatever(v)] for word in (REPRODUCED, CONTRADICTED)}
    loose = {word: found.counts[word] - len(of) for word, of in firm.items()}
    holds = firm[REPRODUCED]
    told = [f"{_verb(len(holds), 'claim holds', 'claims hold')} with every assumption that was tried{_by(holds)}."]
    depends = [f"{found.counts[word]} {on}" for word, on in DEPENDS.items() if found.counts[word]]
    if depends:
        told.append(f"What depends on what is not known: {listed(depends)}.")
    if any(loose.values()):
        parts = [_verb(loose[REPRODUCED], "more holds", "more hold"), _verb(loose[CONTRADICTED], "fails", "fail")]
        tried = "With one reading, one stand-in or one implementation"
        told.append(f"{tried}, {listed(parts)}; other choices may decide otherwise.")
    fails = firm[CONTRADICTED]
    if fails:
        told.append(f"{_verb(len(fails), 'claim fails', 'claims fail')} with all of them{_by(fails)}: {_named(fails)}.")
    else:
        told.append("None is shown to fail with all of them.")
    left = [_verb(found.counts[word], *words) for word, words in LEFT.items() if found.counts[word]]
    return [*told, *([f"{listed(left)}."] if left else [])]


def _named(verdicts: Sequence[Verdict]) -> str:
    """The names of the first claims, with what contradicts each."""
    names = [v.claim.id.partition("/")[2] + (f" ({v.claim.by})" if v.claim.by else "") for v in verdicts]
    return listed([*names[:MOST_NAMED], *([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else [])])


def _by(verdicts: Sequence[Verdict]) -> str:
    """How many of some verdicts rest on what."""
    counts = {words: sum(v.evidence is kind for v in verdicts) for kind, words in BY.items()}
    parts = [f"{count} {words}" for words, count in counts.items() if count]
    return f" ({', '.join(parts)})" if parts else ""


EVIDENCE_HEADS = (*Evidence, OPEN, BY_CONSTRUCTION, UNTESTABLE, "errata")


def evidence_row(counts: Tally) -> list[str]:
    """One row of the table with evidence in the columns: reproduced / dependent / contradicted claims by evidence, then the
    other verdicts, and the known errata that are contradicted."""

    def cell(kind: Evidence) -> str:
        groups = ((REPRODUCED,), tuple(DEPENDS), (CONTRADICTED,))
        numbers = [sum(counts.by_evidence.get((word, kind), 0) for word in words) for words in groups]
        return " / ".join(map(str, numbers)) if any(numbers) else "-"

    left = [str(counts.counts[word]) for word in (OPEN, BY_CONSTRUCTION, UNTESTABLE)]
    known = sum(counts.errata.values())
    return [*map(cell, Evidence), *left, f"{counts.errata.get(CONTRADICTED, 0)} of {known}" if known else "-"]


def _verb(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def _telling(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The same verdicts, the most informative first: claims that the paper's text states and that were measured with noise.

    Among equals, the experiments take turns.
    """

    def weight(v: Verdict) -> tuple[bool, bool, bool]:
        claim = v.claim
        return (not whatever(v), claim.exact or claim.made or not claim.experiment, claim.basis != "text")

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
