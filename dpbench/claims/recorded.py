"""Recorded verdicts, for claims whose experiment was not run here. Imported by the judge."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from dpbench.claims.ledger import Claim
from dpbench.claims.verdicts import Group, Verdict
from dpbench.engine.recorded import told
from dpbench.results.record import Record, RecordedVerdict, read


def source_of(record: Record) -> str:
    """Where recorded numbers come from, as text."""
    return told(record)


@functools.cache
def _record(experiment: str, folder: Path) -> tuple[Record, str] | None:
    found = read(experiment, folder)
    return None if found is None else (found, source_of(found))


def recorded(claim: Claim, folder: Path) -> Verdict | None:
    """The recorded verdict of the strongest evidence on a claim; `others` has those of the other evidence.

    None if there is none, or if the claim's expectation has changed since.
    """
    found = _record(claim.experiment, folder) if claim.experiment else None
    if found is None:
        return None
    record, where = found
    kept = [
        _verdict(claim, v, record, where) for v in record.verdicts if (v.claim, v.expect) == (claim.id, claim.expect)
    ]
    return replace(kept[0], others=tuple(kept[1:])) if kept else None


def _verdict(claim: Claim, one: RecordedVerdict, record: Record, where: str) -> Verdict:
    decider = None
    if one.value is not None:
        low, high = (one.value if end is None else end for end in (one.low, one.high))
        decider = Group({}, one.value, low, high, one.verdict)
    return Verdict(
        claim,
        one.verdict,
        one.reason,
        decider=decider,
        scale=record.scale,
        trials=one.trials,
        evidence=one.where,
        files=one.files,
        data_seeds=max(1, len(record.data_seeds)),
        error=one.error,
        recorded=where,
    )


def all_of(found: Verdict) -> tuple[RecordedVerdict, ...]:
    """A verdict and those of the other evidence, in the form of the record, the strongest first."""
    return tuple(of(one) for one in (found, *found.others))


def of(found: Verdict) -> RecordedVerdict:
    """A verdict in the form of the record."""
    group = found.decider
    return RecordedVerdict(
        claim=found.claim.id,
        verdict=found.verdict,
        expect=found.claim.expect,
        value=None if group is None else group.value,
        low=None if group is None else group.low,
        high=None if group is None else group.high,
        where=found.where,
        reason=found.reason,
        files=found.files,
        trials=found.trials,
        error=found.error,
    )
