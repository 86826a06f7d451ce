"""The sections on claims: all of them, their counts by paper, those beside a figure, and the errata.

Imported by `view`.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpbench.claims.ledger import BASES, CONTRADICTED, UNTESTABLE, VERDICTS
from dpbench.claims.verdicts import Verdict, tally
from dpbench.config.schema import SCALES
from dpbench.paths import EXPERIMENTS
from dpbench.report.gather import Facts, title_of
from dpbench.report.tables import Head, heads
from dpbench.report.text import anchor, expected
from dpbench.results.commands import RESULTS

FEW = 3  # up to this many untestable claims are shown beside a figure, more are collapsed


@dataclass(frozen=True)
class ClaimView:
    """A claim with its verdict. Fields ending in `_sort` are sort keys, independent of the unit shown."""

    id: str
    paper: str
    place: str
    basis: str
    says: str
    note: str
    verdict: str
    reason: str
    measured: str
    measured_sort: float | str
    where: str
    interval: str
    interval_sort: float | str
    expects: str
    expects_sort: float | str
    measure: str
    """The formula of the measured value."""
    source: str
    """Which data decided it, and whether a run or the record."""
    also: tuple[str, ...]
    """Verdicts from other evidence, as text."""
    experiment: str
    evidence: str
    scale: str

    @property
    def anchor(self) -> str:
        return anchor("claim", self.id)

    @property
    def filters(self) -> Mapping[str, str]:
        return {"verdict": self.verdict, "paper": self.paper, "basis": self.basis}


@dataclass(frozen=True)
class Share:
    """How many claims of a paper have a verdict."""

    verdict: str
    count: int
    percent: float


@dataclass(frozen=True)
class PaperShares:
    """The verdicts of one paper's claims."""

    paper: str
    title: str
    shares: tuple[Share, ...]

    @property
    def words(self) -> str:
        return ", ".join(f"{share.count} {share.verdict}" for share in self.shares)


@dataclass(frozen=True)
class TooSmall:
    """How many claims need larger runs, and the command for those."""

    count: int
    need: str
    command: str


@dataclass(frozen=True)
class ClaimsView:
    """The section of all claims."""

    claims: tuple[ClaimView, ...]
    heads: tuple[Head, ...]
    papers: tuple[PaperShares, ...]
    paper_heads: tuple[Head, ...]
    bases: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    too_small: TooSmall | None
    copies: int
    """Claims that repeat another one with a mechanism of ours: not counted."""


@dataclass(frozen=True)
class Beside:
    """The claims of one experiment, for its figure: those listed, and those collapsed because this run cannot test them."""

    listed: tuple[ClaimView, ...]
    folded: tuple[ClaimView, ...]


@dataclass(frozen=True)
class ErrataView:
    """The section on errors in the papers, and on what we do differently."""

    known: tuple[ClaimView, ...]
    heads: tuple[Head, ...]
    others: tuple[ClaimView, ...]
    """Contradicted here, but not a known erratum."""
    differences_title: str
    differences: str
    """Markdown; empty if there is none."""


def claims_view(facts: Facts) -> ClaimsView:
    papers = list(dict.fromkeys(v.claim.paper for v in facts.verdicts))
    return ClaimsView(
        claims=tuple(claim_view(v) for v in facts.verdicts),
        heads=heads("claim", "verdict", "measured", "95 % interval", "paper expects", "decided by"),
        papers=tuple(_shares(paper, facts.verdicts) for paper in papers),
        paper_heads=heads("paper", *VERDICTS, "share"),
        bases=BASES,
        choices={"verdict": VERDICTS, "paper": papers, "basis": list(BASES)},
        too_small=_too_small(facts),
        copies=tally(facts.verdicts).copies,
    )


def claim_view(v: Verdict) -> ClaimView:
    claim = v.claim
    return ClaimView(
        id=claim.id,
        paper=claim.paper,
        place=claim.place,
        basis=claim.basis,
        says=claim.says,
        note=claim.note,
        verdict=v.verdict,
        reason=v.reason,
        measured=v.measured,
        measured_sort=v.decider.value if v.decider else "",
        where=v.where,
        interval=v.interval,
        interval_sort=v.decider.low if v.decider and v.interval else "",
        expects=expected(claim.expect),
        expects_sort=_border(v),
        measure=claim.measure,
        source=v.source if v.decider else "",
        also=tuple(map(_also, v.others)),
        experiment=claim.experiment,
        evidence=claim.evidence,
        scale=v.scale,
    )


def _also(v: Verdict) -> str:
    """A verdict from other evidence."""
    found = f"{v.measured}, {v.interval}" if v.interval else v.measured
    return f"also {v.verdict} ({found}): {v.source}" if found else f"also {v.verdict}: {v.source}"


def _border(v: Verdict) -> float | str:
    """The border of the expected region, or the lower one of two."""
    if not v.claim.expect:
        return ""
    region = v.claim.region
    return region.low if math.isfinite(region.low) else region.high


def _shares(paper: str, verdicts: Sequence[Verdict]) -> PaperShares:
    found = tally([v for v in verdicts if v.claim.paper == paper])
    shares = tuple(Share(name, count, 100 * count / max(1, found.claims)) for name, count in found.counts.items())
    return PaperShares(paper, title_of(paper), shares)


def _too_small(facts: Facts) -> TooSmall | None:
    """Many untestable claims only need a larger run: the page says so once, with the command."""
    waiting = [v for v in facts.verdicts if v.verdict == UNTESTABLE and "needs scale=" in v.reason]
    if not waiting:
        return None
    scales = {scale: sum(v.claim.scale == scale for v in waiting) for scale in SCALES}
    scales = {scale: count for scale, count in scales.items() if count}
    need = ", ".join(f"{count} need scale {scale}" for scale, count in scales.items())
    words = ["--scale", next(iter(scales)), *(["--results", str(facts.results)] if facts.results != RESULTS else [])]
    return TooSmall(len(waiting), need, shlex.join(["python", "-m", "dpbench", "claims", "--run", *words]))


def beside(verdicts: Sequence[Verdict]) -> Beside:
    """The claims that an experiment decides; those that this run cannot test come last."""
    tested = [claim_view(v) for v in verdicts if v.verdict != UNTESTABLE]
    rest = [claim_view(v) for v in verdicts if v.verdict == UNTESTABLE]
    if len(rest) <= FEW:
        return Beside((*tested, *rest), ())
    return Beside(tuple(tested), tuple(rest))


def errata_view(facts: Facts, differences: Path = EXPERIMENTS / "DIFFERENCES.md") -> ErrataView:
    title, _, body = differences.read_text(encoding="utf-8").partition("\n") if differences.is_file() else ("", "", "")
    return ErrataView(
        known=tuple(claim_view(v) for v in facts.verdicts if v.claim.basis == "erratum"),
        heads=heads("the paper says", "place", "verdict", "measured", "paper expects", "why"),
        others=tuple(claim_view(v) for v in facts.verdicts if v.verdict == CONTRADICTED and v.claim.basis != "erratum"),
        differences_title=title.lstrip("# "),
        differences=body,
    )
