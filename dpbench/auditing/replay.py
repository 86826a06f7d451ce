"""Audit by replay: the privacy loss of a mechanism on a pair of neighbours, computed and not estimated.

A run is recorded on one neighbour and replayed on both: the same streams, and the recorded output at every step. Kinds,
sizes, scales and what is published must agree; the cost of each step follows from its exact values. Pure losses must add up
to at most ε. What is replayed is what can be released: the float and the exact form, and of a summary the form in steps, to
whose distribution the shortcut is compared (forms.py). The samplers are tested apart (samplers.py). Replay does not see pairs
that were not tried, timing and floating-point effects.
Imported by the `audit` verb and by claims about losses; imports mechanisms and the common types of all methods.
"""

from __future__ import annotations

import inspect
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.auditing import closed_form, foreign
from dpbench.auditing.enumeration import Samplers, TooMany
from dpbench.auditing.forms import differing_forms
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.pairs import pairs
from dpbench.auditing.pairs_of_tables import ENORMOUS
from dpbench.auditing.recording import Differs
from dpbench.auditing.runs import DataRefused, record, replay
from dpbench.auditing.samplers import wrong_law, wrong_parts, wrong_sampler
from dpbench.auditing.search import climb
from dpbench.auditing.transcripts import Judged, Notes, judge
from dpbench.identity import parameters
from dpbench.mechanisms.base import Bounded, Mechanism
from dpbench.mechanisms.histograms.base import INDIVIDUAL as CELLS
from dpbench.model.finding import AuditVerdict, Finding
from dpbench.numerics import keyed
from dpbench.privacy.draw import DrawStep

ATTEMPTS = 20
"""Pairs generated per wanted pair, if a mechanism does not accept all of them."""
HARDER = 20
"""How many times as many pairs are tried for mechanisms that declare themselves not private."""
EVERY = 4
"""Every this many pairs, all ε are tried on the same data, the largest first: state that is kept between releases shows."""


@dataclass(frozen=True)
class Depth:
    """How far an audit goes."""

    epsilons: tuple[float, ...] = ()
    """The budgets, in turn over the pairs. Empty: only the stated one."""
    forms: tuple[str, ...] = ("float",)
    """Forms of noise that are replayed, if a mechanism has them."""
    climbs: int = 0
    """Changes of the worst pairs that are tried to find a larger loss."""
    draws: int = 0
    """Numbers drawn to test the sampler of a step; 0: no test."""
    single: int = 0
    """Draws of a step that is drawn one by one."""
    law_draws: int = 0
    """Draws of a distribution that is enumerated."""
    compared: int = 0
    """Releases of either form of a summary that are compared; 0: none."""


