"""One step of a mechanism on random pairs: how far one row moves its exact values, and the cost of this step alone.

For statements of papers about a single step ("the averages have a sensitivity of Δ/w"), while the audit by replay considers
all steps together. Imported by the claims; imports replay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.auditing.losses import cost
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.recording import Differs, Step, Trace
from dpbench.auditing.replay import fitting_pairs
from dpbench.auditing.runs import DataRefused, record, replay
from dpbench.errors import unknown
from dpbench.mechanisms.base import Mechanism
from dpbench.model.claim import Quantity

MOST_CELLS = 128
"""Tables beyond are left out when a sensitivity is measured: that of a tree grows with its height, and statements name the height
for tables up to this size. Nothing is lost by it: on larger tables a sensitivity above the stated one is a larger loss, and
losses are computed on tables of every size, here and by the audit."""


@dataclass(frozen=True)
class StepFound:
    """The largest value over all pairs; infinite if the step differs in what must be equal."""

    value: float
    pairs: int
    """Number of pairs examined."""
    pair: str = ""
    reason: str = ""
    """What differed, or why no pair could be run."""


def step_on_pairs(
    mechanism: Any, epsilon: float, pairs_count: int, step: str, quantity: Quantity, seed: int = 0, *, kind: str = ""
) -> StepFound:
    """The largest sensitivity (L1; for a choice: of one score) or loss of a named step. UserError if there is no such step.

    kind: of data, for a mechanism that accepts several. For a step on a sample, the new row is assumed to be in the sample:
    amplification by sampling is not counted.
    """
    form = mechanism.stepwise() if isinstance(mechanism, Mechanism) else mechanism
    known: dict[str, None] = {}
    worst, looked_at, refused = StepFound(0.0, 0), 0, ""
    for number, pair in enumerate(fitting_pairs(form, pairs_count, seed, kind)):
        if quantity == "sensitivity" and getattr(pair.before, "size", 0) > MOST_CELLS:
            continue
        try:
            values = [
                _value(one, other, quantity) for one, other in _both(form, pair, epsilon, seed + number, step, known)
            ]
        except DataRefused as error:
            refused = str(error)
            continue
        except Differs as differs:
            return StepFound(math.inf, looked_at + 1, pair.name, differs.what)
        looked_at += 1
        value = max(values, default=0.0)
        if value > worst.value:
            worst = StepFound(value, 0, pair.name)
    if looked_at and step not in known:
        raise unknown("step", step, known)
    return StepFound(worst.value, looked_at, worst.pair, "" if looked_at else refused or "it takes none of the pairs")


def _both(
    mechanism: Any, pair: Neighbours, epsilon: float, seed: int, step: str, known: dict[str, None]
) -> Iterator[tuple[Step, Step]]:
    """The step on both neighbours, along one run recorded on each of them."""
    for data, other in ((pair.before, pair.after), (pair.after, pair.before)):
        recorded = record(mechanism, data, epsilon, seed)
        samples = {at for at, each in enumerate(recorded.steps) if each.kind == "rows"}
        newcomers = samples if data is pair.before else set()
        played: Trace = replay(mechanism, other, epsilon, seed, recorded, newcomers=newcomers)
        known |= dict.fromkeys(each.name for each in recorded.steps)
        yield from ((a, b) for a, b in zip(recorded.steps, played.steps, strict=True) if a.name == step)


def _value(recorded: Step, other: Step, quantity: Quantity) -> float:
    if quantity == "loss":
        return cost(recorded, other).pure
    apart = np.abs(other.exact.astype(np.float64) - recorded.exact.astype(np.float64))
    return float(apart.max(initial=0.0) if recorded.kind == "choose" else apart.sum())
