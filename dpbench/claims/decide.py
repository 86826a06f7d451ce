"""From a claim and the cells of a run to a verdict: the measure in every group, its intervals, and the conclusion.

Imported by the judge, which chooses the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpbench.claims.expression import ERROR, Interval, evaluate_at
from dpbench.claims.formulas import COMPUTATIONS
from dpbench.claims.scope import MissingResults, Scope
from dpbench.claims.verdicts import FIRM
from dpbench.errors import UserError
from dpbench.model.claim import CONTRADICTED, ERRATUM, OPEN, REPRODUCED, UNTESTABLE, Claim, Region
from dpbench.model.verdict import RANK, Evidence, Group, Verdict, describe

ERRORS = (ERROR, 0.01, FIRM)
"""Error probabilities of the intervals. The first one decides the verdict; the others show how firm it is."""
ROUNDING = 1e-9
"""Tolerance for a computed number at a border."""
FITTED = "the data is generated, and fitted to this"
GENERATED = "on generated data, which was not made to show this"


def decide(claim: Claim, scope: Scope, lacking: Sequence[str] = (), generated: bool = False) -> Verdict:
    """`lacking`: parts of the claim that could not be measured in this run."""
    try:
        measured, holes = _measure(claim, scope)
    except MissingResults as problem:
        return Verdict(claim, UNTESTABLE, "; ".join([str(problem), *lacking]))
    except UserError as error:
        raise UserError(f"claim {claim.id}: {error}") from None
    used = scope.used.values()
    trials = min((cell.trials for cell in used), default=0)
    seeds = min((cell.data_seeds for cell in used), default=1)
    verdicts = [_at(claim, measured, level) for level in range(len(ERRORS))]
    verdict = replace(verdicts[0], trials=trials, data_seeds=seeds)
    if trials * seeds == 1 and not claim.exact:
        return replace(verdict, verdict=OPEN, reason="one trial gives no interval")
    lacking = [*lacking, *holes]
    if lacking and verdict.verdict != (REPRODUCED if claim.some else CONTRADICTED):
        reason = f"{verdict.verdict} where it could be tested; {'; '.join(lacking)}"
        return replace(verdict, verdict=OPEN, reason=reason)
    if any(group.low != group.high for group in verdict.groups):
        firm = [error for error, at in zip(ERRORS, verdicts, strict=True) if at.verdict == verdict.verdict]
        verdict = replace(verdict, error=min(firm))
    if generated and claim.made:
        return replace(verdict, reason=FITTED)
    if generated and verdict.verdict == CONTRADICTED and claim.basis != ERRATUM:
        return replace(verdict, reason=GENERATED)
    return verdict


def by_computation(claim: Claim) -> Verdict:
    """The verdict of a computation: exact, so there is no interval."""
    computed = COMPUTATIONS[claim.compute]()
    value = computed.value
    for border in (claim.region.low, claim.region.high):
        value = border if abs(value - border) <= ROUNDING else value
    group = _group(claim.region, {}, Interval(value, value, value))
    method = f"computed over {computed.cases} cases"
    return Verdict(claim, group.verdict, "", (group,), group, evidence=Evidence.PROOF, method=method)


def _at(claim: Claim, measured: list[tuple[dict[str, Any], list[Interval]]], level: int) -> Verdict:
    """The verdict from the intervals at one error level."""
    groups = tuple(_group(claim.region, labels, intervals[level]) for labels, intervals in measured)
    order: Callable[[Group], Any] = lambda g: (RANK[g.verdict], claim.region.margin(g.value))  # noqa: E731
    decider = max(groups, key=order) if claim.some else min(groups, key=order)
    return Verdict(claim, decider.verdict, "", groups, decider)


def _measure(claim: Claim, scope: Scope) -> tuple[list[tuple[dict[str, Any], list[Interval]]], list[str]]:
    """The measure in every group that has the needed results, and what the others lack.

    Intervals of several groups hold together: each gets its share of the error (Bonferroni).
    """
    if claim.experiment:
        scope = scope.any_of(claim.alternatives)
    axes = claim.each or claim.some
    certain = frozenset(claim.certain)
    if not axes:
        return [({}, evaluate_at(claim.measure, scope, ERRORS, certain))], []
    measured, holes = [], []
    groups = list(scope.groups(axes))
    errors = [error / max(1, len(groups)) for error in ERRORS]
    for labels in groups:
        try:
            measured.append((labels, evaluate_at(claim.measure, scope.where(labels), errors, certain)))
        except MissingResults as missing:
            holes.append(f"{describe(labels)}: {missing}")
    if not measured:
        raise MissingResults(holes[0].partition(": ")[2] if holes else f"no cell has {' and '.join(axes)}")
    return measured, holes


def _group(region: Region, labels: dict[str, Any], interval: Interval) -> Group:
    if not np.isfinite(interval.value):
        return Group(labels, interval.value, -np.inf, np.inf, OPEN)
    return Group(labels, interval.value, interval.low, interval.high, region.judge(interval.low, interval.high))
