"""diffprivlib's mechanisms as recorded steps: what `randomise` adds to a value becomes a step of `Noise`. Used by recorded.py.

Truncated and folded mechanisms call the plain one and change its output: that is followed as any code. A mechanism that is not
recorded draws as usual, and the verdict names it.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpbench.auditing.library_steps import (
    Calls,
    LibraryChoice,
    LibraryGaussian,
    LibraryGeometric,
    LibraryLaplace,
    one_by_one,
)
from dpbench.mechanisms.peers.base import load

DISCRETE = 1000
"""Draws that test `GaussianDiscrete`: it takes about 1 ms for each."""
FOLLOWED = ("LaplaceTruncated", "LaplaceFolded", "GeometricTruncated", "GeometricFolded")
"""They call the `randomise` of the class that they are derived from."""

Randomise = Callable[..., Any]


@contextlib.contextmanager
def recording(calls: Calls) -> Iterator[None]:
    """Record what diffprivlib draws until the end of the block."""
    load("diffprivlib")
    library = importlib.import_module("diffprivlib.mechanisms")
    classes = [
        found
        for found in vars(library).values()
        if isinstance(found, type) and "randomise" in vars(found) and found.__name__ not in FOLLOWED
    ]
    originals = {cls: vars(cls)["randomise"] for cls in classes}
    try:
        for cls, original in originals.items():
            cls.randomise = _replaced(cls.__name__, original, calls)  # type: ignore[attr-defined]
        yield
    finally:
        for cls, original in originals.items():
            cls.randomise = original  # type: ignore[attr-defined]


def _replaced(name: str, original: Randomise, calls: Calls) -> Randomise:
    def randomise(self: Any, value: Any = None) -> Any:
        step = STEPS[name](self, value, original) if name in STEPS else None
        if step is None:
            calls.note(f"diffprivlib's `{name}`")
            return original(self, value)
        calls.explain(_seed(self._rng))
        output = calls.noise.take(step, f"diffprivlib {name}")
        if isinstance(step, LibraryChoice):
            labels = (self.value0, self.value1) if name == "Binary" else self.candidates
            return labels[output] if labels else output
        return int(output) if step.values.dtype.kind == "i" else float(output)

    return randomise


def _seed(rng: Any) -> int | None:
    """The number that a generator of numpy was seeded with, if nothing was drawn from it yet."""
    if not isinstance(rng, np.random.RandomState):
        return None
    state: Any = rng.get_state(legacy=False)
    return int(state["state"]["key"][0]) if state.get("bit_generator") == "MT19937" else None


# One function per mechanism; None where it is not recorded.


def _laplace(self: Any, value: Any, original: Randomise) -> LibraryLaplace | None:
    self._check_all(value)
    if self.delta:
        return None  # the relaxed mechanism: its δ is no part of a step's loss
    scale = self.sensitivity / self.epsilon
    native = one_by_one(lambda each: original(self, each), whole=False)
    return LibraryLaplace(np.asarray(value, dtype=np.float64), scale, native=native)


def _geometric(self: Any, value: Any, original: Randomise) -> LibraryGeometric | None:
    self._check_all(value)
    if not self.sensitivity or not math.exp(self._scale):
        return None
    native = one_by_one(lambda each: original(self, each), whole=True)
    return LibraryGeometric(np.asarray(value, dtype=np.int64), math.exp(self._scale), native=native)


def _gaussian(self: Any, value: Any, original: Randomise) -> LibraryGaussian:
    self._check_all(value)
    native = one_by_one(lambda each: original(self, each), whole=False)
    return LibraryGaussian(np.asarray(value, dtype=np.float64), float(self._scale), native=native)


def _discrete(self: Any, value: Any, original: Randomise) -> LibraryGaussian:
    self._check_all(value)
    native = one_by_one(lambda each: original(self, each), whole=True)
    sigma, values = float(self._scale), np.asarray(value, dtype=np.int64)
    return LibraryGaussian(values, sigma, native=native, whole=True, most=DISCRETE)


def _exponential(self: Any, value: Any, original: Randomise) -> LibraryChoice | None:
    self._check_all(value)
    if self.measure is not None or not self.sensitivity:
        return None
    plain = copy.copy(self)
    plain.candidates = None  # then it returns the number of the candidate
    scores = np.asarray(self.utility, dtype=np.float64)
    return LibraryChoice(scores, self.epsilon, self.sensitivity, self.monotonic, native=lambda: original(plain))


def _binary(self: Any, value: Any, original: Randomise) -> LibraryChoice | None:
    """Randomised response: the value is kept with the odds e^ε to 1."""
    self._check_all(value)
    if not self.epsilon:
        return None
    labels = (self.value0, self.value1)
    scores = np.array([float(value == label) for label in labels])
    return LibraryChoice(scores, self.epsilon, 1.0, True, native=lambda: labels.index(original(self, value)))


STEPS: dict[str, Callable[[Any, Any, Randomise], Any]] = {
    "Laplace": _laplace,
    "Geometric": _geometric,
    "Gaussian": _gaussian,
    "GaussianDiscrete": _discrete,
    "Exponential": _exponential,
    "Binary": _binary,
}
"""The step of each mechanism. `GaussianAnalytic` is a `Gaussian` with another scale."""
