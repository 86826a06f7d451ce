"""OpenDP's measurements as recorded steps: noise that a measurement adds becomes a step of `Noise`. Used by recorded.py.

OpenDP keeps with every measurement how it was made. Chains, conversions and compositions are followed to the measurements that
draw. One that is not recorded draws as usual, and the verdict names it.
"""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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

Invoke = Callable[[Any, Any], Any]

CONVERSIONS = (
    "make_approximate",
    "make_fix_delta",
    "make_fixed_approxDP_to_approxDP",
    "make_pureDP_to_zCDP",
    "make_zCDP_to_approxDP",
)
"""They change what is said of the loss, not what is drawn."""


@contextlib.contextmanager
def recording(calls: Calls) -> Iterator[None]:
    """Record what OpenDP draws until the end of the block."""
    load("opendp")
    core: Any = importlib.import_module("opendp.core")
    original = core.measurement_invoke
    core.measurement_invoke = lambda this, arg: _invoked(this, arg, original, calls)
    try:
        yield
    finally:
        core.measurement_invoke = original


def _invoked(measurement: Any, arg: Any, original: Invoke, calls: Calls) -> Any:
    """What a measurement releases, with recorded noise."""
    made = getattr(measurement, "__opendp_dict__", {})
    name, given = made.get("__function__", "measurement"), made.get("__kwargs__", {})
    if name in CONVERSIONS:
        return _invoked(given["measurement"], arg, original, calls)
    if name == "make_chain_mt":
        return _invoked(given["measurement1"], given["transformation0"](arg), original, calls)
    if name == "make_chain_pm":
        return given["postprocess1"](_invoked(given["measurement0"], arg, original, calls))
    if name in ("make_composition", "make_basic_composition"):
        return [_invoked(each, arg, original, calls) for each in given["measurements"]]
    if name == "make_alp_queryable":
        return calls.noise.draw(_Projection(dict(arg), given, lambda: original(measurement, arg)), step="OpenDP ALP")
    step = _step(name, measurement, given, arg, original)
    if step is None:
        calls.note(f"OpenDP's `{name}`")
        return original(measurement, arg)
    output = calls.noise.take(step, f"OpenDP {name.removeprefix('make_')}")
    return bool(output) if isinstance(step, LibraryChoice) else np.asarray(output).tolist()


def _step(name: str, measurement: Any, given: Mapping[str, Any], arg: Any, original: Invoke) -> Any:
    """The step of a measurement that draws; None if it is not recorded."""
    if name == "make_randomized_response_bool" and 0.5 < given["prob"] < 1:
        odds = math.log(given["prob"] / (1 - given["prob"]))
        scores = np.array([not arg, bool(arg)], dtype=np.float64)
        return LibraryChoice(scores, odds, 1.0, True, native=lambda: int(original(measurement, arg)))
    # A chosen granularity or bounds change the distribution.
    if name not in ("make_laplace", "make_geometric", "make_gaussian") or not given.get("scale"):
        return None
    if given.get("k") is not None or given.get("bounds") is not None:
        return None
    carrier, scale = str(measurement.input_carrier_type), float(given["scale"])
    whole, vector = "f" not in carrier, carrier.startswith("Vec<")
    values = np.asarray(arg, dtype=np.int64 if whole else np.float64)
    if vector:
        native = lambda many: original(measurement, many.tolist())  # noqa: E731
    else:
        native = one_by_one(lambda each: original(measurement, each), whole)
    if name == "make_gaussian":
        return LibraryGaussian(values, scale, native=native, whole=whole)
    if whole:
        return LibraryGeometric(values, math.exp(-1 / scale), native=native)
    return LibraryLaplace(values, scale, native=native)


@dataclass(frozen=True, eq=False)
class _Projection:
    """The approximate Laplace projection (Aumüller, Lebeda and Pagh, 2021), whose bits cannot be read: only its bound is known.

    A value v sets v·scale/α bits, the last one with the probability of the fraction; then every bit is flipped with probability
    1/(α+2). Bits that several values share hide more.
    """

    counts: Mapping[Any, int]
    given: Mapping[str, Any]
    native: Callable[[], Any]

    def draw(self, rng: np.random.Generator) -> Any:
        return _Answers(self.native())

    def log_probability(self, outcome: Any) -> float:
        raise NotImplementedError("the bits of OpenDP's projection cannot be read")

    def bound(self, other: _Projection) -> float:
        """The log ratio of the worst outcome, if no two values share a bit."""
        public = ("scale", "alpha", "total_limit", "value_limit", "size_factor")
        if any(self.given.get(key) != other.given.get(key) for key in public):
            return math.inf
        alpha = float(self.given.get("alpha") or 4)
        unit = float(self.given["scale"]) / alpha
        loss = np.zeros(2)
        for key in {*self.counts, *other.counts}:
            one, two = (max(0, side.counts.get(key, 0)) * unit for side in (self, other))
            places = np.arange(math.ceil(max(one, two)))
            # Of each bit: (α+2) times the probability that it is set.
            first, second = (1 + alpha * np.clip(each - places, 0, 1) for each in (one, two))
            ratios = np.log([first / second, (alpha + 2 - first) / (alpha + 2 - second)])
            loss += ratios.max(axis=0).sum(), -ratios.min(axis=0).sum()
        return float(loss.max())


@dataclass(frozen=True, eq=False)
class _Answers:
    """A queryable of OpenDP, which cannot be copied."""

    queryable: Any

    def __call__(self, query: Any) -> Any:
        return self.queryable(query)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.queryable, name)

    def __deepcopy__(self, memo: Any) -> _Answers:
        return self
