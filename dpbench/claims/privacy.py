"""Verdicts on claims about privacy, by replay of the mechanisms on random pairs of neighbours. Reads no stored trials.

Imported by the judge; imports the module that runs the audits.
"""

from __future__ import annotations

from pathlib import Path

from dpbench.claims.replays import Replayed, replayed
from dpbench.errors import UserError
from dpbench.model.claim import CONTRADICTED, OPEN, Claim, Region, Replay
from dpbench.model.verdict import RANK, Evidence, Group, Verdict

TOLERANCE = 1e-9
"""Tolerance of a computed loss at its bound."""


def by_audit(claim: Claim, asked: Replay, record: Path | None = None) -> Verdict:
    """The verdict of an audit: what was found is exact for its pairs, so there is no interval.

    record: where answers are taken from, even if the code has changed since; the verdict then says so.
    """
    try:
        audits = replayed(asked, record)
    except UserError as error:
        raise UserError(f"claim {claim.id}: {error}") from None
    groups = [(_group(claim.region, each), each.answer) for each in audits]
    decider, deciding = min(groups, key=lambda both: (RANK[both[0].verdict], claim.region.margin(both[0].value)))
    pairs = sum(each.answer.pairs for each in audits)
    on = f"{pairs} {'pair' if pairs == 1 else 'pairs'}{' in all' if len(audits) > 1 else ''}"
    reason = deciding.undecided if decider.verdict == OPEN else ""
    if decider.verdict == CONTRADICTED or deciding.reason:  # the pair and step let a reader check what was found
        reason = ": ".join(filter(None, [", ".join(filter(None, [deciding.pair, deciding.step])), deciding.reason]))
    return Verdict(
        claim,
        decider.verdict,
        reason,
        tuple(group for group, _ in groups),
        decider,
        evidence=Evidence.PROOF,
        method=", ".join(filter(None, [f"{deciding.method} on {on}", *{each.recorded: None for each in audits}])),
    )


def _group(region: Region, audited: Replayed) -> Group:
    value = audited.answer.value
    if 0 < value - region.high <= TOLERANCE:  # rounding of the last digits
        value = region.high
    verdict = region.judge(value, value)
    # A loss that was found is certain. If none was found, it may be in a part that was not examined.
    if audited.answer.undecided and not value > region.high:
        verdict = OPEN
    return Group(audited.choice.labels, value, value, value, verdict)