def audit_by_replay(
    mechanism: Any,
    epsilon: float,
    pairs_count: int,
    seed: int = 0,
    *,
    name: str = "",
    own: tuple[Neighbours, ...] = (),
    depth: Depth | None = None,
) -> Finding | None:
    """What replay finds about one mechanism with its parameters; None if it cannot be replayed (`cannot_replay`).

    own: the user's pairs, tried before the random ones.
    """
    started, depth = time.perf_counter(), depth or Depth()
    if cannot_replay(mechanism):
        return None
    guarantee = str(getattr(mechanism, "privacy", "") or "none")
    delta = float(getattr(mechanism, "delta", 0.0)) if guarantee == "(ε, δ)" else 0.0
    # The same distribution, without shortcuts whose steps depend on the data.
    form = mechanism
    if isinstance(mechanism, Mechanism) and not foreign.overrides(mechanism, "stepwise"):
        form = mechanism.stepwise()
    declared = mechanism.not_private() if hasattr(mechanism, "not_private") else ""
    closed = closed_form.applies(form)
    notes = Notes(Samplers(keyed.stream(seed, "audit", "samplers")))
    worst, forms = Judged(epsilon=epsilon), []
    for noise in depth.forms:
        if noise == "exact" and (declared or (hasattr(form, "inexact") and form.inexact())):
            continue
        tried = pairs_count * (HARDER if declared else 1) // (1 if noise == "float" else 2)
        before, notes.looked_at = notes.looked_at, 0
        notes.steps.clear()
        found = _on_pairs(form, noise, depth, epsilon, delta, tried, seed, own, notes, closed)
        if found is None:
            return None
        if notes.looked_at:
            forms.append(noise)
            worst = max(worst, found, key=lambda judged: judged.weight) if worst.pair else found
        notes.looked_at = max(before, notes.looked_at)  # the same pairs in every form
        if worst.sure and worst.exceeds:
            break
        if step := _wrong_draws(notes, noise, depth, seed):
            worst = Judged(math.inf, step[0], "all pairs", step[1], epsilon=epsilon, form=noise)
            break
    if depth.compared and form is not mechanism and not declared and not (worst.sure and worst.exceeds):
        if reason := differing_forms(mechanism, form, depth.compared, seed):
            worst = Judged(math.inf, "published", "releases of both forms", reason, epsilon=epsilon)
        forms.insert(0, "shortcut")
    verdict, reason = _verdict(worst, notes, declared, guarantee, foreign.believed(mechanism))
    return Finding(
        mechanism=name or getattr(mechanism, "name", "") or type(mechanism).__name__,
        parameters=", ".join(
            f"{key}={value}" for key, value in parameters(getattr(mechanism, "inner", mechanism)).items()
        ),
        method="closed form" if closed else "enumeration" if notes.enumerated else "replay",
        guarantee=guarantee,
        epsilon=worst.epsilon,
        delta=delta,
        loss=worst.loss,
        verdict=verdict,
        pairs=notes.looked_at,
        pair=worst.pair,
        step=worst.step,
        reason=reason,
        at_most=not worst.sure,
        forms=", ".join(forms),
        followed=worst.followed,
        seconds=time.perf_counter() - started,
    )


