"""Recorded verdicts, for claims whose experiment was not run here, and whether a record was made by the current code.

Imported by the judge and by `reproduce`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbench import identity
from dpbench.auditing.cache import CHANGED
from dpbench.claims.cases import ALONE, FITTED, can_contradict, evidence_of, unread
from dpbench.config import catalogue
from dpbench.errors import UserError
from dpbench.identity import digest
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.claim import BY_CONSTRUCTION, CONTRADICTED, OPEN, Claim
from dpbench.model.reading import DEFAULT
from dpbench.model.record import Record, RecordedVerdict
from dpbench.model.verdict import Case, Evidence, Group, Verdict
from dpbench.registry import Registry
from dpbench.sources.base import SOURCES
from dpbench.storage.record import read
from dpbench.tasks.base import TASKS

OURS = "dpbench"
RENAMED = {"inconclusive": OPEN}
"""Words of records that were written before they were renamed."""
SAME = ("files", "trials", "error", "expected", "needs")
"""What a verdict and its recorded form have under one name."""


def code_digest(classes: Mapping[str, tuple[str, ...]]) -> str:
    """One digest of the code of sources, mechanisms and tasks as installed; library versions do not count.

    Empty when one of them is not here any more, or is neither registered nor ours: what a record names is never imported.
    """
    if not all("." not in name or name.startswith(f"{OURS}.") for names in classes.values() for name in names):
        return ""
    registries: dict[str, Registry[Any]] = {"source": SOURCES, "mechanism": MECHANISMS, "task": TASKS}
    try:
        installed = [registries[kind].get(name) for kind, names in classes.items() for name in names]
    except (UserError, KeyError):
        return ""
    return digest(dict(identity.setting_code(installed, (), ()).modules))


def is_current(record: Record) -> bool:
    """Whether the installed code is the code that computed a record."""
    return code_digest(record.classes) == record.code != ""


def source_of(record: Record) -> str:
    """Where recorded numbers come from, as text."""
    changed = "" if is_current(record) else f", {CHANGED}"
    return f"recorded at {record.commit}{changed}"


@functools.cache
def _record(experiment: str, folder: Path) -> tuple[Record, str] | None:
    record = read(experiment, folder)
    return None if record is None else (record, source_of(record))


def recorded(claim: Claim, folder: Path) -> Verdict | None:
    """The recorded verdict of the strongest evidence on a claim; `others` has those of the other evidence.

    None if there is none, or if the claim's expectation has changed since.
    """
    read_record = _record(claim.experiment, folder) if claim.experiment else None
    if read_record is None:
        return None
    record, where = read_record
    kept = [
        _verdict(claim, v, record, where) for v in record.verdicts if (v.claim, v.expect) == (claim.id, claim.expect)
    ]
    return replace(kept[0], others=tuple(kept[1:])) if kept else None


def _verdict(claim: Claim, kept: RecordedVerdict, record: Record, where: str) -> Verdict:
    decider = None
    verdict, reason = _word(claim, kept)
    if kept.value is not None:
        low, high = (kept.value if end is None else end for end in (kept.low, kept.high))
        decider = Group({}, kept.value, low, high, verdict)
    return Verdict(
        claim,
        verdict,
        reason,
        decider=decider,
        scale=record.scale,
        method=kept.where,
        data_seeds=max(1, len(record.data_seeds)),
        recorded=where,
        evidence=_evidence(claim, kept),
        cases=kept.cases
        or (Case(DEFAULT, DEFAULT, verdict, kept.value, kept.low, kept.high, kept.where, kept.trials),),
        untried=kept.untried if kept.evidence else unread(claim),
        **{name: getattr(kept, name) for name in SAME},
    )


def _evidence(claim: Claim, kept: RecordedVerdict) -> Evidence:
    if kept.evidence in list(Evidence):
        return Evidence(kept.evidence)
    datasets = sorted(claim.datasets) or catalogue.axes(claim.experiment).datasets
    return Evidence.FILES if kept.files else evidence_of(datasets, kept.cases)


def _word(claim: Claim, kept: RecordedVerdict) -> tuple[str, str]:
    """The verdict as today's rules have it. What a generator was given may have become known after the record was made."""
    word = RENAMED.get(kept.verdict, kept.verdict)
    if claim.made and not kept.files:
        return BY_CONSTRUCTION, FITTED
    if word == CONTRADICTED and not can_contradict(claim, _evidence(claim, kept)):
        return OPEN, ALONE
    return word, kept.reason


def all_of(verdict: Verdict) -> tuple[RecordedVerdict, ...]:
    """A verdict and those of the other evidence, in the form of the record, the strongest first."""
    return tuple(of(each) for each in (verdict, *verdict.others))


def of(verdict: Verdict) -> RecordedVerdict:
    """A verdict in the form of the record."""
    group = verdict.decider
    return RecordedVerdict(
        claim=verdict.claim.id,
        verdict=verdict.verdict,
        expect=verdict.claim.expect,
        value=None if group is None else group.value,
        low=None if group is None else group.low,
        high=None if group is None else group.high,
        where=verdict.where,
        reason=verdict.reason,
        evidence=verdict.evidence.value if verdict.evidence else "",
        cases=verdict.cases if len(verdict.cases) > 1 else (),
        untried=verdict.untried,
        **{name: getattr(verdict, name) for name in SAME},
    )
