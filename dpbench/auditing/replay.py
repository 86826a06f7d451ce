"""Audit by replay: the privacy loss of a mechanism on a pair of neighbours, computed and not estimated.

A run is recorded on one neighbour and replayed on both: the same streams, and the recorded output at every step. Kinds,
sizes, scales and what is published must agree; the cost of each step follows from its exact values. Pure losses must add up
to at most ε. Replay does not detect wrong samplers (although draws are compared with their stated probabilities), pairs
that were not tried, refusals, timing and floating-point effects.
Imported by the `audit` verb and by claims about losses; imports mechanisms and the common types of all methods.
"""

from __future__ import annotations

import inspect
import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

from dpbench.auditing import closed_form
from dpbench.auditing.enumeration import Samplers, TooMany
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.pairs import pairs
from dpbench.auditing.recording import Differs
from dpbench.auditing.transcripts import TOLERANCE, DataRefused, Judged, Notes, judge, record, replay
from dpbench.identity import parameters
from dpbench.mechanisms.base import Bounded, Mechanism
from dpbench.mechanisms.histograms.base import INDIVIDUAL as CELLS
from dpbench.model.finding import AuditVerdict, Finding
from dpbench.numerics import keyed

ATTEMPTS = 20
"""Pairs generated per wanted pair, if a mechanism does not accept all of them."""
HARDER = 20
"""How many times as many pairs are tried for mechanisms that declare themselves not private."""


def audit_by_replay(
    mechanism: Any, epsilon: float, pairs_count: int, seed: int = 0, *, name: str = "", own: tuple[Neighbours, ...] = ()
) -> Finding | None:
    """What replay finds about one mechanism with its parameters; None if it cannot be replayed (`cannot_replay`).

    own: the user's pairs, tried before the random ones.
    """
    started = time.perf_counter()
    if cannot_replay(mechanism):
        return None
    guarantee = str(getattr(mechanism, "privacy", "") or "none")
    delta = float(getattr(mechanism, "delta", 0.0)) if guarantee == "(ε, δ)" else 0.0
    # The same distribution, without shortcuts whose steps depend on the data.
    form = mechanism.stepwise() if isinstance(mechanism, Mechanism) else mechanism
    declared = mechanism.not_private() if hasattr(mechanism, "not_private") else ""
    pairs_count *= HARDER if declared else 1
    closed = closed_form.applies(form)
    look = closed_form.judge if closed else judge
    worst, notes = Judged(), Notes(Samplers(keyed.stream(seed, "audit", "samplers")))
    for number, pair in enumerate(itertools.chain(own, fitting_pairs(form, pairs_count, seed))):
        try:
            if number < 3 and not _repeatable(form, pair, epsilon):
                return None
            found = look(form, pair, epsilon, delta, seed + number, notes)
        except (DataRefused, TooMany) as error:
            notes.refused = str(error)
            continue
        notes.looked_at += 1
        worst = max(worst, found, key=lambda judged: judged.weight(epsilon)) if worst.pair else found
        if math.isinf(worst.loss) and worst.sure:
            break  # nothing is worse: mechanisms that read the data end here
    if step := notes.samplers.wrong():
        worst = Judged(math.inf, step, "all pairs", f"the draws of {step} do not follow the probabilities it states")
    verdict, reason = _verdict(worst, notes, epsilon, declared, guarantee)
    return Finding(
        mechanism=name or getattr(mechanism, "name", "") or type(mechanism).__name__,
        parameters=", ".join(f"{key}={value}" for key, value in parameters(mechanism).items()),
        method="closed form" if closed else "enumeration" if notes.enumerated else "replay",
        guarantee=guarantee,
        epsilon=epsilon,
        delta=delta,
        loss=worst.loss,
        verdict=verdict,
        pairs=notes.looked_at,
        pair=worst.pair,
        step=worst.step,
        reason=reason,
        at_most=not worst.sure,
        seconds=time.perf_counter() - started,
    )


def _verdict(worst: Judged, notes: Notes, epsilon: float, declared: str, guarantee: str) -> tuple[AuditVerdict, str]:
    if worst.loss > epsilon + TOLERANCE and not worst.sure:
        return "inconclusive", f"it is only known that the loss is at most {worst.loss:.4g}, by {worst.step}"
    if worst.loss > epsilon + TOLERANCE:
        # A mechanism that states no guarantee breaks none.
        return "violated" if not declared and guarantee != "none" else "declared not private", worst.reason or declared
    if not notes.looked_at:
        return "inconclusive", notes.refused or "it takes none of the pairs"
    if declared:
        return "inconclusive", f"no pair shows what it declares: {declared}"
    if notes.unknown:
        return "inconclusive", f"a draw is judged only by the outcomes that occurred: {notes.unknown}"
    return "holds", ""


def cannot_replay(mechanism: Any) -> str:
    """Why a mechanism cannot be replayed; empty if it can."""
    publish = getattr(type(mechanism), "publish", None)
    if not callable(publish) or publish is Mechanism.publish:
        return "it has no method publish(data, epsilon, noise)"
    if "noise" not in inspect.signature(publish).parameters:
        return "its publish takes no noise"
    # What is run is `release`, also of a class that is not derived from ours.
    if getattr(type(mechanism), "release", Mechanism.release) is not Mechanism.release:
        return "it has a release of its own, which may do more than publish"
    return ""


def fitting_pairs(mechanism: Any, count: int, seed: int, kind: str = "") -> Iterator[Neighbours]:
    """Pairs that a mechanism accepts, of all its kinds in turn or of one, with rows up to its `bound` and individuals in up
    to `k` cells.

    A mechanism of ours that accepts rows larger than its bound is also tested with those.
    """
    relation = str(getattr(mechanism, "neighbours", ""))
    bound = getattr(mechanism, "k" if relation == CELLS else "bound", None)
    limits = [bound, None] if bound is not None and isinstance(mechanism, Bounded) else [bound]
    kinds = (kind,) if kind else tuple(getattr(mechanism, "kinds", ("incidence",)))
    sources = [
        pairs(kind, keyed.stream(seed, "pairs", kind, str(limit)), ATTEMPTS * count, bound=limit, neighbours=relation)
        for limit in limits
        for kind in kinds
    ]
    turns = (pair for turn in zip(*sources, strict=True) for pair in turn)
    unfit = getattr(mechanism, "unfit", lambda data: "")
    fitting = (pair for pair in turns if not unfit(pair.before) and not unfit(pair.after))
    return itertools.islice(fitting, count)


def _repeatable(mechanism: Any, pair: Neighbours, epsilon: float) -> bool:
    """Whether the same streams and outputs give the same release twice: if not, it has another source of randomness."""
    first = record(mechanism, pair.after, epsilon, 0)
    try:
        replay(mechanism, pair.after, epsilon, 0, first)
    except Differs:
        return False
    return True
