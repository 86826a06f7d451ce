"""Verdicts on claims about privacy, by replay of the mechanisms on random pairs of neighbours. Reads no stored trials.

Imported by the judge; imports the module that runs the audits.
"""

from __future__ import annotations

from dpbench.claims.ledger import CONTRADICTED, INCONCLUSIVE, Claim, Region
from dpbench.claims.replays import Replay, Replayed, replayed
from dpbench.claims.verdicts import RANK, Group, Verdict
from dpbench.errors import UserError

TOLERANCE = 1e-9
"""Tolerance of a computed loss at its bound."""


def by_audit(claim: Claim, asked: Replay) -> Verdict:
    """The verdict of an audit: what was found is exact for its pairs, so there is no interval."""
    try:
        found = replayed(asked)
    except UserError as error:
        raise UserError(f"claim {claim.id}: {error}") from None
    groups = [(_group(claim.region, one), one) for one in found]
    decider, one = min(groups, key=lambda both: (RANK[both[0].verdict], claim.region.margin(both[0].value)))
    pairs = sum(each.pairs for each in found)
    on = f"{pairs} {'pair' if pairs == 1 else 'pairs'}{' in all' if len(found) > 1 else ''}"
    reason = one.undecided if decider.verdict == INCONCLUSIVE else ""
    if decider.verdict == CONTRADICTED or one.reason:  # the pair and step let a reader check what was found
        reason = ": ".join(filter(None, [", ".join(filter(None, [one.pair, one.step])), one.reason]))
    return Verdict(
        claim, decider.verdict, reason, tuple(group for group, _ in groups), decider, evidence=f"{one.method} on {on}"
    )


def _group(region: Region, one: Replayed) -> Group:
    value = one.value
    if 0 < value - region.high <= TOLERANCE:  # rounding of the last digits
        value = region.high
    verdict = region.judge(value, value)
    # A loss that was found is certain. If none was found, it may be in a part that was not examined.
    if one.undecided and not value > region.high:
        verdict = INCONCLUSIVE
    return Group(one.choice.labels, value, value, value, verdict)
