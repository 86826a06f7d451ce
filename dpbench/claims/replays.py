"""Claims about privacy: the audit that a claim requests, read from its YAML, and its result.

    audit: {mechanism: gs_s, parameters: {bound: 3, sampling: column}, epsilon: 1, pairs: 300}

`mechanism` and `parameters` may be lists: the claim must then hold for all of them. `step` limits the audit to the cost of
that step; `quantity: sensitivity` measures how far the step's exact values move; `kind` restricts the data to that kind.
Imported by the ledger and the judge; calls the audit.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpbench.auditing.cache import Answer, cached
from dpbench.errors import UserError, one_of, positive, unknown
from dpbench.mechanisms.base import MECHANISMS, parse_epsilon
from dpbench.model.claim import Choice, Parameters, Quantity, Replay

QUANTITIES = ("loss", "sensitivity")
KEYS = ("mechanism", "parameters", "epsilon", "pairs", "step", "quantity", "kind")
MOST_PAIRS = 100_000


class BadAudit(UserError):
    """A wrong entry of `audit`; `key` says which."""

    def __init__(self, key: str, message: object) -> None:
        super().__init__(str(message))
        self.key = key


@dataclass(frozen=True)
class Replayed:
    """What was found about one choice."""

    choice: Choice
    answer: Answer
    recorded: str = ""
    """Its origin if it was not found by the present code: "recorded at COMMIT, the code has changed since"."""


def read_audit(entry: Mapping[str, Any]) -> Replay:
    """The `audit` of a claim. BadAudit: a key is unknown or missing, or its value is not valid."""
    for key in entry:
        if key not in KEYS:
            raise BadAudit(str(key), unknown("key", str(key), KEYS))
    for key in ("mechanism", "epsilon", "pairs"):
        if key not in entry:
            raise BadAudit("", f"audit: {key} is missing: expected mechanism, epsilon and pairs")
    key = "mechanism"
    try:
        names = _several(entry["mechanism"])
        for name in names:
            MECHANISMS.get(name)
        key = "parameters"
        ways = [_parameters(way) for way in _several(entry.get("parameters", {}))]
        choices = tuple(Choice(name, way) for name, way in itertools.product(names, ways))
        for choice in choices:
            MECHANISMS.make(choice.mechanism, **dict(choice.parameters))
        key = "epsilon"
        epsilon = parse_epsilon(entry["epsilon"])
        key = "pairs"
        positive("pairs", entry["pairs"], whole=True)
        if entry["pairs"] > MOST_PAIRS:
            raise UserError(f"pairs={entry['pairs']} is not valid: expected at most {MOST_PAIRS}")
        key = "step"
        step = entry.get("step", "")
        if not isinstance(step, str):
            raise UserError(f"step={step!r} is not valid: expected the name of a step")
        key = "quantity"
        quantity = entry.get("quantity", "loss")
        one_of("quantity", quantity, QUANTITIES)
        if quantity == "sensitivity" and not step:
            raise UserError("quantity=sensitivity is about one step: expected `step`, too")
        key = "kind"
        kind = entry.get("kind", "")
        if kind and not step:
            raise UserError("kind goes with one step: expected `step`, too")
        for name in names if kind else ():
            one_of("kind", kind, MECHANISMS.get(name).kinds)
    except UserError as error:
        raise BadAudit(key, error) from None
    return Replay(choices, epsilon, int(entry["pairs"]), step, quantity, kind)


def _several(value: Any) -> list[Any]:
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise UserError("[] is not valid: expected at least one")
    return listed


def _parameters(way: Any) -> Parameters:
    if not isinstance(way, Mapping):
        raise UserError(f"parameters={way!r} is not valid: expected parameters and their values, or a list of such")
    for name, value in way.items():
        if not isinstance(value, str | int | float):
            raise UserError(f"parameters: {name}={value!r} is not valid: expected a word or a number")
    return tuple((str(name), value) for name, value in way.items())


def replayed(asked: Replay, record: Path | None = None) -> list[Replayed]:
    """What the audit finds about each choice. UserError if there is no such step.

    record: the folder of a record whose answers are taken where there is one, even if the code has changed since.
    """
    return [
        _replayed(choice, asked.epsilon, asked.pairs, asked.step, asked.quantity, asked.kind, record)
        for choice in asked.choices
    ]


@functools.cache
def _replayed(
    choice: Choice, epsilon: float, pairs: int, step: str, quantity: Quantity, kind: str, record: Path | None
) -> Replayed:
    """Stored in memory and in the cache: several claims and pages request the same audit."""
    mechanism = MECHANISMS.make(choice.mechanism, **dict(choice.parameters))

    def audit() -> dict[str, Any]:
        return asdict(_audited(choice.mechanism, mechanism, epsilon, pairs, step, quantity, kind))

    asked = [choice.labels, epsilon, pairs, step, quantity, *([kind] if kind else [])]
    found, recorded = cached(asked, mechanism, audit, record)
    return Replayed(choice, Answer(**found), recorded)


def _audited(name: str, mechanism: Any, epsilon: float, pairs: int, step: str, quantity: Quantity, kind: str) -> Answer:
    from dpbench.auditing.replay import audit_by_replay, cannot_replay
    from dpbench.auditing.steps import step_on_pairs
    from dpbench.auditing.transcripts import TOLERANCE

    if reason := cannot_replay(mechanism):
        return Answer(0.0, 0, "replay", undecided=reason)
    if step:
        alone = step_on_pairs(mechanism, epsilon, pairs, step, quantity, kind=kind)
        why = "" if alone.pairs else alone.reason
        return Answer(alone.value, alone.pairs, "replay", alone.pair, step, alone.reason, why)
    finding = audit_by_replay(mechanism, epsilon, pairs, name=name)
    if finding is None:
        return Answer(0.0, 0, "replay", undecided="it has another source of randomness, which cannot be replayed")
    undecided = finding.reason if finding.verdict == "inconclusive" else ""
    differs = finding.reason if math.isinf(finding.loss) or finding.loss > epsilon + TOLERANCE else ""
    return Answer(
        finding.loss,
        finding.pairs,
        finding.method,
        finding.pair,
        finding.step.replace("'", ""),
        differs,
        undecided,
    )
