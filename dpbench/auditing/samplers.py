"""Tests of samplers: do the draws of the steps that a release takes follow the distributions they state?

Replay computes the cost of a step from its stated parameters. What the sampler really draws, in the float and in the exact
form, with a seed and with the system's bits, is tested here. Imported by the audit by replay.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.auditing.enumeration import Enumerated
from dpbench.auditing.recording import Step
from dpbench.privacy import Noise, RandomStep
from dpbench.privacy._uniform import of_choice

DRAWS = 100_000
"""Numbers per step that can be drawn at once."""
SINGLE = 500
"""Draws of a step that is drawn one by one."""
BINS = 64
ALARM = 1e-9
"""The probability of a false alarm, per test."""
LEAST = 20
"""Outcomes that are expected less often are counted together."""
FEWEST = 200
"""Fewer numbers show nothing."""


def not_uniform(numbers: NDArray[np.float64]) -> bool:
    """Whether numbers are not independent and uniform: by their frequencies in 64 intervals, and by those of neighbours."""
    from scipy.stats import chi2

    n = numbers.size
    if n < FEWEST:
        return False
    if not np.all(np.isfinite(numbers)):
        return True
    bins = int(min(BINS, n // 20))
    counts = np.bincount(np.clip((numbers * bins).astype(np.int64), 0, bins - 1), minlength=bins)
    expected = n / bins
    if chi2.sf(float(((counts - expected) ** 2).sum()) / expected, bins - 1) < ALARM:
        return True
    centred = numbers - 0.5
    together = 12 * float(centred[1:] @ centred[:-1]) / math.sqrt(n - 1)
    return abs(together) > 6.2  # both sides of a normal distribution: less than 1e-9


def wrong_sampler(
    steps: Iterable[Step], form: str, seed: int, draws: int = DRAWS, single: int = SINGLE
) -> tuple[str, str]:
    """The first step whose draws are wrong, and how; empty if there is none. Steps of unknown distribution are left out."""
    for step in steps:
        if step.taken is None or step.kind == "draw" or not np.size(step.exact):
            continue
        sources: list[Any] = [np.random.default_rng(seed)]
        if form == "exact" and step.taken.per_value:
            sources.append("secure")
        for source in sources:
            noise = Noise(source, form)
            numbers = _numbers(step.taken, noise, draws, single, seed)
            if numbers is not None and not_uniform(numbers):
                with_bits = " with the system's bits" if noise.secure else ""
                return str(step), f"the {form} noise of {step}{with_bits} does not have the distribution it states"
        if form == "exact" and _same_again(step.taken, draws):
            return str(step), f"the exact noise of {step} is the same in two secure releases"
    return "", ""


def _numbers(step: RandomStep, noise: Noise, draws: int, single: int, seed: int) -> NDArray[np.float64] | None:
    rng, exact = np.random.default_rng([seed, 22]), noise.form == "exact"
    if (tiled := step.tiled(draws)) is not None:
        return tiled.uniforms(noise.take(tiled), exact, rng)
    parts = []
    for _ in range(single):
        part = step.uniforms(noise.take(step), exact, rng)
        if part is None:
            return None
        parts.append(part)
    return np.concatenate(parts)


def _same_again(step: RandomStep, draws: int) -> bool:
    """Whether two secure releases get the same noise, although it has many different values."""
    tiled = step.tiled(draws) if step.per_value else None
    if tiled is None:
        return False
    one, other = (np.asarray(Noise("secure", "exact").take(tiled)) for _ in range(2))
    return np.unique(one - np.asarray(tiled.values)).size > 2 and np.array_equal(one, other)


def wrong_law(step: Step, law: Any, laws: Enumerated, stated: NDArray[np.float64], rng: Any, draws: int) -> str:
    """How the draws of a distribution differ from the probabilities that it states; empty if they do not."""
    try:
        places = np.array([laws.place(law.draw(rng)) for _ in range(draws)])
    except KeyError:
        return f"{step} drew an outcome that its distribution does not have"
    return (
        f"the draws of {step} do not follow the probabilities it states"
        if not_uniform(of_choice(places, stated, rng))
        else ""
    )


def wrong_parts(step: Step, law: Any, chances: NDArray[np.float64], rng: Any, draws: int) -> str:
    """The same for a distribution of independent parts, each of which has a row of chances, by the frequencies of every part."""
    from scipy.stats import chi2

    size = len(chances)
    draws = max(FEWEST, draws // max(1, size))
    drawn = np.array([np.ravel(law.draw(rng)) for _ in range(draws)]).astype(np.int64)
    if drawn.shape[1] != size or drawn.min(initial=0) < 0 or drawn.max(initial=0) >= chances.shape[1]:
        return f"{step} drew an outcome that its distribution does not have"
    found = np.array([np.bincount(part, minlength=chances.shape[1]) for part in drawn.T])
    if np.any(found[chances <= 0]):
        return f"{step} drew an outcome that its distribution does not have"
    expected = draws * chances
    common = expected >= LEAST
    # Rare outcomes are counted together, those of parts with a single common outcome over all parts: then the distribution of
    # the statistic is known.
    rest, due = np.where(common, 0, found).sum(axis=1), np.where(common, 0.0, expected).sum(axis=1)
    whole = (due >= LEAST) | (common.sum(axis=1) > 1)
    cells = [*zip(found[common & whole[:, None]], expected[common & whole[:, None]], strict=True)]
    cells += [*zip(rest[due >= LEAST], due[due >= LEAST], strict=True)]
    freedom = len(cells) - int(whole.sum())
    if (left := float(due[~whole].sum())) >= LEAST:
        cells.append((rest[~whole].sum(), left))
        freedom += 1
    statistic = sum((count - mean) ** 2 / mean for count, mean in cells)
    wrong = freedom > 0 and chi2.sf(statistic, freedom) < ALARM
    return f"the draws of {step} do not follow the probabilities it states" if wrong else ""
