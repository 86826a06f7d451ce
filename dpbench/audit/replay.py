"""Audit by replay: the privacy loss of a mechanism on a pair of neighbours, computed and not measured.

A run is recorded on one of the two, and played back on both: the same streams, the recorded output at every step. Kinds,
sizes, scales and what is published must agree; what each step costs follows from its exact values. Pure losses add up
to at most ε. It cannot see whether the samplers have their law (but draws are compared with their stated
probabilities), pairs that were not tried, refusals, time and floating point.
Imported by the `audit` verb and by whoever states a loss; imports mechanisms and the other ways' common types.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import pickle
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbench.audit.enumeration import Enumerated, NotEnumerable, Samplers, enumerate_laws, recorded_ratio
from dpbench.audit.finding import Finding, Pair, Verdict
from dpbench.audit.losses import Cost, amplified, cost, total
from dpbench.audit.pairs import pairs
from dpbench.audit.recording import Differs, Recorder, Trace, compare_published
from dpbench.data import Data, Release
from dpbench.fingerprints import parameters
from dpbench.mechanisms.base import Bounded, Mechanism
from dpbench.numerics import keyed

TOLERANCE = 1e-9
FORCED = 48
"""Most combinations of outcomes of `choose` that are forced on one pair."""
TRANSCRIPTS = 2
"""Recorded runs of each neighbour, where there are several steps and a later one may depend on an earlier output."""
ATTEMPTS = 20
"""Pairs made for each that is wanted, where a mechanism does not take all of them."""
UNPUBLISHED = ("chosen", "diagnostics", "sample")
"""Fields of a release besides its numbers: the first is among its parts, the others are for studies only."""


@dataclass(frozen=True)
class Judged:
    """The worst that the transcripts of one pair, or of all, show."""

    loss: float = 0.0
    step: str = ""
    pair: str = ""
    reason: str = ""
    """What differed, where the loss is infinite."""


@dataclass
class Notes:
    """What is gathered over all pairs."""

    samplers: Samplers
    enumerated: bool = False
    unknown: str = ""
    """Why the cost of some draw is only known for the outcomes that were drawn."""
    refused: str = ""
    """Why some pair could not be run."""
    looked_at: int = 0
    laws: dict[tuple[bytes, bytes], Enumerated] = field(default_factory=dict)
    """Of the pair at hand."""


def audit_by_replay(
    mechanism: Any, epsilon: float, pairs_count: int, seed: int = 0, *, name: str = "", own: tuple[Pair, ...] = ()
) -> Finding | None:
    """What replay finds about one mechanism with its parameters; None where it cannot be replayed (`cannot_replay`).

    own: pairs of the user's, tried before the random ones.
    """
    started = time.perf_counter()
    if cannot_replay(mechanism):
        return None
    guarantee = str(getattr(mechanism, "privacy", "") or "none")
    delta = float(getattr(mechanism, "delta", 0.0)) if guarantee == "(ε, δ)" else 0.0
    # The same law, without shortcuts whose steps follow the data.
    form = mechanism.stepwise() if isinstance(mechanism, Mechanism) else mechanism
    worst, notes = Judged(), Notes(Samplers(keyed.stream(seed, "audit", "samplers")))
    for number, pair in enumerate(itertools.chain(own, fitting_pairs(form, pairs_count, seed))):
        try:
            if number < 3 and not _repeatable(form, pair, epsilon):
                return None
            found = judge(form, pair, epsilon, delta, seed + number, notes)
        except Refused as error:
            notes.refused = str(error)
            continue
        notes.looked_at += 1
        worst = max(worst, found, key=lambda judged: judged.loss) if worst.pair else found
        if math.isinf(worst.loss):
            break  # nothing is worse
    if step := notes.samplers.wrong():
        worst = Judged(math.inf, step, "all pairs", f"what {step} draws does not follow the probabilities it states")
    declared = mechanism.not_private() if hasattr(mechanism, "not_private") else ""
    verdict, reason = _verdict(worst, notes, epsilon, declared, guarantee)
    return Finding(
        mechanism=name or getattr(mechanism, "name", "") or type(mechanism).__name__,
        parameters=", ".join(f"{key}={value}" for key, value in parameters(mechanism).items()),
        method="enumeration" if notes.enumerated else "replay",
        guarantee=guarantee,
        epsilon=epsilon,
        delta=delta,
        loss=worst.loss,
        verdict=verdict,
        pairs=notes.looked_at,
        pair=worst.pair,
        step=worst.step,
        reason=reason,
        seconds=time.perf_counter() - started,
    )


def _verdict(worst: Judged, notes: Notes, epsilon: float, declared: str, guarantee: str) -> tuple[Verdict, str]:
    if worst.loss > epsilon + TOLERANCE:
        # A mechanism that states no guarantee breaks none.
        return "violated" if not declared and guarantee != "none" else "declared not private", worst.reason or declared
    if not notes.looked_at:
        return "inconclusive", notes.refused or "it takes none of the pairs"
    if declared:
        return "inconclusive", f"no pair shows what it declares: {declared}"
    if notes.unknown:
        return "inconclusive", f"a draw is judged by the outcomes that came up only: {notes.unknown}"
    return "holds", ""


def cannot_replay(mechanism: Any) -> str:
    """Why a mechanism cannot be replayed; empty when it can."""
    publish = getattr(type(mechanism), "publish", None)
    if not callable(publish) or publish is Mechanism.publish:
        return "it has no method publish(data, epsilon, noise)"
    if "noise" not in inspect.signature(publish).parameters:
        return "its publish takes no noise"
    if isinstance(mechanism, Mechanism) and type(mechanism).release is not Mechanism.release:
        return "it has a release of its own, which may do more than publish"
    return ""


def fitting_pairs(mechanism: Any, count: int, seed: int) -> Iterator[Pair]:
    """Pairs that a mechanism takes, of all its kinds in turn, with rows up to its `bound`.

    A mechanism of ours that takes larger rows than its bound without refusing them has to stand those too.
    """
    bound = getattr(mechanism, "bound", None)
    limits = [bound, None] if bound is not None and isinstance(mechanism, Bounded) else [bound]
    kinds = tuple(getattr(mechanism, "kinds", ("incidence",)))
    relation = str(getattr(mechanism, "neighbours", ""))
    sources = [
        pairs(kind, keyed.stream(seed, "pairs", kind, str(limit)), ATTEMPTS * count, bound=limit, neighbours=relation)
        for limit in limits
        for kind in kinds
    ]
    turns = (pair for turn in zip(*sources, strict=True) for pair in turn)
    unfit = getattr(mechanism, "unfit", lambda data: "")
    fitting = (pair for pair in turns if not unfit(pair.before) and not unfit(pair.after))
    return itertools.islice(fitting, count)


class Refused(Exception):
    """The mechanism does not run on a dataset of the pair."""


def run(mechanism: Any, data: Data, epsilon: float, seed: int, **played: Any) -> Trace:
    """One run with the streams of a seed; `played`: as a `Recorder` takes it."""
    noise = Recorder(np.random.default_rng(seed), **played)
    release = mechanism.publish(data, epsilon, noise)
    if noise.given is not None and len(noise.steps) < len(noise.given):
        raise Differs(str(noise.given[len(noise.steps)]), f"{noise.given[len(noise.steps)]} is missing on the neighbour")
    return Trace(tuple(noise.steps), _published(release))


def _published(release: Any) -> Mapping[str, bytes]:
    """All that is published, bit for bit: the parts, and what else anybody can read from the release."""
    if not isinstance(release, Release):
        return {"release": np.asarray(release.published(), dtype=np.float64).tobytes()}
    shown = {name: part.tobytes() for name, part in release.parts().items()}
    for each in dataclasses.fields(release):
        if each.name not in (*release.numbers, *UNPUBLISHED):
            shown[each.name] = repr(getattr(release, each.name)).encode()
    return shown


def record(mechanism: Any, data: Data, epsilon: float, seed: int, forced: Mapping[int, int] | None = None) -> Trace:
    try:
        return run(mechanism, data, epsilon, seed, forced=forced)
    except Exception as error:  # a stranger's code: whatever it raises, the pair tells nothing
        raise Refused(f"it fails on a pair: {type(error).__name__}: {error}") from error


def replay(mechanism: Any, data: Data, epsilon: float, seed: int, given: Trace, **played: Any) -> Trace:
    """The same run on a neighbour. `Differs` where it does not go the same way."""
    try:
        trace = run(mechanism, data, epsilon, seed, given=given.steps, **played)
    except Differs:
        raise
    except Exception as error:
        raise Differs("publish", f"it fails on the neighbour: {type(error).__name__}: {error}") from error
    compare_published(given, trace)
    return trace


def _repeatable(mechanism: Any, pair: Pair, epsilon: float) -> bool:
    """Whether the same streams and outputs give the same release twice: if not, it has randomness of its own."""
    first = record(mechanism, pair.after, epsilon, 0)
    try:
        replay(mechanism, pair.after, epsilon, 0, first)
    except Differs:
        return False
    return True


def judge(mechanism: Any, pair: Pair, epsilon: float, delta: float, seed: int, notes: Notes) -> Judged:
    """The largest loss over several transcripts, from both neighbours, and over every outcome of `choose`."""
    notes.laws.clear()
    worst = Judged(pair=pair.name)
    try:
        first = record(mechanism, pair.before, epsilon, seed)
        again = TRANSCRIPTS if len(first.steps) > 1 else 1
        plans: list[tuple[Data, int, dict[int, int]]] = [
            (data, seed + turn, {}) for turn in range(again) for data in (pair.before, pair.after)
        ]
        plans += [(pair.before, seed, outcomes) for outcomes in _forced(first)]
        for data, bits, outcomes in plans:
            recorded = first if (data, bits, outcomes) == (pair.before, seed, {}) else None
            recorded = recorded or record(mechanism, data, epsilon, bits, outcomes)
            found = _transcript(mechanism, pair, epsilon, delta, bits, data is pair.before, recorded, notes)
            worst = max(worst, found, key=lambda judged: judged.loss)
    except Differs as differs:
        return Judged(math.inf, differs.step, pair.name, differs.what)
    return worst


def _forced(trace: Trace) -> Iterator[dict[int, int]]:
    """The outcomes of `choose` to force: all combinations where they are few, else each step's own one after the other."""
    sizes = {at: step.exact.size for at, step in enumerate(trace.steps) if step.kind == "choose"}
    if not sizes:
        return
    if math.prod(sizes.values()) <= FORCED:
        yield from (dict(zip(sizes, chosen, strict=True)) for chosen in itertools.product(*map(range, sizes.values())))
        return
    for at, size in sizes.items():
        for outcome in np.unique(np.linspace(0, size - 1, FORCED // len(sizes)).astype(int)):
            yield {at: int(outcome)}


def _transcript(
    mechanism: Any, pair: Pair, epsilon: float, delta: float, seed: int, on_before: bool, recorded: Trace, notes: Notes
) -> Judged:
    """The loss of one transcript, recorded on one of the two."""
    before = recorded if on_before else replay(mechanism, pair.before, epsilon, seed, recorded)
    samples = [at for at, step in enumerate(before.steps) if step.kind == "rows"]
    after = recorded
    if on_before or samples:
        after = replay(mechanism, pair.after, epsilon, seed, before)
    costs = _costs(before, after, notes, drawn=before if on_before else after)
    # Where the new row may be in a sample of rows, the steps that use the sample cost what sampling makes of it.
    taken: set[int] = set()
    for at in samples:
        if int(after.steps[at].exact) == int(before.steps[at].exact):
            continue
        inside = replay(mechanism, pair.after, epsilon, seed, before, newcomers={at})
        used = [n for n, step in enumerate(inside.steps) if step.exact.tobytes() != after.steps[n].exact.tobytes()]
        with_row = _costs(before, inside, notes, drawn=None)
        plain = all(costs[n].squared == 0 and with_row[n].squared == 0 for n in used) and not taken & set(used)
        out, within = (sum(each[n].pure for n in used) for each in (costs, with_row))
        rate = float(before.steps[at].parameters["rate"])
        for n in used:
            share = with_row[n].pure / within if within else 0.0
            # Split over the steps so that each is named with its part; without a closed form, no gain by sampling.
            amplification = amplified(out, within, rate) * share
            costs[n] = Cost(amplification) if plain and math.isfinite(within) else _larger(costs[n], with_row[n])
        taken |= set(used)
    loss = total(costs, delta)
    most = max(range(len(costs)), key=lambda n: total([costs[n]], delta), default=None)
    return Judged(loss, str(before.steps[most]) if most is not None else "", pair.name)


def _larger(one: Cost, other: Cost) -> Cost:
    return Cost(max(one.pure, other.pure), max(one.squared, other.squared), other.laws or one.laws)


def _costs(before: Trace, after: Trace, notes: Notes, drawn: Trace | None) -> list[Cost]:
    costs = []
    for one, other in zip(before.steps, after.steps, strict=True):
        if one.kind == "rows":
            costs.append(Cost())
        elif one.kind == "draw":
            costs.append(_draw_cost(one, other, notes, drawn is not None, drawn is before))
        else:
            costs.append(cost(one, other))
    return costs


def _draw_cost(one: Any, other: Any, notes: Notes, fresh: bool, from_before: bool) -> Cost:
    try:
        key = pickle.dumps(one.law), pickle.dumps(other.law)
        laws = notes.laws.get(key) or notes.laws.setdefault(key, enumerate_laws(one.law, other.law))
    except NotEnumerable as error:
        notes.unknown = str(error)
        try:
            return Cost(recorded_ratio(one.law, other.law, one.output))
        except NotEnumerable:
            return Cost()
    notes.enumerated = True
    if fresh:
        try:
            notes.samplers.note(str(one), laws.one if from_before else laws.other, laws.place(one.output))
        except KeyError:
            raise Differs(str(one), f"{one} drew an outcome that its law does not have") from None
    return Cost(laws=(laws.one, laws.other))
