"""Privacy faults to plant in a mechanism: its noise altered at one step, or its publish replaced.

`altered(mechanism, "sample", less(1.05))` is the mechanism with a twentieth less noise at that step, `without` forgets the noise;
`replaced` swaps a whole method. All of them leave the class in the registry as it is.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from dpbench.auditing.replay import audit_by_replay
from dpbench.model.finding import Finding

EPSILON = 1.0

Change = Callable[[str, Any, dict[str, Any]], Any]
"""Takes kind, call(**parameters) and the parameters of a step."""


def found(mechanism: Any, pairs: int = 200, seed: int = 0) -> Finding:
    """What replay finds."""
    finding = audit_by_replay(mechanism, EPSILON, pairs, seed)
    assert finding is not None
    return finding


class Altered:
    """`Noise` with one step changed."""

    def __init__(self, noise: Any, step: str, change: Change) -> None:
        self.noise, self.step, self.change = noise, step, change

    def __getattr__(self, kind: str) -> Any:
        method = getattr(self.noise, kind)
        if kind in ("stream", "form"):
            return method

        def call(values: Any, *, step: str = "", **parameters: Any) -> Any:
            if (step or kind) != self.step:
                return method(values, step=step, **parameters)
            return self.change(
                kind, lambda **given: method(values, step=step, **given), {"values": values, **parameters}
            )

        return call


def change_at(patch: Any, path: str, change: Callable[..., Any]) -> None:
    """Change "package.module:name" of dpbench while a test runs; `change` takes the right one first. `patch`: pytest's
    monkeypatch."""
    module, name = path.split(":")
    owner: Any = importlib.import_module(f"dpbench.{module}")
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    right = getattr(owner, last)
    patch.setattr(owner, last, lambda *given, **more: change(right, *given, **more))


def less(factor: float) -> Change:
    """Noise divided by a factor: a privacy loss that is as much larger."""

    def change(kind: str, call: Any, parameters: dict[str, Any]) -> Any:
        parameters.pop("values")
        if kind == "laplace":
            parameters["scale"] = np.asarray(parameters["scale"]) / factor
        elif kind == "geometric":
            parameters["alpha"] **= factor
        elif kind == "gaussian":
            parameters["sigma"] /= factor
        elif kind == "rows":
            parameters["rate"] = min(1.0, parameters["rate"] * factor)
        else:
            parameters["epsilon"] *= factor
        return call(**parameters)

    return change


def without(kind: str, call: Any, parameters: dict[str, Any]) -> Any:
    """No noise at all: of values they themselves, of scores the best."""
    values = np.asarray(parameters["values"])
    return int(np.argmax(values)) if kind == "choose" else values.astype(np.float64)


def replaced(mechanism: Any, **methods: Callable[..., Any]) -> Any:
    """The mechanism with other methods; each takes the original method of the class first, then self."""
    cls = type(mechanism)

    def bound(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        original = getattr(cls, name)
        if name == "publish":
            return lambda self, data, epsilon, noise: method(original, self, data, epsilon, noise)
        return lambda self, *given, **more: method(original, self, *given, **more)

    body = {name: bound(name, method) for name, method in methods.items()}
    faulty = type(f"Faulty{cls.__name__}", (cls,), {**body, "__doc__": cls.__doc__})
    fields = {field.name: getattr(mechanism, field.name) for field in dataclasses.fields(mechanism)}
    return faulty(**fields)


def altered(mechanism: Any, step: str, change: Change) -> Any:
    """The mechanism with one step changed."""

    def publish(original: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
        return original(self, data, epsilon, Altered(noise, step, change))

    return replaced(mechanism, publish=publish)
