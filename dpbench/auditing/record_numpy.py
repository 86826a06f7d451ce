"""numpy's generator as recorded steps: `rng.laplace` and `rng.normal` become steps of `Noise`. Used by recorded.py.

A stranger adds noise to values by `counts + rng.laplace(0, scale, d)`. Here `rng.laplace` returns noise that is not drawn yet;
the addition says what it protects, and is recorded as a step of `Noise`. Noise that is used otherwise is drawn for zeros. What
else is drawn from the generator is a stream, and is noted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.auditing.library_steps import Calls

RECORDED = ("laplace", "normal", "standard_normal", "integers")
"""What is recorded of a generator; `integers` may draw the seed of another one."""
SEEDS = 2**16
"""Integers from a range at least as large may be seeds."""


class RecordingGenerator(np.random.Generator):
    """A generator whose Laplace and normal noise is recorded, or of which every use is noted."""

    def __init__(self, calls: Calls, *, recorded: bool = True) -> None:
        super().__init__(calls.noise.stream("numpy").bit_generator)
        self.__dict__.update(calls=calls, recorded=RECORDED if recorded else RECORDED[-1:], pending=[])

    def __getattribute__(self, name: str) -> Any:
        if name[0] != "_" and hasattr(np.random.Generator, name) and name not in self.__dict__["recorded"]:
            self.__dict__["calls"].note(f"`rng.{name}`")
            return getattr(np.random.Generator, name).__get__(self)
        return super().__getattribute__(name)

    @property
    def unused(self) -> bool:
        """Whether noise was asked for and neither added to anything nor drawn."""
        return any(each.noise is None for each in self.__dict__["pending"])

    def integers(self, low: Any, high: Any = None, *given: Any, **more: Any) -> Any:  # type: ignore[override]
        calls: Calls = self.__dict__["calls"]
        drawn = super().integers(low, high, *given, **more)
        wide = np.ndim(low) == np.ndim(high) == 0 and (low if high is None else high - low) >= SEEDS
        if wide and np.ndim(drawn) == 0:
            calls.seeds[int(drawn)] = None
        else:
            calls.note("`rng.integers`")
        return drawn

    def laplace(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Any:  # type: ignore[override]
        return self._later("laplace", loc, scale, size)

    def normal(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Any:  # type: ignore[override]
        return self._later("gaussian", loc, scale, size)

    def standard_normal(self, size: Any = None, *given: Any, **more: Any) -> Any:  # type: ignore[override]
        return self._later("gaussian", 0.0, 1.0, size)

    def _later(self, kind: str, loc: ArrayLike, scale: ArrayLike, size: Any) -> Any:
        given = () if size is None else (size,) if np.ndim(size) == 0 else tuple(size)
        shape = np.broadcast_shapes(np.shape(loc), np.shape(scale), given)
        # A literal 0 is the usual "noise alone"; anything else is what the noise protects.
        if type(loc) in (int, float) and loc == 0:
            pending = PendingNoise(shape, self, kind, scale)
            self.__dict__["pending"].append(pending)
            return pending
        return self.take(kind, np.broadcast_to(np.asarray(loc), shape), scale)

    def take(self, kind: str, values: NDArray[Any], scale: ArrayLike) -> Any:
        """Values with noise, as one recorded step."""
        steps = self.__dict__["calls"].noise
        if kind == "laplace":
            scales = scale if np.ndim(scale) == 0 else np.broadcast_to(np.asarray(scale), values.shape)
            return steps.laplace(values, scale=scales)[()]
        sigmas = np.broadcast_to(np.asarray(scale, dtype=np.float64), values.shape)
        noisy = np.empty(values.shape)
        for sigma in np.unique(sigmas):  # one step for each: a step has one σ
            noisy[sigmas == sigma] = steps.gaussian(values[sigmas == sigma], sigma=float(sigma))
        return noisy[()]


class PendingNoise(np.lib.mixins.NDArrayOperatorsMixin):
    """Noise that is drawn when it is added to something."""

    def __init__(self, shape: tuple[int, ...], rng: RecordingGenerator, kind: str, scale: ArrayLike) -> None:
        self.shape, self.rng, self.kind, self.scale = shape, rng, kind, scale
        self.noise: Any = None
        """The noise alone, once it is drawn."""

    def drawn(self) -> Any:
        """The noise as numbers; if nothing was added to it yet, it is drawn for zeros."""
        if self.noise is None:
            self.noise = self.rng.take(self.kind, np.zeros(self.shape), self.scale)
        return self.noise

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **more: Any) -> Any:
        if method == "__call__" and len(inputs) == 2 and self.noise is None:
            other = inputs[1] if inputs[0] is self else inputs[0]
            plain = not isinstance(other, PendingNoise)
            if plain and (ufunc is np.add or (ufunc is np.subtract and inputs[1] is self)):
                return _into(out, self._added(np.asarray(other)))
            if plain and ufunc is np.multiply and np.ndim(other) == 0 and out is None:
                self.noise = 0.0  # only the product is used
                scaled = PendingNoise(self.shape, self.rng, self.kind, np.abs(other) * np.asarray(self.scale))
                self.rng.__dict__["pending"].append(scaled)
                return scaled
        drawn = [each.drawn() if isinstance(each, PendingNoise) else each for each in inputs]
        return getattr(ufunc, method)(*drawn, **more, **({} if out is None else {"out": out}))

    def _added(self, values: NDArray[Any]) -> Any:
        values = np.broadcast_to(values, np.broadcast_shapes(values.shape, self.shape))
        noisy = self.rng.take(self.kind, values, self.scale)
        self.noise = noisy - values
        return noisy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.drawn(), dtype=dtype)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*(each.drawn() if isinstance(each, PendingNoise) else each for each in args), **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.drawn(), name)

    def __getitem__(self, key: Any) -> Any:
        return self.drawn()[key]

    def __iter__(self) -> Any:
        return iter(self.drawn())

    def __len__(self) -> int:
        return int(self.shape[0])

    def __float__(self) -> float:
        return float(self.drawn())

    def __int__(self) -> int:
        return int(self.drawn())


def _into(out: Any, result: Any) -> Any:
    if out is None:
        return result
    out[0][...] = result
    return out[0]
