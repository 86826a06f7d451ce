"""Tables of changes to plant in mechanisms, one at a time, and what the audit must say of each.

A `Fault` breaks privacy: the audit finds it and names its step. A `Harmless` change is post-processing only: nothing is found.
The plants are made by `step` (noise of one step), `method` (a method of the class) and `patched` (a kernel or a helper).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dpbench
from dpbench.auditing.judge import AuditedVariant, Options, by_test
from dpbench.auditing.replay import audit_by_replay
from dpbench.model.finding import Finding

from support.planting import EPSILON, Change, altered, change_at, replaced

Plant = Callable[[pytest.MonkeyPatch], Any]
"""Takes pytest's monkeypatch, gives the mechanism."""

PAIRS = 120
SECONDS = 20.0
"""For a mechanism that does not use `Noise`, and so is tested by its releases."""


@dataclass(frozen=True)
class Fault:
    """A change that breaks privacy."""

    name: str
    plant: Plant
    named: str
    """What the finding must name as the step, or in its reason."""
    quick: bool = False
    """Part of the normal suite; all others are slow ones."""
    pairs: int = PAIRS


@dataclass(frozen=True)
class Harmless:
    """A change of what is already noisy."""

    name: str
    plant: Plant
    quick: bool = False
    pairs: int = PAIRS


def cases(table: Sequence[Fault | Harmless]) -> list[Any]:
    """For pytest's parametrize; no name occurs twice."""
    assert len({one.name for one in table}) == len(table)
    return [pytest.param(one, id=one.name, marks=[] if one.quick else [pytest.mark.slow]) for one in table]


def audited(mechanism: Any, pairs: int = PAIRS) -> Finding:
    """What the audit says: by replay, or by its test of releases where there is nothing to replay."""
    finding = audit_by_replay(mechanism, EPSILON, pairs)
    if finding is None:
        finding = by_test(
            AuditedVariant(type(mechanism).__name__, mechanism), Options(epsilon=EPSILON, seconds=SECONDS)
        )
    return finding


def must_find(fault: Fault, patch: pytest.MonkeyPatch) -> None:
    finding = audited(fault.plant(patch), fault.pairs)
    said = f"{fault.name} | {finding.method} | loss {finding.loss:.4g} | {finding.step} | {finding.reason}"
    print(said)  # shown with -rP: the list of all faults
    assert finding.verdict == "violated", said
    assert finding.loss > EPSILON or finding.method == "sequential test", said
    assert fault.named in f"{finding.step}: {finding.reason}", said
    assert finding.pair, said
    assert finding.step, said


def must_hold(change: Harmless, patch: pytest.MonkeyPatch) -> None:
    finding = audited(change.plant(patch), change.pairs)
    said = f"{change.name} | {finding.method} | loss {finding.loss:.4g} | {finding.step} | {finding.reason}"
    print(said)
    assert finding.verdict == "holds", said
    assert finding.loss <= EPSILON + 1e-9, said


# How to plant.


def step(name: str, at: str, change: Change, **parameters: Any) -> Plant:
    """The mechanism with one step changed."""
    return lambda patch: altered(dpbench.mechanism(name, **parameters), at, change)


def method(mechanism: str, /, parameters: dict[str, Any] | None = None, **methods: Callable[..., Any]) -> Plant:
    """The mechanism with other methods, each of which takes the right one first."""
    return lambda patch: replaced(dpbench.mechanism(mechanism, **(parameters or {})), **methods)


def patched(mechanism: str, at: str, change: Callable[..., Any], **parameters: Any) -> Plant:
    """The mechanism while `at`, "folder.module:name" among the mechanisms, is changed; `change` takes the right one first."""

    def plant(patch: pytest.MonkeyPatch) -> Any:
        change_at(patch, f"mechanisms.{at}", change)
        return dpbench.mechanism(mechanism, **parameters)

    return plant


def both(first: Plant, second: Callable[[Any], Any]) -> Plant:
    """One change after the other."""
    return lambda patch: second(first(patch))


# Changes of a step, beside those of `planting`.


def some_without(kind: str, call: Any, parameters: dict[str, Any]) -> Any:
    """No noise on the second half of the values."""
    values = np.asarray(parameters.pop("values"))
    key = "scale" if kind == "laplace" else "sigma"
    scale = np.broadcast_to(np.asarray(parameters[key], dtype=float), values.shape).copy()
    scale.reshape(-1)[(values.size + 1) // 2 :] = 0.0
    return call(**{**parameters, key: scale})


def as_monotone(kind: str, call: Any, parameters: dict[str, Any]) -> Any:
    """The exponent without its 1/2."""
    parameters.pop("values")
    return call(**{**parameters, "monotone": True})
