"""Closed form: the loss of a histogram that adds noise to its non-zero counts only and shows those above a threshold.

Such releases cannot be replayed, because neighbours have different numbers of non-zero counts. But their treatment of noisy
counts can be tested: which place each count belongs to, above which value it is shown, and that nothing else depends on the
data. Then the two distributions differ in a few independent places, and δ at every ε is known (Wilkins, Kifer, Zhang,
Karrer 2024). Imported by the audit by replay.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.auditing.losses import gaussian_delta
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.published import published
from dpbench.auditing.recording import Differs, RecordingNoise, Step
from dpbench.auditing.runs import DataRefused, record
from dpbench.auditing.transcripts import Judged, Notes
from dpbench.data import Data
from dpbench.mechanisms.histograms.stable import Stable

HUGE = 1e9
"""A value above every threshold; its negative is below."""
PROBES = 3
"""Number of random noisy counts per pair on which both neighbours must publish the same."""
SLACK = 1e-9
"""Relative precision with which δ is met if all of it is used."""
OUT_OF_REACH = {"gaussian": 9.0, "laplace": 40.0}
"""Standard deviations or scales above the threshold from which on a count counts as always shown."""


def applies(mechanism: Any) -> bool:
    return isinstance(mechanism, Stable)


@dataclass(frozen=True, eq=False)
class Shown:
    """The result of the tests on one of two neighbours."""

    data: Data
    step: Step
    """The only step: noise on the non-zero counts."""
    thresholds: dict[int, float]
    """By place, in the order of the counts."""
    form: str = "float"

    @property
    def scale(self) -> float:
        return float(self.step.parameters["scale" if self.step.kind == "laplace" else "sigma"])

    @property
    def counts(self) -> dict[int, float]:
        return dict(zip(self.thresholds, self.step.exact.astype(np.float64).tolist(), strict=True))


def judge(
    mechanism: Any, pair: Neighbours, epsilon: float, delta: float, seed: int, notes: Notes, form: str = "float"
) -> Judged:
    """The loss of a pair: the smallest ε at which its two distributions are (ε, δ)-close."""
    try:
        before, after = (_tried(mechanism, data, epsilon, seed, form) for data in (pair.before, pair.after))
        _agree(mechanism, before, after, epsilon, seed)
    except Differs as differs:
        return Judged(math.inf, differs.step, pair.name, differs.what, epsilon=epsilon, form=form)
    notes.keep([after.step], epsilon)
    known, now = before.counts, after.counts
    new = [place for place in now if place not in known]
    moved = {place: abs(now[place] - known[place]) for place in known if now[place] != known[place]}
    kind = "discrete" if form == "exact" and after.step.kind == "laplace" else after.step.kind
    hidden = sum(_log_hidden(kind, after.thresholds[place] - now[place], after.scale) for place in new)
    apart = np.array(list(moved.values())) / after.scale if after.scale else np.full(len(moved), math.inf)
    loss = least_epsilon(kind, apart, hidden, delta, after.scale)
    # Counts near the threshold are sometimes hidden, which reveals less than is computed here.
    far = OUT_OF_REACH[after.step.kind] * after.scale
    sure = all(known[place] > after.thresholds[place] + far for place in moved)
    if after.step.kind == "laplace" and len(moved) > 1:
        sure = sure and loss - 2 ** len(moved) * delta > epsilon
    return Judged(loss, str(after.step), pair.name, sure=sure or math.isinf(loss), epsilon=epsilon, form=form)


def least_epsilon(kind: str, apart: NDArray[np.float64], hidden: float, delta: float, scale: float = 1.0) -> float:
    """The smallest ε. `apart`: how far counts move, in standard deviations or scales; `hidden`: the logarithm of F, the
    probability that no new count is shown; `scale`: of discrete noise, which has no other unit than 1."""
    from scipy.optimize import brentq

    def excess(e: float) -> float:
        """δ at e of the counts that move."""
        if not apart.size:
            return max(0.0, -math.expm1(e))
        if kind == "gaussian":
            return gaussian_delta(e, float(apart @ apart))
        if kind == "discrete" and apart.size == 1:
            return discrete_excess(e, round(float(apart[0]) * scale), scale)
        # Exact for one count; for several an upper bound, as if each revealed the most at once.
        return max(0.0, -math.expm1((e - float(apart.sum())) / (2 if apart.size == 1 else 1)))

    def spent(epsilon: float) -> float:
        """With the individual a new count may be shown, which never happens without; if hidden, other outputs become likelier."""
        entered = -math.expm1(hidden) + math.exp(hidden) * excess(epsilon - hidden)
        return max(entered, excess(epsilon + hidden)) - delta * (1 + SLACK)

    if not np.all(np.isfinite(apart)) or -math.expm1(hidden) > delta * (1 + SLACK):
        return math.inf
    if spent(0.0) <= 0:
        return 0.0
    high = 1.0
    while spent(high) > 0:
        high *= 2
        if high > 1e6:
            return math.inf
    return float(brentq(spent, 0.0, high, xtol=1e-13))


def discrete_excess(e: float, moved: int, scale: float) -> float:
    """δ at e of two-sided geometric noise with a = exp(-1/scale), on a whole number that moves by `moved`.

    The ratio is a^-moved for all x ≤ 0, a^(2x - moved) between, and a^moved from `moved` on.
    """
    a = math.exp(-1 / scale)
    inner = np.arange(1, moved)
    between = (1 - a) / (1 + a) * a**inner * np.maximum(0.0, -np.expm1(e - (moved - 2 * inner) / scale))
    return max(0.0, -math.expm1(e - moved / scale)) / (1 + a) + float(between.sum())


def _log_hidden(kind: str, above: float, scale: float) -> float:
    """The logarithm of the probability that noise does not exceed `above`."""
    from scipy.special import log_ndtr

    if scale == 0:
        return 0.0 if above >= 0 else -math.inf
    if kind == "gaussian":
        return float(log_ndtr(above / scale))
    if kind == "discrete":
        a, most = math.exp(-1 / scale), math.floor(above)
        return math.log1p(-(a ** (most + 1)) / (1 + a)) if most >= 0 else -most * math.log(a) - math.log1p(a)
    tail = math.exp(-abs(above) / scale) / 2
    return math.log1p(-tail) if above >= 0 else math.log(tail)


def _tried(mechanism: Any, data: Data, epsilon: float, seed: int, form: str) -> Shown:
    """Places and thresholds, found by supplying noisy counts."""
    trace = record(mechanism, data, epsilon, seed, form=form)
    if not trace.steps:
        raise Differs("published", "no value gets noise")
    step = trace.steps[0] if len(trace.steps) == 1 else None
    if step is None or step.kind not in OUT_OF_REACH or step.parameters.get("shared", np.zeros(())).any():
        raise DataRefused("it is not one step of noise and a threshold, for which the closed form is known")

    def shown(outputs: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(_handed(mechanism, data, epsilon, seed, step, outputs, form).cells)

    size = step.exact.size
    # Counts are numbered from 1; one run per bit of the numbers shows the counts whose number has that bit.
    numbers: dict[int, int] = {}
    for bit in range(size.bit_length()):
        has = (np.arange(1, size + 1) >> bit) & 1 == 1
        for place in shown(np.where(has, HUGE, -HUGE)).tolist():
            numbers[place] = numbers.get(place, 0) + (1 << bit)
    places = sorted(numbers, key=lambda place: numbers[place])
    if sorted(numbers.values()) != list(range(1, size + 1)):
        raise Differs(str(step), "what is shown depends on more than the noisy counts")
    low, high = np.full(size, -HUGE), np.full(size, HUGE)
    guess = _handed(mechanism, data, epsilon, seed, step, low, form).chosen.get("tau")
    if guess is not None and size:
        # A stated threshold is tried first; the bisection ends when both bounds are adjacent doubles.
        at = np.full(size, 1.0 + float(guess))
        if not shown(at).size and shown(np.nextafter(at, np.inf)).size == size:
            low, high = at, np.nextafter(at, np.inf)
    while np.any(np.nextafter(low, np.inf) < high):
        middle = low + (high - low) / 2
        up = np.isin(places, shown(middle))
        stuck = (middle == low) | (middle == high)
        low, high = np.where(up | stuck, low, middle), np.where(up & ~stuck, middle, high)
        if np.all(stuck):
            break
    return Shown(data, step, dict(zip(places, low.tolist(), strict=True)), form)


def _agree(mechanism: Any, before: Shown, after: Shown, epsilon: float, seed: int) -> None:
    """Raise `Differs` unless both have the same noise and thresholds, and publish the same if new counts are hidden."""
    step, other = before.step, after.step
    if (step.kind, step.name) != (other.kind, other.name):
        raise Differs(str(other), f"the step is {step} on one neighbour and {other} on the other")
    for key, value in other.parameters.items():
        if value.tobytes() != step.parameters[key].tobytes():
            raise Differs(str(other), f"the {key} of {other} differs: {step.parameters[key]} and {value}")
    if gone := set(before.thresholds) - set(after.thresholds):
        raise DataRefused(f"a place has a count without the individual and none with it: {sorted(gone)[:3]}")
    for place, threshold in before.thresholds.items():
        if threshold != after.thresholds[place]:
            raise Differs(str(other), f"the threshold of place {place} differs")
    rng = np.random.default_rng(seed)
    for _ in range(PROBES):
        near = {place: at + rng.normal(0, after.scale + 1) for place, at in after.thresholds.items()}
        handed = {
            p: near[p] if p in before.thresholds else at - abs(at - near[p]) for p, at in after.thresholds.items()
        }
        releases = [
            _handed(
                mechanism,
                each.data,
                epsilon,
                seed,
                each.step,
                np.array([handed[p] for p in each.thresholds]),
                each.form,
            )
            for each in (before, after)
        ]
        shown = [published(release) for release in releases]
        for name in {**shown[0], **shown[1]}:
            if shown[0].get(name) != shown[1].get(name):
                raise Differs("published", f"the published {name!r} differs though the noisy counts are the same")


def _handed(
    mechanism: Any, data: Data, epsilon: float, seed: int, step: Step, outputs: NDArray[np.float64], form: str
) -> Any:
    """The release made from these noisy counts."""
    given = dataclasses.replace(step, output=outputs.reshape(step.exact.shape))
    return mechanism.publish(data, epsilon, RecordingNoise(np.random.default_rng(seed), given=(given,), form=form))
