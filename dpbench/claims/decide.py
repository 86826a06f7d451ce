"""From a claim to a verdict: by the cells of one case, with the measure in every group and its intervals; by a computation; or by
an audit, which replays mechanisms on random pairs of neighbours.

Imported by the judge, which chooses the run and the cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.claims.expression import ERROR, Interval, evaluate_at
from dpbench.claims.formulas import COMPUTATIONS
from dpbench.claims.laws import FEWEST, enough, fewest
from dpbench.claims.replays import Replayed, replayed
from dpbench.claims.scope import MissingResults, Scope
from dpbench.claims.verdicts import FIRM
from dpbench.errors import UserError
from dpbench.model.claim import CONTRADICTED, OPEN, REPRODUCED, UNTESTABLE, Claim, Region, Replay
from dpbench.model.verdict import RANK, Evidence, Group, Verdict, describe

ERRORS = (ERROR, 0.01, FIRM, FIRM / 2)
"""Error probabilities of the intervals. The first one decides the verdict; the others show how firm it is, down to what the draws
of a mean resolve (`laws.DRAWS`)."""
ROUNDING = 1e-9
"""Tolerance for a computed number at a border, relative to the border: one of 1e-12 would mean nothing beside 1e-9."""
MeasuredGroup = tuple[dict[str, Any], list[Interval], int | None]
"""A group of settings: its labels, the intervals of the measure, and its trials if they are too few for any interval."""


def decide(claim: Claim, scope: Scope, lacking: Sequence[str] = (), *, unseen: bool = True) -> Verdict:
    """`lacking`: parts of the claim that could not be measured in this run.

    `unseen`: whether intervals allow for a rare disaster that few trials do not show; a drawn number has the plain interval.
    """
    try:
        measured, holes = _measure(claim, scope, unseen)
    except MissingResults as problem:
        return Verdict(claim, UNTESTABLE, "; ".join([str(problem), *lacking]))
    except UserError as error:
        raise UserError(f"claim {claim.id}: {error}") from None
    used = scope.used.values()
    trials = min((cell.trials for cell in used), default=0)
    seeds = min((cell.data_seeds for cell in used), default=1)
    verdicts = [_at(claim, measured, level) for level in range(len(ERRORS))]
    verdict = replace(verdicts[0], trials=trials, data_seeds=seeds, expected=tuple(scope.expected))
    if trials * seeds == 1 and not claim.exact:
        return replace(verdict, verdict=OPEN, reason="one trial gives no interval", needs=FEWEST)
    few = [count for _, _, count in measured if count is not None]
    lacking = [*lacking, *holes]
    if lacking and verdict.verdict != (REPRODUCED if claim.some else CONTRADICTED):
        reason = f"{verdict.verdict} where it could be tested; {'; '.join(lacking)}"
        return replace(verdict, verdict=OPEN, reason=reason)
    if any(group.low != group.high for group in verdict.groups):
        firm = [error for error, at in zip(ERRORS, verdicts, strict=True) if at.verdict == verdict.verdict]
        verdict = replace(verdict, error=min(firm))
    if verdict.verdict == OPEN and few:
        reason = f"too few trials: {min(few)}, and a rare bad trial may not have occurred yet"
        return replace(verdict, reason=reason, needs=fewest(len(measured)))
    if verdict.verdict == OPEN and scope.widened:
        reason = f"{min(scope.widened.values())} trials may not show a rare bad one, which would decide"
        return replace(verdict, reason=reason, needs=enough(ERROR / len(measured)))
    if verdict.verdict == OPEN:
        return replace(verdict, needs=needed(claim.region, verdict.groups, trials * seeds))
    return verdict


def needed(region: Region, groups: Sequence[Group], trials: int) -> int | None:
    """About how many trials would decide all open groups, if the values stay: an interval shrinks with the root of their number.

    None if no number would.
    """
    most = 0.0
    for group in groups:
        if group.verdict != OPEN:
            continue
        sides = [(border, group.low if border < group.value else group.high) for border in (region.low, region.high)]
        reach = [abs(end - group.value) / abs(border - group.value) for border, end in sides if border != group.value]
        most = max(most, *reach) if len(reach) == len(sides) else np.inf
    if not (trials and np.isfinite(most)):
        return None
    digits = 10 ** max(0, int(np.log10(max(1.0, trials * most**2))) - 1)
    return int(np.ceil(trials * most**2 / digits) * digits)


def by_computation(claim: Claim) -> Verdict:
    """The verdict of a computation: exact, so there is no interval."""
    computed = COMPUTATIONS[claim.compute]()
    value = computed.value
    for border in (claim.region.low, claim.region.high):
        value = _at_border(value, border)
    group = _group(claim.region, {}, Interval(value, value, value))
    method = f"computed over {computed.cases} cases"
    return Verdict(claim, group.verdict, "", (group,), group, evidence=Evidence.PROOF, method=method)


def _at_border(value: float, border: float) -> float:
    """The border, if a value differs from it by the rounding of its last digits only."""
    near = np.isfinite(border) and abs(value - border) <= ROUNDING * (abs(border) or 1)
    return border if near else value


def by_audit(claim: Claim, asked: Replay, record: Path | None = None) -> Verdict:
    """The verdict of an audit: what was found is exact for its pairs, so there is no interval.

    record: where answers are taken from, even if the code has changed since; the verdict then says so.
    """
    try:
        audits = replayed(asked, record)
    except UserError as error:
        raise UserError(f"claim {claim.id}: {error}") from None
    groups = [(_audited(claim.region, each), each.answer) for each in audits]
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


def _audited(region: Region, audited: Replayed) -> Group:
    value = _at_border(audited.answer.value, region.high)
    verdict = region.judge(value, value)
    # A loss that was found is certain. If none was found, it may be in a part that was not examined.
    if audited.answer.undecided and not value > region.high:
        verdict = OPEN
    return Group(audited.choice.labels, value, value, value, verdict)


def _at(claim: Claim, measured: list[MeasuredGroup], level: int) -> Verdict:
    """The verdict from the intervals at one error level."""
    groups = tuple(_group(claim.region, labels, intervals[level], few) for labels, intervals, few in measured)
    order: Callable[[Group], Any] = lambda g: (RANK[g.verdict], claim.region.margin(g.value))  # noqa: E731
    decider = max(groups, key=order) if claim.some else min(groups, key=order)
    return Verdict(claim, decider.verdict, "", groups, decider)


def _measure(claim: Claim, scope: Scope, unseen: bool) -> tuple[list[MeasuredGroup], list[str]]:
    """The measure in every group that has the needed results, and what the others lack.

    Intervals of several groups hold together: each gets its share of the error (Bonferroni).
    """
    if claim.experiment:
        scope = scope.any_of(claim.alternatives)
    axes = claim.each or claim.some
    certain = frozenset(claim.certain)
    if claim.exact:
        certain = frozenset(name for cell in scope.cells for name in cell.values)
    if not axes:
        return [
            ({}, evaluate_at(claim.measure, scope, ERRORS, certain, enough(ERROR) * unseen), _too_few(scope, 1))
        ], []
    measured: list[MeasuredGroup] = []
    holes = []
    groups = list(scope.groups(axes))
    errors = [error / max(1, len(groups)) for error in ERRORS]
    for labels in groups:
        try:
            group = replace(scope.where(labels), noisy={})
            intervals = evaluate_at(claim.measure, group, errors, certain, enough(errors[0]) * unseen)
            measured.append((labels, intervals, _too_few(group, len(groups))))
        except MissingResults as missing:
            holes.append(f"{describe(labels)}: {missing}")
    if not measured:
        raise MissingResults(holes[0].partition(": ")[2] if holes else f"no cell has {' and '.join(axes)}")
    return measured, holes


def _too_few(scope: Scope, groups: int) -> int | None:
    """The least number of trials of a used cell, if it is too small for this many groups."""
    least = min(scope.noisy.values(), default=None)
    return least if least is not None and least < fewest(groups) else None


def _group(region: Region, labels: dict[str, Any], interval: Interval, few: int | None = None) -> Group:
    if not np.isfinite(interval.value):
        return Group(labels, interval.value, -np.inf, np.inf, OPEN)
    verdict = region.judge(interval.low, interval.high) if few is None else OPEN
    return Group(labels, interval.value, interval.low, interval.high, verdict)
