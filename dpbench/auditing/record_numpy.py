"""Replay for classes that call numpy: `rng.laplace` and `rng.normal` become recorded steps. Used by `audit --record numpy`.

A stranger adds noise to values by `counts + rng.laplace(0, scale, d)`. Here `rng.laplace` returns noise that is not drawn yet;
the addition says what it protects, and is recorded as a step of `Noise`. Noise that is used otherwise is drawn for zeros, and
what else is drawn from the generator is a stream: then the verdict says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.errors import UserError
from dpbench.privacy import Noise

RECORDED = ("laplace", "normal", "standard_normal", "bit_generator")
"""What is recorded of a generator, or draws nothing."""


@dataclass(frozen=True)
class RecordedNumpy:
    """A class with `release(data, epsilon, rng)`, as one that draws its noise through `noise`."""

    inner: Any
    unrecorded: dict[str, None] = field(default_factory=dict, compare=False, repr=False)
    """What was drawn from the generator and not recorded."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Any:
        rng = RecordingGenerator(noise, self.unrecorded)
        release = self.inner.release(data, epsilon, rng)
        if any(each.noise is None for each in rng.pending):
            raise UserError(
                "noise of numpy is used in a way that cannot be recorded: expected values + rng.laplace(...)"
            )
        return release

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def privacy(self) -> str:
        return str(getattr(self.inner, "privacy", "ε"))


class RecordingGenerator(np.random.Generator):
    """A generator whose Laplace and normal noise is recorded."""

    def __init__(self, noise: Noise, unrecorded: dict[str, None]) -> None:
        super().__init__(noise.stream("numpy").bit_generator)
        self.__dict__.update(steps=noise, unrecorded=unrecorded, pending=[])

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name not in RECORDED and hasattr(np.random.Generator, name):
            self.__dict__["unrecorded"][name] = None
        return super().__getattribute__(name)

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
        steps: Noise = self.__dict__["steps"]
        if kind == "laplace":
            scales = scale if np.ndim(scale) == 0 else np.broadcast_to(np.asarray(scale), values.shape)
            return steps.laplace(values, scale=scales)[()]
        return steps.gaussian(values, sigma=float(np.asarray(scale).reshape(-1)[0]))[()]


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
