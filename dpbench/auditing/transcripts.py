"""Transcripts: a run recorded on one neighbour, replayed on both, and the total cost of its steps.

Imported by the audit by replay, and by tests that look at one pair.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.auditing.enumeration import (
    Enumerated,
    NotEnumerable,
    Samplers,
    enumerate_laws,
    independent_laws,
    recorded_ratio,
    stated_bound,
)
from dpbench.auditing.foreign import is_foreign
from dpbench.auditing.losses import amplified, choice, cost, parts_ratio, renyi_total, total
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.recording import Differs, Step, Trace
from dpbench.auditing.runs import FAILURE, DataRefused, RunFailed, record, replay, run
from dpbench.data import Data
from dpbench.privacy import STEPS, Cost
from dpbench.privacy.choose import ChooseStep

TOLERANCE = 1e-9
"""Tolerance by which a computed loss may exceed ε."""
FORCED = 48
"""Most combinations of outcomes of `choose` that are forced on one pair."""
TRANSCRIPTS = 2
"""Recorded runs per neighbour, if there are several steps and a later one may depend on an earlier output."""
FRESH = 60
"""Runs of either neighbour that show whether a difference depends on noise at all."""
OTHERS = 3
"""Distributions of a draw that are tested by many draws, besides the one with the most outcomes."""
MORE = 8
"""Extra draws of a distribution per transcript, to check sooner that they follow it."""


@dataclass(frozen=True)
class Judged:
    """The worst result over the transcripts of one pair, or of all."""

    loss: float = 0.0
    step: str = ""
    pair: str = ""
    reason: str = ""
    """What differed, if the loss is infinite."""
    sure: bool = True
    """Whether the loss is exact; otherwise it is an upper bound."""
    epsilon: float = 1.0
    """The stated ε."""
    form: str = "float"
    """The form of the noise."""
    followed: bool = True
    """Whether replay could follow every step."""

    @property
    def exceeds(self) -> bool:
        return self.loss > self.epsilon + TOLERANCE * max(1.0, self.epsilon)

    @property
    def weight(self) -> tuple[bool, float]:
        """Sort key, worse is larger: a certain violation is worse than a larger uncertain loss."""
        return self.sure and self.exceeds, round(self.loss / self.epsilon, 9)


@dataclass
class Notes:
    """What is collected over all pairs."""

    samplers: Samplers
    enumerated: bool = False
    unknown: str = ""
    """Why the cost of some draw is only known for the outcomes that were drawn."""
    refused: str = ""
    """Why some pair could not be run."""
    looked_at: int = 0
    laws: dict[tuple[bytes, bytes], Enumerated] = field(default_factory=dict)
    """The enumerations of the current pair."""
    steps: dict[tuple[str, str, float], Step] = field(default_factory=dict)
    """The largest step of every kind, name and ε: their samplers are tested at the end. Little noise hides most faults."""
    drawn: dict[tuple[str, int], tuple[Step, Any, Enumerated, NDArray[np.float64]]] = field(default_factory=dict)
    """For every draw that was enumerated, some of its distributions: the one with the most outcomes, and others."""
    parts: dict[tuple[str, int], tuple[Step, Any, NDArray[np.float64]]] = field(default_factory=dict)
    """The same for draws of independent parts."""
    foreign: dict[str, None] = field(default_factory=dict)
    """What had to be believed because a class outside dpbench states it."""

    def places(self, step: Step, size: int, kept: Mapping[tuple[str, int], Any]) -> list[tuple[str, int]]:
        """Where a distribution is kept: as the one with the most outcomes, and sometimes in place of another."""
        name = str(step)
        known = kept.get((name, 0))
        largest = known is None or np.size(known[-1]) < size
        return [(name, 0)] * largest + [(name, 1 + self.looked_at % OTHERS)]

    def keep(self, steps: Iterable[Step], epsilon: float) -> None:
        for step in steps:
            key = step.kind, step.name, epsilon
            known = self.steps.get(key)
            if known is None or np.size(known.exact) < np.size(step.exact):
                self.steps[key] = step


def judge(
    mechanism: Any, pair: Neighbours, epsilon: float, delta: float, seed: int, notes: Notes, form: str = "float"
) -> Judged:
    """The largest loss over several transcripts, from both neighbours, and over every outcome of `choose`."""
    notes.laws.clear()
    worst = Judged(pair=pair.name, epsilon=epsilon, form=form)
    try:
        first = _first(mechanism, pair, epsilon, seed, form)
        notes.keep(first.steps, epsilon)
        again = TRANSCRIPTS if len(first.steps) > 1 else 1
        plans: list[tuple[Data, int, dict[int, int]]] = [
            (data, seed + turn, {}) for turn in range(again) for data in (pair.before, pair.after)
        ]
        plans += [(pair.before, seed, outcomes) for outcomes in _forced(first)]
        for data, bits, outcomes in plans:
            recorded = first if (data, bits, outcomes) == (pair.before, seed, {}) else None
            recorded = recorded or record(mechanism, data, epsilon, bits, forced=outcomes, form=form)
            result = _transcript(mechanism, pair, epsilon, delta, bits, data is pair.before, recorded, notes, form)
            worst = max(worst, result, key=lambda judged: judged.weight)
        if again > 1:
            low = record(mechanism, pair.before, epsilon, seed, low=True, form=form)
            result = _transcript(mechanism, pair, epsilon, delta, seed, True, low, notes, form)
            worst = max(worst, result, key=lambda judged: judged.weight)
    except Differs as differs:
        followed = differs.followed or _without_noise(mechanism, pair, epsilon, differs.published, form)
        return Judged(math.inf, differs.step, pair.name, differs.what, epsilon=epsilon, form=form, followed=followed)
    return worst


def _first(mechanism: Any, pair: Neighbours, epsilon: float, seed: int, form: str) -> Trace:
    """The run on the smaller neighbour. Raises `Differs` if it fails where the same outputs do not on the larger one, or fails
    there in other words: a failure is an output, too."""
    try:
        return record(mechanism, pair.before, epsilon, seed, form=form)
    except DataRefused as refused:
        if is_foreign(type(mechanism)):
            try:
                run(mechanism, pair.after, epsilon, seed, form=form, given=refused.steps)
            except Differs:  # it goes on there: told below, by the neighbour that fails
                pass
            except RunFailed as error:
                if (other := f"it fails on a pair: {error}") != str(refused):
                    raise Differs("publish", f"{refused}, and {other}", published=FAILURE) from error
        given = record(mechanism, pair.after, epsilon, seed, form=form)
        replay(mechanism, pair.before, epsilon, seed, given, form=form)
        raise


def _without_noise(mechanism: Any, pair: Neighbours, epsilon: float, name: str, form: str) -> bool:
    """Whether something published is always the same on one neighbour and always something else on the other.

    A construction that replay cannot follow may be private, but not then: at ε = 1 a private one does so on all runs with a
    probability below (1 - 1/e)^60, which is 1e-12. At larger ε this shows nothing.
    """
    if not name or epsilon > 1:
        return False
    kinds = (0, 1) if form == "exact" else (0,)  # with a seeded generator, or as if with the system's
    return any(_constant(mechanism, pair, epsilon, name, form, range(first, 2 * FRESH, 2)) for first in kinds)


def _constant(mechanism: Any, pair: Neighbours, epsilon: float, name: str, form: str, seeds: Iterable[int]) -> bool:
    sides: list[set[bytes | None]] = []
    for data in (pair.before, pair.after):
        sides.append(set())
        for seed in seeds:
            try:
                sides[-1].add(run(mechanism, data, epsilon, seed, form=form).published.get(name))
            except RunFailed as error:
                sides[-1].add(str(error).encode() if name == FAILURE else None)
            if len(sides[-1]) > 1:
                return False
    return sides[0] != sides[1]


def _forced(trace: Trace) -> Iterator[dict[int, int]]:
    """The outcomes of `choose` to force: all combinations if they are few, otherwise each step separately."""
    sizes = {at: step.exact.size for at, step in enumerate(trace.steps) if isinstance(step.taken, ChooseStep)}
    if not sizes:
        return
    if math.prod(sizes.values()) <= FORCED:
        yield from (dict(zip(sizes, chosen, strict=True)) for chosen in itertools.product(*map(range, sizes.values())))
        return
    for at, size in sizes.items():
        for outcome in np.unique(np.linspace(0, size - 1, FORCED // len(sizes)).astype(int)):
            yield {at: int(outcome)}


def _transcript(
    mechanism: Any,
    pair: Neighbours,
    epsilon: float,
    delta: float,
    seed: int,
    on_before: bool,
    recorded: Trace,
    notes: Notes,
    form: str,
) -> Judged:
    """The loss of one transcript, recorded on one of the two."""
    before = recorded if on_before else replay(mechanism, pair.before, epsilon, seed, recorded, form=form)
    samples = [at for at, step in enumerate(before.steps) if step.kind == "rows"]
    after = recorded
    if on_before or samples:
        after = replay(mechanism, pair.after, epsilon, seed, before, form=form)
    costs = _costs(before, after, notes, drawn=before if on_before else after)
    # If the new row may be in a sample of rows, the cost of the steps that use the sample is amplified by sampling.
    taken: set[int] = set()
    for at in samples:
        if int(after.steps[at].exact) == int(before.steps[at].exact):
            continue
        inside = replay(mechanism, pair.after, epsilon, seed, before, newcomers={at}, form=form)
        used = [n for n, step in enumerate(inside.steps) if step.exact.tobytes() != after.steps[n].exact.tobytes()]
        with_row = _costs(before, inside, notes, drawn=None)
        steps = [each[n] for each in (costs, with_row) for n in used]
        plain = not taken & set(used) and not any(each.squared or each.laws for each in steps)
        out, within = (sum(each[n].pure for n in used) for each in (costs, with_row))
        if plain and used:
            # The whole loss is reported with the step that costs most.
            most = max(used, key=lambda n: with_row[n].pure)
            costs = [Cost() if n in used else each for n, each in enumerate(costs)]
            costs[most] = Cost(amplified(out, within, float(before.steps[at].parameters["rate"])))
        else:
            # No closed form, so amplification by sampling is not counted.
            costs = [_larger(*both) for both in zip(costs, with_row, strict=True)]
        taken |= set(used)
    loss = total(costs, delta)
    if (
        loss > epsilon
        and delta > 0
        and {step.kind for step in before.steps} == {"choose", "gaussian"}
        and _states_zcdp(mechanism, pair.before, epsilon)
    ):
        both = zip(before.steps, after.steps, strict=True)
        choices = [choice(step, other) for step, other in both if step.kind == "choose"]
        loss = min(loss, renyi_total(choices, sum(each.squared for each in costs), delta))
    costliest = max(zip(costs, before.steps, strict=True), key=lambda both: total([both[0]], delta), default=None)
    step = str(costliest[1]) if costliest else ""
    return Judged(loss, step, pair.name, sure=all(each.sure for each in costs), epsilon=epsilon, form=form)


def _states_zcdp(mechanism: Any, data: Any, epsilon: float) -> bool:
    """Whether its budget is accounted by zCDP. Otherwise its steps must keep to plain sums, which find more faults."""
    stated = getattr(mechanism, "zcdp", None)
    return callable(stated) and not math.isnan(stated(data, epsilon))


def _larger(one: Cost, other: Cost) -> Cost:
    laws, sure = other.laws or one.laws, one.sure and other.sure
    return Cost(max(one.pure, other.pure), max(one.squared, other.squared), laws, sure)


def _costs(before: Trace, after: Trace, notes: Notes, drawn: Trace | None) -> list[Cost]:
    costs = []
    for step, other in zip(before.steps, after.steps, strict=True):
        if step.kind == "rows":
            costs.append(Cost())
        elif step.kind == "draw":
            costs.append(_draw_cost(step, other, notes, drawn is not None, drawn is before))
        else:
            if is_foreign(STEPS[step.kind]):
                notes.foreign[f"the cost of {step}, which {STEPS[step.kind].__name__} states itself"] = None
            costs.append(cost(step, other))
    return costs


def _enumerated(step: Step, other: Step, notes: Notes) -> Enumerated:
    """Both distributions, enumerated once per pair."""
    try:
        key = pickle.dumps(step.law), pickle.dumps(other.law)
    except Exception:  # a user's distribution may not be picklable
        return enumerate_laws(step.law, other.law)
    return notes.laws.get(key) or notes.laws.setdefault(key, enumerate_laws(step.law, other.law))


def _draw_cost(step: Step, other: Step, notes: Notes, fresh: bool, from_before: bool) -> Cost:
    if (parts := independent_laws(step.law, other.law)) is not None:
        first, second = parts
        notes.enumerated = True
        if first.shape != second.shape:
            raise Differs(str(step), f"the size of {step} differs: {len(first)} and {len(second)} parts")
        if fresh:
            law, chances = (step.law, first) if from_before else (other.law, second)
            notes.samplers.note_one(str(step), chances, step.output)
            notes.parts |= dict.fromkeys(notes.places(step, chances.size, notes.parts), (step, law, chances))
        return Cost(max(parts_ratio(first, second), parts_ratio(second, first)))
    try:
        laws = _enumerated(step, other, notes)
    except NotEnumerable as error:
        if (bound := stated_bound(step.law, other.law)) is not None:
            if is_foreign(type(step.law)):
                notes.foreign[f"the bound of {step}, which {type(step.law).__name__} states itself"] = None
            return Cost(bound, sure=False)
        notes.unknown = str(error)
        try:
            return Cost(recorded_ratio(step.law, other.law, step.output))
        except NotEnumerable:
            return Cost()
    notes.enumerated = True
    if fresh:
        law, stated = (step.law, laws.one) if from_before else (other.law, laws.other)
        notes.drawn |= dict.fromkeys(notes.places(step, stated.size, notes.drawn), (step, law, laws, stated))
        drawn = [step.output, *(law.draw(notes.samplers.rng) for _ in range(MORE) if law is not None)]
        try:
            for outcome in drawn:
                notes.samplers.note(str(step), stated, laws.place(outcome))
        except KeyError:
            raise Differs(str(step), f"{step} drew an outcome that its distribution does not have") from None
    return Cost(laws=(laws.one, laws.other))