def _on_pairs(
    mechanism: Any,
    noise: str,
    depth: Depth,
    epsilon: float,
    delta: float,
    count: int,
    seed: int,
    own: Sequence[Neighbours],
    notes: Notes,
    closed: bool,
) -> Judged | None:
    """The worst of all pairs in one form of noise; None if the mechanism has another source of randomness."""
    look = closed_form.judge if closed else judge
    budgets = depth.epsilons or (epsilon,)
    worst = Judged(epsilon=epsilon, form=noise)
    losses: list[tuple[Judged, Neighbours]] = []

    def examine(pair: Neighbours, budget: float, number: int) -> Judged | None:
        hook, what = foreign.differing(mechanism, pair.before, pair.after, budget)
        if hook:
            return Judged(math.inf, hook, pair.name, what, epsilon=budget, form=noise)
        if any(foreign.answers(mechanism, pair.before, budget).values()):
            notes.refused = "it refuses both neighbours"
            return None
        try:
            if isinstance(mechanism, Mechanism) and (reason := _too_large(mechanism, pair, budget)):
                raise DataRefused(reason)
            return look(mechanism, pair, budget, delta, seed + number, notes, noise)
        except (DataRefused, TooMany, MemoryError) as error:
            notes.refused = str(error)
            return None

    for number, pair in enumerate(itertools.chain(own, fitting_pairs(mechanism, count, seed))):
        try:
            if number < 3 and noise == "float" and not _repeatable(mechanism, pair, epsilon):
                return None
        except DataRefused as error:
            notes.refused = str(error)
        every = number < len(own) or number % EVERY == EVERY - 1
        # All on the same data, the largest first, or one of them. The cycle is not a multiple of that of the shapes.
        turns = sorted(budgets, reverse=True) if every else [budgets[(number + number // 7) % len(budgets)]]
        seen = [found for budget in turns if (found := examine(pair, budget, number)) is not None]
        if not seen:
            continue
        notes.looked_at += 1
        most = max(seen, key=lambda judged: (judged.weight, judged.epsilon == epsilon))
        losses.append((most, pair))
        worst = max(worst, most, key=lambda judged: (judged.weight, judged.epsilon == epsilon)) if worst.pair else most
        if math.isinf(worst.loss) and worst.sure:
            return worst  # nothing is worse: mechanisms that read the data end here
    if depth.climbs and losses and not (worst.sure and worst.exceeds):
        rng = np.random.default_rng([seed, 23])
        fits = [pair for pair in losses if pair[0].pair]
        for found in climb(fits, lambda pair, budget: examine(pair, budget, 0), depth.climbs, rng, mechanism):
            worst = max(worst, found, key=lambda judged: judged.weight)
    return worst


def _too_large(mechanism: Mechanism, pair: Neighbours, epsilon: float) -> str:
    """Why our own classes do not release such data: it would not fit into memory. Foreign answers were compared before."""
    if foreign.overrides(mechanism, "refusal"):
        return ""
    return mechanism.refusal(pair.before, epsilon) or mechanism.refusal(pair.after, epsilon)


def _wrong_draws(notes: Notes, noise: str, depth: Depth, seed: int) -> tuple[str, str] | None:
    """The step whose draws do not follow its distribution, and how."""
    if step := notes.samplers.wrong():
        return step, f"the draws of {step} do not follow the probabilities it states"
    if depth.law_draws:
        draws = depth.law_draws // max(1, len(notes.drawn) + len(notes.parts))
        for (name, _), (recorded, law, laws, stated) in notes.drawn.items():
            if what := wrong_law(recorded, law, laws, stated, notes.samplers.rng, draws):
                return name, what
        for (name, _), (recorded, law, chances) in notes.parts.items():
            if what := wrong_parts(recorded, law, chances, notes.samplers.rng, draws):
                return name, what
    if depth.draws:
        # Drawing one by one takes long: once, at the stated ε.
        first = next(iter(depth.epsilons), None)
        steps = [
            step
            for (*_, budget), step in notes.steps.items()
            if first in (None, budget) or (step.taken is not None and step.taken.tiled(1) is not None)
        ]
        wrong = wrong_sampler(steps, noise, seed, depth.draws, depth.single)
        return wrong if wrong[0] else None
    return None


def _verdict(
    worst: Judged, notes: Notes, declared: str, guarantee: str, believed: Sequence[str]
) -> tuple[AuditVerdict, str]:
    if worst.exceeds and not worst.sure:
        return "inconclusive", f"it is only known that the loss is at most {worst.loss:.4g}, by {worst.step}"
    if worst.exceeds:
        # A mechanism that states no guarantee breaks none.
        return "violated" if not declared and guarantee != "none" else "declared not private", worst.reason or declared
    if not notes.looked_at:
        return "inconclusive", notes.refused or "it takes none of the pairs"
    if declared:
        return "inconclusive", f"no pair shows what it declares: {declared}"
    if notes.unknown:
        return "inconclusive", f"a draw is judged only by the outcomes that occurred: {notes.unknown}"
    if not_followed := [*believed, *notes.foreign]:
        return "inconclusive", f"within ε on {notes.looked_at} pairs, except for {'; '.join(not_followed)}"
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
    if isinstance(mechanism, Mechanism) and mechanism.inexact() == DrawStep.inexact:
        # A distribution that is listed may take memory in proportion to the counts.
        turns = (pair for pair in turns if not pair.name.startswith(ENORMOUS))
    fitting = (pair for pair in turns if foreign.fit(mechanism, pair.before) and foreign.fit(mechanism, pair.after))
    return itertools.islice(fitting, count)


def _repeatable(mechanism: Any, pair: Neighbours, epsilon: float) -> bool:
    """Whether the same streams and outputs give the same release twice: if not, it has another source of randomness."""
    first = record(mechanism, pair.after, epsilon, 0)
    try:
        replay(mechanism, pair.after, epsilon, 0, first)
    except Differs:
        return False
    return True
